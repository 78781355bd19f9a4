/** Files of a Home that are gone or damaged: nothing takes their place unless a person says so. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { nameInHome, neededFiles } from "../../client/home-files.ts";
import { homePaths } from "../../client/paths.ts";
import { freePort } from "../../demo/free-port.ts";
import { DaemonProcess } from "../support/daemon-process.ts";
import { envelope, run } from "./svc.ts";

/** How a file can be lost. `zeroed` keeps its length. */
const LOSSES = {
  missing: (path: string) => rmSync(path, { recursive: true }),
  emptied: (path: string) => writeFileSync(path, ""),
  zeroed: (path: string) => writeFileSync(path, Buffer.alloc(readFileSync(path).length)),
  "cut in half": (path: string) => truncateSync(path, Math.floor(statSync(path).size / 2)),
  "of another shape": (path: string) => writeFileSync(path, "[1, 2]\n"),
  "a directory": (path: string) => replaced(path, () => mkdirSync(path)),
  "a file": (path: string) => replaced(path, () => writeFileSync(path, "not a directory")),
  "a FIFO": (path: string) => replaced(path, () => execFileSync("mkfifo", [path])),
  "a link to /dev/zero": (path: string) => replaced(path, () => symlinkSync("/dev/zero", path)),
};
const OF_FILES = [
  "missing",
  "emptied",
  "zeroed",
  "cut in half",
  "of another shape",
  "a directory",
  "a FIFO",
  "a link to /dev/zero",
] as const;
/** What is still there, though nobody can use it. */
const DAMAGED: readonly string[] = ["cut in half", "of another shape"];

function replaced(path: string, make: () => void): void {
  rmSync(path, { recursive: true });
  make();
}
/** A link to an account that has ended. */
const UNLINKED = {
  logged_in: false,
  account_origin: null,
  device_id: null,
  device_token: null,
  hostname: "",
  disabled: false,
  pending_login: null,
  last_error: null,
};
type Loss = keyof typeof LOSSES;
/** What waits for its file, while the daemon runs. */
type Part = "direct" | "push" | "account";
/** Without these the daemon doesn't start. */
const ESSENTIAL = ["group_bridge_identity_key.yaml", "settings.json", "state/connect/outbox"];

