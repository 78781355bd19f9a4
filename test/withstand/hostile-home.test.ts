/**
 * A Home that somebody changed while no daemon ran: damaged, newer, foreign, or led elsewhere by
 * links.
 */
import assert from "node:assert/strict";
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { homePaths } from "../../client/paths.ts";
import { type Chance, withSeed } from "../support/chance.ts";
import { DaemonProcess } from "../support/daemon-process.ts";

const DAMAGES = 60;

describe("a Home changed behind the daemon's back", function () {
  this.timeout(240_000);
  let folder: string;
  let original: string;
  let home: string;
  let groupId: string;
  let ids: string[];

  /** A Home with two Groups, one of them with sealed segments, an Actor, a file and a token. */
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "svc-withstand-home-"));
    original = join(folder, "original");
    home = join(folder, "home");
    const daemon = await DaemonProcess.started({ home: original });
    const client = daemon.client();
    await client.result("group_create", { title: "other" });
    const group = await client.result("group_create", { title: "damaged" });
    ({ group_id: groupId } = group);
    const { token_file: tokenFile } = await client.result("actor_add", { group_id: groupId, actor_id: "a" });
    await client.result("access_token_create", {});
    writeFileSync(join(folder, "file"), "attached");
    for (let number = 0; number < 30; number++) {
      const messageMode = (["send", "mail", "request_reply"] as const)[number % 3]!;
      const paths = number === 7 ? [join(folder, "file")] : [];
      await client.result("send", {
        group_id: groupId,
        to: ["a"],
        text: `text ${number}`,
        message_mode: messageMode,
        paths,
      });
      if (number % 10 === 9) await client.result("ledger_compact", { group_id: groupId });
    }
    await daemon.actorClient(tokenFile).result("inbox_read", { group_id: groupId, limit: 5 });
    await client.result("send", { group_id: groupId, to: ["a"], text: "the last" });
    const { events } = await client.result("ledger_tail", { group_id: groupId, limit: 200 });
    ids = events.map(({ id }) => id);
    await daemon.stop();
  });
  after(() => rmSync(folder, { recursive: true, force: true }));
  beforeEach(() => {
    rmSync(home, { recursive: true, force: true });
    cpSync(original, home, { recursive: true, verbatimSymlinks: true });
  });

  /**
   * Runs `check` with a daemon on the changed Home; null instead of the daemon when it refused to
   * start.
   */
  async function opened(
    check: (daemon: DaemonProcess | null, output: string) => Promise<void>,
  ): Promise<void> {
    const daemon = new DaemonProcess({ home });
    try {
      let starts = true;
      try {
        await daemon.start();
      } catch (error) {
        if (!daemon.hasEnded) throw error;
        starts = false;
      }
      await check(starts ? daemon : null, daemon.output);
    } finally {
      await daemon.kill();
    }
  }

  const paths = (): ReturnType<typeof homePaths> => homePaths(home);

  for (const [what, damage] of Object.entries<[() => string, () => string]>({
    "a corrupt identity": [() => paths().identity, () => "private_key: nothing"],
    "an identity of another key": [
      () => paths().identity,
      () => readFileSync(paths().identity, "utf8").replace(/(peer_id: \w+)\w{5}/, "$111111"),
    ],
    "corrupt settings": [() => paths().settings, () => "{"],
    "settings of a newer version": [
      () => paths().settings,
      () => readFileSync(paths().settings, "utf8").replace(/"v":\s*1/, '"v": 2'),
    ],
    "a newer format of the Home": [
      () => paths().settings,
      () => readFileSync(paths().settings, "utf8").replace(/"format":\s*1/, '"format": 2'),
    ],
  })) {
    it(`refuses to start over ${what}, says why and keeps the bytes`, async () => {
      const [file, content] = damage;
      const bytes = content();
      writeFileSync(file(), bytes);
      await opened(async (daemon, output) => {
        assert.equal(daemon, null, "it started");
        assert.ok(
          output.trim().length > 0 && !/\n\s+at /.test(output),
          `not a sentence for people:\n${output}`,
        );
        assert.equal(readFileSync(file(), "utf8"), bytes);
      });
    });
  }

  for (const [what, damage] of Object.entries<() => void>({
    "a corrupt record": () => writeFileSync(paths().group(groupId).document, "{"),
    "a record of a newer version": () => {
      const { document } = paths().group(groupId);
      writeFileSync(document, readFileSync(document, "utf8").replace(/"v":\s*1/, '"v": 2'));
    },
    "two segments of one number": () => {
      const { ledger } = paths().group(groupId);
      copyFileSync(join(ledger, "segment-000001.jsonl"), join(ledger, "segment-000001 copy.jsonl"));
    },
  })) {
    it(`keeps a Group with ${what} closed and the others open`, async () => {
      damage();
      const before = picture(paths().group(groupId).root);
      await opened(async (daemon) => {
        assert.ok(daemon, "it didn't start");
        const client = daemon.client();
        const envelope = await client.call("ledger_tail", { group_id: groupId });
        assert.ok(!envelope.ok && ["group_unavailable", "ledger_corrupt"].includes(envelope.error.code));
        const { groups } = await client.result("group_list", {});
        assert.ok(groups.some(({ title }) => title === "other"));
        const { checks } = await client.result("health", {});
        assert.ok(
          checks.some(({ severity, text }) => severity !== "ok" && text.includes(groupId)),
          "no health check names the Group",
        );
        const other = groups.find(({ title }) => title === "other")!;
        await client.result("send", { group_id: other.group_id, to: ["user"], text: "still here" });
      });
      assert.equal(picture(paths().group(groupId).root), before, "bytes changed");
    });
  }

  for (const [what, damage] of Object.entries<() => void>({
    "without its index files": () => removeIn(paths().group(groupId).ledger, /^(index|checkpoint)/),
    "without its manifest": () => removeIn(paths().group(groupId).ledger, /manifest/),
    "with scrambled index files": () => {
      const { ledger } = paths().group(groupId);
      for (const name of readdirSync(ledger).filter((name) => /^(index|checkpoint)/.test(name))) {
        writeFileSync(join(ledger, name), Buffer.alloc(100, name));
      }
    },
    "with a torn last line": () => {
      const active = activeFile(paths().group(groupId).ledger);
      const text = readFileSync(active, "utf8").trimEnd();
      writeFileSync(active, `${text}\n{"v":1,"id":"0123`);
    },
    "with rubbish behind its end": () => {
      const active = activeFile(paths().group(groupId).ledger);
      const text = readFileSync(active, "utf8").trimEnd();
      writeFileSync(
        active,
        Buffer.concat([Buffer.from(`${text}\n\n`), Buffer.from([0xff, 0, 0xfe, 10]), Buffer.from("{}\n")]),
      );
    },
    "with scrambled cursors": () => {
      const { cursors } = paths().group(groupId);
      if (existsSync(cursors))
        for (const name of readdirSync(cursors)) writeFileSync(join(cursors, name), "{");
    },
  })) {
    it(`opens a Group ${what} with the whole history`, async () => {
      damage();
      await opened(async (daemon) => {
        assert.ok(daemon, "it didn't start");
        const client = daemon.client();
        const { events } = await client.result("ledger_tail", { group_id: groupId, limit: 200 });
        assert.deepEqual(
          events.slice(0, ids.length).map(({ id }) => id),
          ids,
        );
        const { problems } = await client.result("ledger_verify", { group_id: groupId });
        assert.deepEqual(problems, []);
        await client.result("send", { group_id: groupId, to: ["a"], text: "after the damage" });
      });
    });
  }

  it("tightens or refuses permissions that are too wide", async () => {
    chmodSync(home, 0o755);
    chmodSync(paths().daemon.directory, 0o777);
    chmodSync(paths().settings, 0o644);
    chmodSync(paths().identity, 0o644);
    await opened(async (daemon, output) => {
      if (daemon === null) {
        assert.match(output, /permission|mode|0700|0600/i);
        return;
      }
      for (const path of [home, paths().daemon.directory])
        assert.equal(statSync(path).mode & 0o777, 0o700, path);
      for (const path of [paths().settings, paths().identity])
        assert.equal(statSync(path).mode & 0o777, 0o600, path);
    });
  });

  for (const [what, place] of Object.entries<() => string>({
    "the daemon's directory": () => paths().daemon.directory,
    "the Groups' directory": () => paths().groups,
    "a Group": () => paths().group(groupId).root,
    "a ledger": () => paths().group(groupId).ledger,
    "the files of a Group": () => paths().group(groupId).blobs,
    "the settings": () => paths().settings,
    "the identity": () => paths().identity,
    "the socket's key": () => paths().daemon.key,
    "a Group's record": () => paths().group(groupId).document,
  })) {
    it(`doesn't follow a link in place of ${what} out of the Home`, async () => {
      const outside = join(folder, "outside");
      rmSync(outside, { recursive: true, force: true });
      renameSync(place(), outside);
      symlinkSync(outside, place());
      const before = lstatSync(outside).isDirectory() ? picture(outside) : readFileSync(outside, "utf8");
      await opened(async (daemon) => {
        if (daemon === null) return;
        const client = daemon.client();
        await client.callByName("send", {
          group_id: groupId,
          to: ["a"],
          text: "out",
          paths: [process.execPath],
        });
        await client.callByName("actor_add", { group_id: groupId, actor_id: "b" });
        await client.callByName("draft_put", { group_id: groupId, draft: { text: "out" } });
      });
      const after = lstatSync(outside).isDirectory() ? picture(outside) : readFileSync(outside, "utf8");
      assert.equal(after, before, "something outside the Home was written");
    });
  }

  it("starts, or refuses in words, whatever single file is damaged, and never fails inside", async () => {
    await withSeed(async (chance) => {
      for (let round = 0; round < DAMAGES; round++) {
        rmSync(home, { recursive: true, force: true });
        cpSync(original, home, { recursive: true, verbatimSymlinks: true });
        const what = damageOne(home, chance);
        await opened(async (daemon, output) => {
          if (daemon === null) {
            assert.ok(!/\n\s+at /.test(output), `${what}: a stack trace instead of a sentence:\n${output}`);
            return;
          }
          const client = daemon.client();
          for (const [name, input] of [
            ["group_list", {}],
            ["health", {}],
            ["ledger_tail", { group_id: groupId, limit: 200, with_obligation_status: true }],
            ["ledger_search", { group_id: groupId, query: "text" }],
            ["inbox_peek", { group_id: groupId, actor_id: "a" }],
            ["actor_list", { group_id: groupId }],
            ["ledger_verify", { group_id: groupId }],
            ["send", { group_id: groupId, to: ["a"], text: "after" }],
            ["access_token_list", {}],
          ] as [string, object][]) {
            const envelope = await client.callByName(name, input);
            if (envelope.ok) continue;
            assert.notEqual(envelope.error.code, "internal_error", `${what}: ${name}\n${daemon.output}`);
          }
        });
      }
    });
  });
});

