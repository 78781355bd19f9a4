/** What people mistype, leave out or have too much of: each is told with what to do. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DaemonProcess } from "../support/daemon-process.ts";
import { until } from "../support/until.ts";
import { collect, envelope, type Ran, type RunOptions, run, SVC } from "./svc.ts";

describe("mistakes on the command line", () => {
  let daemon: DaemonProcess;
  let folder: string;
  let group: string;

  before(async () => {
    daemon = await DaemonProcess.started({ environment: { PATH: "/usr/bin:/bin" } });
    folder = realpathSync(mkdtempSync(join(tmpdir(), "svc-mistakes-")));
    group = (await daemon.client().result("group_create", { title: "Garden" })).group_id;
    await daemon.client().result("actor_add", { group_id: group, actor_id: "coder", runner: "external" });
  });
  after(async () => {
    await daemon.dispose();
    rmSync(folder, { recursive: true, force: true });
  });

  function svc(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
    return run(args, { home: daemon.home, ...options });
  }

  async function send(text: string): Promise<string> {
    return (await daemon.client().result("send", { group_id: group, to: ["user"], text })).event.id;
  }

  async function refused(args: readonly string[], code: number, told: RegExp): Promise<Ran> {
    const ran = await svc(args);
    assert.equal(ran.code, code, `svc ${args.join(" ")}: ${ran.out}${ran.err}`);
    assert.match(ran.err, told);
    return ran;
  }

  it("names what was meant: commands, options, choices, Groups and Actors", async () => {
    await refused(["gruop", "list"], 2, /no command 'gruop'\. Did you mean 'svc group'\?/);
    await refused(["group", "lsit"], 2, /Did you mean 'svc group list'\?/);
    await refused(["send", "x", "--gorup", "g"], 2, /Unknown option --gorup\. Did you mean '--group'\?/);
    await refused(["send", "x", "--mode", "mial"], 2, /Did you mean 'mail'\?/);
    await refused(["group", "show", "Gardn"], 1, /no Group 'Gardn'\. Did you mean 'Garden'\?/);
    await refused(
      ["send", "x", "-g", group, "--to", "codr"],
      1,
      /No Actor 'codr' in this Group\. Did you mean 'coder'\?/,
    );
    await refused(["actor", "show", "codre", "-g", group], 1, /Did you mean 'coder'\?/);
    const far = await refused(["zzzzzzzz"], 2, /no command 'zzzzzzzz'/);
    assert.doesNotMatch(far.err, /Did you mean/);
  });

  it("takes a Group's unique title wherever it takes its id", async () => {
    const other = (await daemon.client().result("group_create", { title: "Attic" })).group_id;
    const shown = await svc(["group", "show", " garden ", "--json"]);
    assert.equal(envelope<{ group_id: string }>(shown).result.group_id, group);
    for (const args of [
      ["send", "x", "--to", "user", "-g", "Garden"],
      ["send", "x", "--to", "user", "-g", "Garden", "--local-group", "Attic", "--to", "user"],
      ["tail", "-g", "GARDEN"],
      ["attach", folder, "--group", "Garden"],
      ["group", "stop", "Attic"],
      ["token", "create", "--groups", "Garden,Attic"],
      ["group", "reset", "--confirm", "attic"],
      ["group", "delete", "--group", "Attic", "--confirm", other],
    ]) {
      const ran = await svc(args);
      // A message from one Group to the user of another is refused for what it is, not for its
      // title.
      if (!args.includes("--local-group")) assert.equal(ran.code, 0, `svc ${args.join(" ")}: ${ran.err}`);
      assert.doesNotMatch(ran.err, /no Group|Group id/);
    }
    const byEnvironment = await svc(["tail"], { env: { SVC_GROUP_ID: "Garden" } });
    assert.equal(byEnvironment.code, 0, byEnvironment.err);
    const twin = (await daemon.client().result("group_create", { title: "garden" })).group_id;
    const both = await refused(["group", "show", "Garden"], 2, /2 Groups are called 'Garden'/);
    assert.ok(both.err.includes(group) && both.err.includes(twin));
    await daemon.client().result("group_delete", { group_id: twin, confirm: twin });
  });

  it("takes an Actor's unique title wherever it takes its id, and its id before a title", async () => {
    const client = daemon.client();
    const add = (actorId: string, title: string) =>
      client.result("actor_add", { group_id: group, actor_id: actorId, title });
    await add("tester", "Test Bench");
    await add("other", "tester");
    const actorOf = async (typed: string) => {
      const ran = await svc(["actor", "show", typed, "-g", group, "--json"]);
      assert.equal(ran.code, 0, ran.err);
      return envelope<{ actor: { id: string } }>(ran).result.actor.id;
    };
    assert.equal(await actorOf(" test bench"), "tester");
    assert.equal(await actorOf("tester"), "tester");
    assert.equal((await svc(["inbox", "--actor", "Test Bench", "-g", group])).code, 0);
    await add("twin", "test bench");
    const both = await refused(
      ["actor", "remove", "Test Bench", "-g", group, "--yes"],
      2,
      /2 Actors are called/,
    );
    assert.ok(both.err.includes("  tester  ") && both.err.includes("  twin  "), both.err);
    for (const actorId of ["tester", "other", "twin"])
      await client.result("actor_remove", { group_id: group, actor_id: actorId });
  });

  it("destroys nothing for a plain yes", async () => {
    await refused(
      ["group", "delete", "--confirm", "yes"],
      2,
      /--confirm takes the Group's id or title, not 'yes'/,
    );
    await refused(["group", "delete", "-g", group, "--confirm", "y"], 2, /takes the Group's id or title/);
    await refused(["group", "reset", "--confirm", "Shed"], 1, /no Group 'Shed'/);
    assert.equal((await svc(["group", "show", group])).code, 0);
  });

  it("lists a few Groups and how to see the others", async () => {
    for (let count = 0; count < 12; count++)
      await daemon.client().result("group_create", { title: `Bed ${count}` });
    const ran = await svc(["tail"], { cwd: tmpdir() });
    assert.equal(ran.code, 2);
    assert.match(ran.err, /Which Group\? Use --group/);
    assert.match(ran.err, /and \d+ more: 'svc group list'/);
    assert.ok(ran.err.split("\n").length < 10, ran.err);
  });

  it("takes the beginning of an event's id wherever it takes the id, when only one begins so", async () => {
    const id = await send("found by its beginning");
    for (const args of [
      ["show", id.slice(0, 10)],
      ["show", id.slice(0, 31).toUpperCase()],
      ["read", id.slice(0, 12)],
      ["search", "found", "--before", id.slice(0, 10)],
    ]) {
      const ran = await svc([...args, "-g", group]);
      assert.equal(ran.code, 0, `svc ${args.join(" ")}: ${ran.err}`);
    }
    assert.match((await svc(["show", id.slice(0, 9), "-g", group])).out, /found by its beginning/);
    await refused(["show", "abc", "-g", group], 2, /'abc' isn't an event id\. Type an id, or its first 4/);
    await refused(["show", "0000000000000", "-g", group], 1, /No event id in this Group begins with/);

    // Four digits of many events: two of them are alike soon.
    const byDigits = new Map<string, string>();
    let alike: string | undefined;
    while (alike === undefined) {
      const next = await send("x");
      const digits = next.slice(0, 4);
      if (byDigits.has(digits)) alike = digits;
      byDigits.set(digits, next);
    }
    const ran = await refused(["show", alike, "-g", group], 2, /More than one event id begins with/);
    assert.ok(ran.err.includes(byDigits.get(alike)!));
  });

  it("names the option that is wrong", async () => {
    await refused(["tail", "-g", "g_12"], 1, /There is no Group 'g_12'/);
    await refused(
      ["send", "x", "-g", group, "--to", "user", "--idempotency-key", ""],
      1,
      /--idempotency-key .*Check --idempotency-key\./,
    );
    await refused(["inbox", "-g", group], 2, /Which Actor\? Use --actor NAME\./);
    await refused(["deliver", "abcd", "-g", group], 2, /Deliver to whom\? Use --to ACTOR\./);
  });

  it("says how large a file is and may be, and that a message has none", async () => {
    const large = join(folder, "large.bin");
    writeFileSync(large, "");
    truncateSync(large, 191 * 1024 * 1024);
    await refused(
      ["send", "x", "-g", group, "--to", "user", "-a", large],
      1,
      /'large\.bin' is 191 MiB; the limit is 100 MiB\./,
    );
    const many = Array.from({ length: 17 }, () => ["-a", large]).flat();
    await refused(
      ["send", "x", "-g", group, "--to", "user", ...many],
      1,
      /--attach has more than 16 entries/,
    );
    const ran = await refused(["file", await send("no files"), "-g", group], 1, /The message has no files\./);
    assert.doesNotMatch(ran.err, /Upload/);
  });

  it("saves a person's file wherever the person may write, and never over another", async () => {
    const source = join(folder, "report.txt");
    writeFileSync(source, "the report");
    const sent = await svc(["send", "here", "-g", group, "--to", "user", "-a", source, "--json"]);
    const { id } = envelope<{ event: { id: string } }>(sent).result.event;
    const elsewhere = mkdtempSync(join(tmpdir(), "svc-elsewhere-"));
    try {
      const named = join(elsewhere, "copy.txt");
      const saved = await svc(["file", id, "-g", group, "--save-to", named, "--json"]);
      assert.equal(saved.code, 0, saved.err);
      assert.equal(envelope<{ saved_to: string }>(saved).result.saved_to, named);
      assert.equal(readFileSync(named, "utf8"), "the report");
      const below = await svc(["file", id, "-g", group, "--save-to", "."], { cwd: elsewhere });
      assert.equal(below.code, 0, below.err);
      assert.equal(readFileSync(join(elsewhere, "report.txt"), "utf8"), "the report");
      writeFileSync(named, "mine");
      await refused(["file", id, "-g", group, "--save-to", named], 1, /already exists/);
      assert.equal(readFileSync(named, "utf8"), "mine");
      await refused(
        ["file", id, "-g", group, "--save-to", join(elsewhere, "no", "x")],
        1,
        /can't be written \(ENOENT\)/,
      );
    } finally {
      rmSync(elsewhere, { recursive: true, force: true });
    }
  });

  it("says that an agent's program is missing when its Actor is added, and with its id when it is started", async () => {
    const added = await svc(["actor", "add", "gardener", "-g", group, "--runtime", "copilot"]);
    assert.equal(added.code, 0, added.err);
    assert.match(added.err, /isn't installed: .*'copilot'/);
    assert.ok(added.err.endsWith(`: svc actor update gardener --group ${group} -- COMMAND\n`), added.err);
    assert.doesNotMatch(added.out, /actor start/);
    await refused(
      ["actor", "start", "gardener", "-g", group],
      1,
      /svc actor update gardener --group g_\w+ -- COMMAND/,
    );
    await refused(["actor", "interrupt", "gardener", "-g", group], 1, /svc actor start gardener/);
  });

  it("asks on a terminal before it removes an Actor", async () => {
    const command = `'${process.execPath}' '${SVC}' actor remove gardener --group ${group} --home '${daemon.home}'`;
    for (const [answer, isThere] of [
      ["n", true],
      ["y", false],
    ] as const) {
      // `script` gives the command a terminal.
      const terminal = spawn("bash", ["-c", 'exec script -qec "$1" /dev/null', "bash", command]);
      const ran = collect(terminal);
      const closed = once(terminal, "close");
      await until("the question", () => /Remove gardener .*\[y\/N\]/.test(ran.out));
      terminal.stdin.write(`${answer}\n`);
      await closed;
      assert.equal((await svc(["actor", "show", "gardener", "-g", group])).code === 0, isThere, ran.out);
    }
  });

  it("configures an agent with the command that is installed", async () => {
    const bin = join(folder, "bin");
    mkdirSync(bin);
    const installed = join(bin, "svc");
    symlinkSync(SVC, installed);
    const child = spawn(process.execPath, [
      installed,
      "actor",
      "mcp-config",
      "coder",
      "-g",
      group,
      "--home",
      daemon.home,
    ]);
    const ran = collect(child);
    await once(child, "close");
    assert.equal(child.exitCode, 0, ran.err);
    const { mcpServers } = JSON.parse(ran.out) as {
      mcpServers: { svc: { command: string; args: string[] } };
    };
    assert.deepEqual(mcpServers.svc.args, [installed, "mcp"]);
    assert.equal(mcpServers.svc.command, process.execPath);
    assert.ok(existsSync(installed));
  });
});
