/** Files of a Home that are gone or damaged: nothing takes their place unless a person says so. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
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
  "a directory": (path: string) => {
    rmSync(path);
    mkdirSync(path);
  },
};
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

  const cases: [name: string, losses: Loss[], part: Part | null][] = [
    ["group_bridge_identity_key.yaml", ["missing", "emptied", "zeroed", "a directory"], null],
    ["settings.json", ["missing", "emptied", "zeroed", "a directory"], null],
    ["state/connect/outbox", ["missing"], null],
    ["direct_connections.json", ["missing", "emptied", "zeroed", "a directory"], "direct"],
    ["secrets/membership.json", ["missing", "emptied", "zeroed", "a directory"], "account"],
    ["secrets/push_key.json", ["missing", "emptied", "zeroed", "a directory"], "push"],
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
        assert.ok(doctor.out.includes(`${path} is gone or has nothing in it.`), doctor.out);
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
        assert.equal((await svc("doctor")).out.includes("is gone or has"), false);
      });
    }
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
    const { files } = JSON.parse(readFileSync(paths().files, "utf8")) as { files: string[] };
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
