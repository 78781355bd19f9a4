/** Arguments, environment and pipes that no careful person would use. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ENVIRONMENT } from "../../shared/names.ts";
import { DaemonProcess, plainEnvironment, SVC } from "../support/daemon-process.ts";
import { Sentinel } from "./sentinel.ts";

interface Ran {
  code: number | null;
  out: string;
  err: string;
}

describe("hostile input at the command line", () => {
  let daemon: DaemonProcess;
  let sentinel: Sentinel;

  before(async () => {
    daemon = await DaemonProcess.started();
    sentinel = await Sentinel.stand(daemon);
  });
  after(() => daemon.dispose());
  afterEach(() => sentinel.check());

  async function svc(
    args: readonly string[],
    environment: Record<string, string> = {},
    input: string | Buffer = "",
  ): Promise<Ran> {
    const child = spawn(process.execPath, [SVC, ...args], {
      env: { ...plainEnvironment(), [ENVIRONMENT.home]: daemon.home, ...environment },
    });
    let out = "";
    let err = "";
    child.stdout.on("data", (chunk: Buffer) => {
      out += chunk.toString("utf8");
    });
    child.stderr.on("data", (chunk: Buffer) => {
      err += chunk.toString("utf8");
    });
    child.stdin.on("error", () => undefined);
    child.stdin.end(input);
    await once(child, "close");
    return { code: child.exitCode, out, err };
  }

  it("answers wrong usage with 2, on standard error, without a stack", async () => {
    for (const args of [
      ["nothing"],
      ["group"],
      ["group", "nothing"],
      ["send"],
      ["send", "a", "b"],
      ["send", "x", "--nothing"],
      ["send", "x", "--to"],
      ["send", "x", "--mode", "shout"],
      ["send", "x", "--mode=send", "--mode=mail"],
      ["tail", "-n", "0"],
      ["tail", "-n", "1e3"],
      ["tail", "-n", "-5"],
      ["tail", "--json=1"],
      ["daemon", "run", "--port", "65536"],
      ["__proto__"],
      ["constructor"],
      ["completion", "../bash"],
      ["--nothing"],
      ["-x"],
    ]) {
      const { code, out, err } = await svc(args);
      assert.equal(code, 2, `svc ${args.join(" ")}: ${code} ${err}`);
      assert.equal(out, "", args.join(" "));
      assert.ok(err.length > 0 && !/\n\s+at /.test(err), err);
    }
  });

  it("keeps ids as they are written and passes text through unharmed", async () => {
    const { group_id: groupId } = sentinel;
    const group = await daemon.client().result("group_create", { title: "words" });
    const id = group.group_id;
    await daemon.client().result("actor_add", { group_id: id, actor_id: "0123" });
    for (const text of ["-", "--", "--to", "-n", "0x10", "$(id) `id` ; & | \\ \" '", "\u001b[31m", "ä€😀"]) {
      const args = text === "-" ? ["send", "-"] : ["send"];
      const sent = await svc(
        [...args, "--group", id, "--to", "0123", "--json", ...(text === "-" ? [] : ["--", text])],
        {},
        "-",
      );
      assert.equal(sent.code, 0, `${JSON.stringify(text)}: ${sent.err}${sent.out}`);
      const { result } = JSON.parse(sent.out) as {
        result: { event: { data: { text: string; to: string[] } } };
      };
      assert.equal(result.event.data.text, text);
      assert.deepEqual(result.event.data.to, ["0123"]);
    }
    assert.equal((await svc(["group", "show", "g_000000000000"])).code, 1);
    assert.equal((await svc(["show", "../../etc/passwd", "--group", groupId])).code, 2);
  });

  it("shows no byte of a message that steers a terminal", async () => {
    const group = await daemon.client().result("group_create", { title: "steering" });
    const text = "\u001b]0;owned\u0007\u001b[2J\u009b31m\u202egnp.exe\r\u0008";
    await daemon
      .client()
      .result("send", { group_id: group.group_id, to: ["user"], text, insight: text, quote_text: text });
    for (const args of [["tail"], ["search", "owned"]]) {
      const { out, code } = await svc([...args, "--group", group.group_id]);
      assert.equal(code, 0);
      assert.ok(!Array.from(out).some(steers), JSON.stringify(out));
    }
  });

  it("never acts as the person with an Actor's credential, good or bad", async () => {
    const file = join(daemon.home, "bad-token");
    writeFileSync(file, "not a token", { mode: 0o600 });
    const wide = join(daemon.home, "wide-token");
    writeFileSync(wide, "x".repeat(43), { mode: 0o644 });
    for (const environment of [
      { [ENVIRONMENT.actorFile]: file },
      { [ENVIRONMENT.actorFile]: wide },
      { [ENVIRONMENT.actorFile]: join(daemon.home, "missing") },
      { [ENVIRONMENT.actorFile]: daemon.home },
      { [ENVIRONMENT.actorFile]: "" },
      { [ENVIRONMENT.launchToken]: "" },
      { [ENVIRONMENT.launchToken]: "x".repeat(43) },
      { [ENVIRONMENT.launchToken]: "x", [ENVIRONMENT.actorFile]: sentinel.token_file },
    ]) {
      for (const args of [
        ["whoami", "--json"],
        ["group", "create", "as the user", "--json"],
        ["token", "create", "--json"],
      ]) {
        const { code, out } = await svc(args, environment);
        assert.equal(code, 1, `${args.join(" ")} with ${JSON.stringify(environment)}: ${out}`);
      }
    }
    const good = { [ENVIRONMENT.actorFile]: sentinel.token_file };
    const who = await svc(["whoami", "--json"], good);
    assert.equal((JSON.parse(who.out) as { result: { by: string } }).result.by, "watch");
    for (const args of [
      ["group", "create", "x"],
      ["token", "create"],
      ["daemon", "stop"],
      ["open", "--print"],
    ]) {
      assert.equal((await svc(args, good)).code, 1, args.join(" "));
    }
    const { groups } = await daemon.client().result("group_list", {});
    assert.ok(!groups.some(({ title }) => title === "as the user"));
  });

  it("refuses input that isn't text or never fits", async () => {
    const send = ["send", "-", "--group", sentinel.group_id, "--to", "user"];
    assert.notEqual((await svc(send, {}, Buffer.from([0xff, 0xfe]))).code, 0);
    assert.notEqual((await svc(send, {}, "x".repeat(70_000))).code, 0);
    assert.notEqual((await svc(send, {}, Buffer.alloc(20_000_000, "x"))).code, 0);
  });

  it("is quiet when its reader stops", async () => {
    const group = await daemon.client().result("group_create", { title: "pipe" });
    for (let count = 0; count < 60; count++) {
      await daemon
        .client()
        .result("send", { group_id: group.group_id, to: ["user"], text: "x".repeat(20_000) });
    }
    const child = spawn(process.execPath, [SVC, "tail", "-n", "200", "--group", group.group_id], {
      env: { ...plainEnvironment(), [ENVIRONMENT.home]: daemon.home },
    });
    let err = "";
    child.stderr.on("data", (chunk: Buffer) => {
      err += chunk.toString("utf8");
    });
    child.stdout.once("data", () => child.stdout.destroy());
    await once(child, "close");
    assert.equal(err, "");
  });

  it("answers 3 where no daemon runs, and 1 for a Home that isn't one", async () => {
    const nowhere = { [ENVIRONMENT.home]: join(daemon.home, "nowhere") };
    assert.equal((await svc(["group", "list"], nowhere)).code, 3);
    assert.equal((await svc(["group", "list", "--json"], nowhere)).code, 3);
    const file = { [ENVIRONMENT.home]: join(daemon.home, "settings.json") };
    const { code, err } = await svc(["daemon", "run"], file);
    assert.ok(code !== 0 && !/\n\s+at /.test(err), `${code}: ${err}`);
  });
});

/** Control characters but tab and line feed, and those that turn the direction of text. */
function steers(character: string): boolean {
  const code = character.codePointAt(0)!;
  const isControl = (code < 0x20 && code !== 9 && code !== 10) || (code >= 0x7f && code < 0xa0);
  return isControl || (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}