describe("a Home with lost files", function () {
  this.timeout(180_000);
  let daemon: DaemonProcess;
  let kept: string;
  const paths = () => homePaths(daemon.home);
  const svc = (...args: string[]) => run(args, { home: daemon.home });

  before(async () => {
    daemon = await DaemonProcess.started();
    const client = daemon.client(null);
    await client.result("group_create", { title: "Kept" });
    await client.result("access_token_create", { name: "laptop" });
    const at = `127.0.0.1:${await freePort()}`;
    await client.result("connect_direct_configure", { listener: { bind: at, address: at } });
    const { groups } = await client.result("group_list", {});
    await client.result("connect_direct_invite", { group_id: groups[0]!.group_id });
    await client.result("push_prepare", {});
    await daemon.stop();
    writeFileSync(paths().membership, JSON.stringify(UNLINKED), { mode: 0o600 });
    // It notes what there is.
    await daemon.start();
    await daemon.stop();
    kept = `${daemon.home}-kept`;
    renameSync(daemon.home, kept);
  });
  beforeEach(() => copy(kept, daemon.home));
  afterEach(async () => {
    await daemon.stop();
    rmSync(daemon.home, { recursive: true, force: true });
  });
  after(async () => {
    rmSync(kept, { recursive: true, force: true });
    await daemon.dispose();
  });

  /** What the part that needs the file answers. */
  async function answerOf(part: Part): Promise<string> {
    const client = daemon.client(null);
    const operation = {
      direct: "connect_direct_status",
      push: "push_prepare",
      account: "account_show",
    } as const;
    const answer = await client.call(operation[part], {});
    return JSON.stringify(answer);
  }

  const cases: [name: string, losses: readonly Loss[], part: Part | null][] = [
    ["group_bridge_identity_key.yaml", OF_FILES, null],
    ["settings.json", OF_FILES, null],
    ["state/connect/outbox", ["missing", "a file", "a FIFO", "a link to /dev/zero"], null],
    ["direct_connections.json", OF_FILES, "direct"],
    ["secrets/membership.json", OF_FILES, "account"],
    ["secrets/push_key.json", OF_FILES, "push"],
  ];
  for (const [name, losses, part] of cases) {
    for (const loss of losses) {
      it(`${name}, ${loss}: is told, stays as it is, and is given up by a person alone`, async () => {
        const path = join(daemon.home, name);
        assert.ok(existsSync(path), "it was there");
        LOSSES[loss](path);
        const before = tree(daemon.home);
        if (part === null) {
          const started = await svc("daemon", "start", "--port", "0");
          assert.equal(started.code, 1, started.out);
          assert.ok(started.err.includes(name), started.err);
          if (loss === "missing") assert.match(started.err, /is gone.*svc home forget/su);
        } else {
          await daemon.start();
          assert.ok((await answerOf(part)).includes(name));
          await daemon.stop();
        }
        const doctor = await svc("doctor");
        assert.equal(doctor.code, 1, doctor.out);
        const how = DAMAGED.includes(loss) ? "is damaged" : "is gone or has nothing in it";
        assert.ok(doctor.out.includes(`${path} ${how}.`), doctor.out);
        assert.ok(doctor.out.includes(`svc home forget ${name} --confirm ${name}`), doctor.out);
        assert.deepEqual(tree(daemon.home), before, "nothing was made in its place");

        assert.equal((await svc("home", "forget", name)).code, 2);
        assert.equal((await svc("home", "forget", name, "--confirm", "yes")).code, 2);
        assert.deepEqual(tree(daemon.home), before);
        const forgotten = await svc("home", "forget", name, "--confirm", name, "--json");
        assert.equal(forgotten.code, 0, forgotten.err);
        const { aside } = envelope<{ aside: string | null }>(forgotten).result;
        assert.equal(aside !== null, loss !== "missing");
        if (aside !== null) assert.ok(existsSync(aside), "what was there is kept");
        await daemon.start();
        if (part !== null) assert.equal((await answerOf(part)).includes(name), false);
        const { groups } = await daemon.client(null).result("group_list", {});
        assert.deepEqual(
          groups.map(({ title }) => title),
          ["Kept"],
        );
        assert.doesNotMatch((await svc("doctor")).out, /is gone or has|is damaged/u);
      });
    }
  }

  for (const name of ["state", "state/connect", "secrets"]) {
    it(`${name}, a file: is named, and so is what was in it`, async () => {
      const path = join(daemon.home, name);
      LOSSES["a file"](path);
      const before = tree(daemon.home);
      const started = await svc("daemon", "start", "--port", "0");
      assert.equal(started.code, 1, started.out);
      assert.ok(started.err.includes(`${path}: It is a file, not a directory.`), started.err);
      const doctor = await svc("doctor");
      assert.equal(doctor.code, 1);
      assert.equal(doctor.err, "");
      for (const needed of neededFiles(paths()))
        if (needed.path.startsWith(path) && existsSync(needed.path.replace(daemon.home, kept)))
          assert.ok(doctor.out.includes(`${needed.path} is gone`), doctor.out);
      assert.deepEqual(tree(daemon.home), before);
    });
  }

  /** The lost Group, everywhere where it is asked for, and that nothing is recorded in it. */
  async function checkMissed(groupId: string): Promise<void> {
    const folder = paths().group(groupId).root;
    const words = `${folder}: The Group's folder was here and is gone`;
    const doctor = await svc("doctor");
    assert.equal(doctor.code, 1);
    assert.ok(doctor.out.includes(words), doctor.out);
    assert.ok(doctor.out.includes(`svc group delete --group ${groupId} --confirm ${groupId}`), doctor.out);
    for (const command of [
      ["ledger", "verify", "--group", groupId],
      ["send", "new", "--to", "user", "--group", groupId],
    ]) {
      const { code, err } = await svc(...command);
      assert.equal(code, 1);
      assert.ok(err.includes(words), err);
    }
    assert.ok(readFileSync(paths().daemon.log, "utf8").includes(words));
    assert.equal(existsSync(folder), false, "nothing was made in its place");
  }

  for (const what of ["its folder", "groups/", "groups/, emptied"] as const) {
    it(`misses a Group without ${what}, until it is back or a person deletes it`, async () => {
      const [groupId] = readdirSync(paths().groups) as [string];
      const folder = paths().group(groupId).root;
      const away = `${daemon.home}-away`;
      renameSync(folder, away);
      if (what !== "its folder") rmSync(paths().groups, { recursive: true });
      if (what === "groups/, emptied") mkdirSync(paths().groups, { mode: 0o700 });
      await daemon.start();
      await checkMissed(groupId);
      await daemon.stop();
      await daemon.start();
      await checkMissed(groupId);
      const reopened = await svc("ledger", "reopen", "--group", groupId);
      assert.equal(reopened.code, 1, reopened.out);
      await checkMissed(groupId);

      renameSync(away, folder);
      const back = await svc("ledger", "reopen", "--group", groupId);
      assert.equal(back.code, 0, back.err);
      assert.equal((await svc("ledger", "verify", "--group", groupId)).code, 0);
      await daemon.stop();
      rmSync(folder, { recursive: true });
      await daemon.start();
      await checkMissed(groupId);
      const deleted = await svc("group", "delete", "--group", groupId, "--confirm", groupId);
      assert.equal(deleted.code, 0, deleted.err);
      assert.equal((await svc("doctor")).out.includes(groupId), false);
      await daemon.stop();
      await daemon.start();
      assert.equal((await svc("doctor")).out.includes(groupId), false, "for good");
      assert.deepEqual(readdirSync(paths().groups), []);
    });
  }

  for (const how of OF_FILES.filter((loss) => loss !== "missing")) {
    it(`home_files.json, ${how}: stays as it is, is told, and nothing is given up without it`, async () => {
      const path = paths().files;
      LOSSES[how](path);
      const before = tree(daemon.home);
      const started = await svc("daemon", "start", "--port", "0");
      const doctor = await svc("doctor");
      if (started.code === 0) {
        assert.equal(doctor.code, 1);
        assert.ok(doctor.out.includes(path), doctor.out);
        assert.equal((await svc("daemon", "stop")).code, 0);
      } else {
        assert.match(started.err, /home_files\.json: It is a .*, not a file\./u);
      }
      assert.deepEqual(tree(daemon.home), before);
      const given = await svc("home", "forget", "settings.json", "--confirm", "settings.json");
      assert.equal(given.code, 1, given.out);
      assert.ok(given.err.includes(path), given.err);
      assert.deepEqual(tree(daemon.home), before);

      rmSync(path, { recursive: true });
      await daemon.start();
      assert.equal((await svc("doctor")).out.includes(path), false);
    });
  }

  it("of before, without a note of its files, still misses the key and the settings", async () => {
    for (const name of ESSENTIAL.slice(0, 2)) {
      rmSync(paths().files, { force: true });
      const path = join(daemon.home, name);
      const bytes = readFileSync(path);
      rmSync(path);
      const { code, err } = await svc("daemon", "start", "--port", "0");
      assert.equal(code, 1);
      assert.ok(err.includes(`${path}: It was here and is gone.`), err);
      writeFileSync(path, bytes, { mode: 0o600 });
    }
    await daemon.start();
    const { files, groups } = JSON.parse(readFileSync(paths().files, "utf8")) as {
      files: string[];
      groups: string[];
    };
    assert.deepEqual(groups, readdirSync(paths().groups));
    const there = neededFiles(paths()).filter(({ path }) => existsSync(path));
    assert.deepEqual(files, there.map(({ path }) => nameInHome(paths(), path)).sort());
  });

  it("keeps its files while the daemon runs, and names what isn't one of them", async () => {
    await daemon.start();
    const name = "settings.json";
    const running = await svc("home", "forget", name, "--confirm", name);
    assert.equal(running.code, 1);
    assert.match(running.err, /A daemon is already running/);
    assert.ok(existsSync(paths().settings));
    const unknown = await svc("home", "forget", "../else", "--confirm", "../else");
    assert.equal(unknown.code, 2);
    assert.match(unknown.err, /none of the needed files: group_bridge_identity_key\.yaml, settings\.json/);
  });
});

function copy(from: string, to: string): void {
  mkdirSync(to, { mode: 0o700 });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [one, other] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) copy(one, other);
    else if (entry.isFile()) writeFileSync(other, readFileSync(one), { mode: 0o600 });
  }
}

/** Paths and contents, without what every start writes. */
function tree(home: string): Map<string, string> {
  const entries = readdirSync(home, { recursive: true, withFileTypes: true });
  return new Map(
    entries
      .map((entry) => ({ entry, path: join(entry.parentPath, entry.name).slice(home.length + 1) }))
      .filter(({ path }) => !/^(?:daemon|state\/connect\/direct_status|groups)\b/u.test(path))
      .map(({ entry, path }) => [path, entry.isFile() ? readFileSync(join(home, path), "base64") : ""]),
  );
}