function activeFile(ledger: string): string {
  return join(ledger, readdirSync(ledger).find((name) => name.startsWith("active"))!);
}

function removeIn(directory: string, names: RegExp): void {
  const found = readdirSync(directory).filter((name) => names.test(name));
  for (const name of found) rmSync(join(directory, name), { recursive: true });
}

/** Names and bytes of everything below. */
function picture(directory: string): string {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted()
    .map((path) => `${path} ${readFileSync(path).toString("base64")}`)
    .join("\n");
}

/** Damages one file at random; says what was done. */
function damageOne(home: string, chance: Chance): string {
  const files = readdirSync(home, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
  const path = chance.one(files);
  const name = path.slice(home.length);
  const size = statSync(path).size;
  switch (chance.below(6)) {
    case 0:
      rmSync(path);
      return `${name} removed`;
    case 1:
      truncateSync(path, chance.below(size + 1));
      return `${name} cut`;
    case 2:
      appendFileSync(path, Buffer.from([0, 255, 10, 123]));
      return `${name} lengthened`;
    case 3:
      rmSync(path);
      mkdirSync(path);
      return `${name} replaced by a directory`;
    case 4:
      rmSync(path);
      symlinkSync("/nowhere", path);
      return `${name} replaced by a dangling link`;
    default: {
      const bytes = readFileSync(path);
      for (const bit of [1, 8, 128]) if (size > 0) bytes[chance.below(size)]! ^= bit;
      writeFileSync(path, bytes);
      return `${name} with three bits turned`;
    }
  }
}
