/** The daemon as people start and stop it. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mock } from "node:test";
import { stop } from "../../cli/commands/daemon.ts";
import type { CommandContext } from "../../cli/context.ts";
import { DaemonClient } from "../../client/client.ts";
import { DaemonSilent } from "../../client/failures.ts";
import { isAlive } from "../../client/process-state.ts";
import { awaitViewers } from "../../demo/audience.ts";
import { inSession } from "../../demo/session.ts";
import { until } from "../support/until.ts";

import { collect, envelope, run, SVC, start } from "./svc.ts";

interface Status {
  pid: number;
  web_origin: string;
  home: string;
}

describe("the daemon from the command line", function () {
  let folder: string;
  let home: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "svc-daemon-"));
    home = join(folder, "home");
  });
  afterEach(async () => {
    await run(["daemon", "stop"], { home });
    rmSync(folder, { recursive: true, force: true });
  });

  it("starts in the background once, reports, and stops", async () => {
    const first = await run(["daemon", "start", "--port", "0", "--json"], { home });
    assert.equal(first.code, 0, first.err);
    const { pid } = envelope<Status>(first).result;
    const second = await run(["daemon", "start", "--json"], { home });
    assert.deepEqual([second.code, envelope<Status>(second).result.pid], [0, pid]);
    const foreground = await run(["daemon", "run", "--port", "0"], { home });
    assert.equal(foreground.code, 1);
    assert.ok(foreground.err.includes(String(pid)) && !/\n\s+at /.test(foreground.err), foreground.err);
    assert.equal((await run(["daemon", "stop"], { home })).code, 0);
    assert.ok(!isAlive(pid));
    assert.equal((await run(["daemon", "status"], { home })).code, 3);
  });

  it("doesn't start beside another program's port, and names the way to another", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    try {
      for (const command of [["daemon", "start"], ["up"]]) {
        const ran = await run([...command, "--port", String(port)], { home });
        assert.equal(ran.code, 1, ran.out);
        assert.doesNotMatch(ran.out, /running|Ctrl-C/);
        const scripted = await run([...command, "--port", String(port), "--json"], { home });
        assert.match(envelope(scripted).error.message, /didn't start\. Another program uses port/);
        assert.match(ran.err, new RegExp(`Another program uses port ${port} of 127\\.0\\.0\\.1 .*--port`));
        assert.equal((await run(["daemon", "status"], { home })).code, 3);
      }
      const script = spawn(process.execPath, ["build/start.mjs", "--home", home, "--port", String(port)]);
      const ran = collect(script);
      await once(script, "close");
      assert.equal(script.exitCode, 1);
      assert.doesNotMatch(ran.out, /Workbench/);
    } finally {
      other.close();
    }
    assert.equal((await run(["daemon", "start", "--port", "0"], { home })).code, 0);
  });

  it("says that it runs on another port than the one asked for", async () => {
    const first = await run(["daemon", "start", "--port", "0", "--json"], { home });
    const { web_origin: webOrigin } = envelope<Status>(first).result;
    const port = new URL(webOrigin).port;
    assert.equal((await run(["daemon", "start", "--port", port], { home })).code, 0);
    for (const options of [
      ["--port", "1"],
      ["--host", "192.0.2.1"],
      ["--tls-cert", "a", "--tls-key", "b"],
    ]) {
      const ran = await run(["daemon", "start", ...options], { home });
      assert.equal(ran.code, 1);
      assert.ok(ran.err.includes(`already running on ${webOrigin}`), ran.err);
      assert.ok(ran.err.includes(`svc daemon stop && svc daemon start ${options.join(" ")}`), ran.err);
    }
    const wide = await run(["daemon", "start", "--host", "0.0.0.0"], { home });
    assert.deepEqual([wide.code, /already running on/.test(wide.err)], [0, true]);
  });

  it("suggests commands for the Home and the Group that were named, not for the usual ones", async () => {
    const told = async (...args: string[]): Promise<string> => {
      const { out, err } = await run([...args, "--home", home]);
      return out + err;
    };
    await told("daemon", "start", "--port", "0");
    for (const title of ["Office", "Lab"]) await told("group", "create", title);
    const [stop, silent] = [`svc daemon stop --home ${home}`, new DaemonSilent(home, 7).message];
    for (const [words, command] of [
      [silent, `svc daemon logs --home ${home}`],
      [silent, `svc daemon start --home ${home}`],
      [await told("daemon", "run"), stop],
      [await told("daemon", "start", "--port", "1"), `${stop} && svc daemon start --port 1 --home ${home}`],
      [await told("account"), `svc link --account ORIGIN --home ${home}`],
      [
        await told("direct", "status", "--group", "Lab"),
        /svc direct listen --bind (\S+) --address \1 --home/,
      ],
    ] as const)
      assert.match(
        words,
        typeof command === "string" ? new RegExp(`: ${command}$|\\(${command}\\)`, "m") : command,
      );
    const added = await told("actor", "add", "lead", "--group", "Lab");
    const [, suggested] = /: svc (actor mcp-config .*)\n/.exec(added) ?? assert.fail(added);
    assert.equal(suggested, `actor mcp-config lead --group Lab --home ${home}`);
    assert.equal((await run(suggested.split(" "))).code, 0);
    assert.equal(await told("whoami"), `user: the owner of the Home ${home}\n`);
  });

  it("says that a daemon has ended only when it has", async () => {
    mock.timers.enable({ apis: ["setTimeout"] });
    try {
      const notes: string[] = [];
      const context = {
        client: { call: async () => ({ ok: true, result: { pid: process.pid, groups: [] } }) },
        out: { note: (text: string) => notes.push(text) },
        show: () => assert.fail("this process lives"),
        command: (...words: string[]) => words.join(" "),
      };
      const ended: unknown[] = [];
      const end = (how: unknown): unknown => ended.push(how);
      void stop(context as unknown as CommandContext).then(end, end);
      while (ended.length === 0) {
        mock.timers.tick(1000);
        await new Promise((resolve) => setImmediate(resolve));
      }
      assert.deepEqual(ended, [1]);
      assert.match(notes.join(), /still stopping/);
    } finally {
      mock.timers.reset();
    }
  });

  it("stops one whose parent never asks for its exit code", async () => {
    const command = `'${process.execPath}' '${SVC}' daemon run --port 0 --home '${home}' & exec sleep 1000`;
    const parent = spawn("sh", ["-c", command], { stdio: "ignore" });
    try {
      await until("it runs", async () => (await run(["daemon", "status"], { home })).code === 0);
      const ran = await run(["daemon", "stop"], { home });
      assert.deepEqual([ran.code, ran.err], [0, ""]);
    } finally {
      parent.kill("SIGKILL");
    }
  });

  it("says why it can't start", async () => {
    const ran = await run(["daemon", "start", "--tls-cert", "missing", "--tls-key", "missing"], { home });
    assert.equal(ran.code, 1);
    assert.match(ran.err, /missing/);
    assert.equal((await run(["daemon", "start", "--tls-cert", "alone"], { home })).code, 2);
  });

  it("runs in a terminal until Ctrl-C, and prints the link only to a terminal", async () => {
    const piped = start(["up", "--port", "0"], { home });
    const ran = collect(piped);
    await until("its words", () => ran.out.includes("Ctrl-C"));
    assert.ok(!ran.out.includes("#login="));
    piped.kill("SIGINT");
    await once(piped, "close");
    assert.equal(piped.exitCode, 0, ran.err);

    // `script` gives the command a terminal.
    const command = `'${process.execPath}' '${SVC}' up --port 0 --home '${home}'`;
    const terminal = spawn("bash", ["-c", 'exec script -qec "$1" /dev/null', "bash", command]);
    const shown = collect(terminal);
    await until("the link", () => /http:\/\/127\.0\.0\.1:\d+\/#login=\S+/.test(shown.out));
    const closed = once(terminal, "close");
    await run(["daemon", "stop"], { home });
    await closed;
  });

  it("plays the demo: two agents talk over MCP in a Home of their own", async () => {
    const begun = performance.now();
    const ran = await run(["demo", "--exit"], { home, env: { TMPDIR: folder } });
    assert.equal(ran.code, 0, ran.err);
    console.log(`      played in ${((performance.now() - begun) / 1000).toFixed(1)} s`);
    assert.match(ran.out, /#login=/);
    for (const line of [
      "user → planner",
      "planner → coder (request_reply)",
      "coder → planner (mail)",
      "planner → user",
    ])
      assert.ok(ran.out.includes(line), `${line}\n${ran.out}`);
    assert.deepEqual(readdirSync(folder), []);
    assert.ok(!existsSync(home));
  });

  it("plays the demo of two instances, from the invitation to the end of their connection", async function () {
    // Dialling again takes 5 seconds, a slow machine its time.
    this.timeout(240_000);
    const ran = await run(["demo", "--direct", "--exit"], { home, env: { TMPDIR: folder } });
    assert.equal(ran.code, 0, `${ran.err}\n${ran.out}`);
    assert.equal(ran.out.match(/#login=/g)?.length, 2);
    for (const line of [
      /same six words: \w+ \w+ \w+ \w+ \w+ \w+\n/u,
      /Online: each side knows/u,
      /answers; the answer is back/u,
      /withdraws the request; the lab knows/u,
      /revokes the connection; the lab has learned it/u,
      /refused now: connect_not_granted/u,
    ])
      assert.match(ran.out, line);
    assert.doesNotMatch(ran.out, /svc-direct:/);
    assert.deepEqual(readdirSync(folder), []);
  });

  it("plays the demo of one account, from the link to the retirement", async function () {
    this.timeout(240_000);
    const ran = await run(["demo", "--account", "--exit"], { home, env: { TMPDIR: folder } });
    assert.equal(ran.code, 0, `${ran.err}\n${ran.out}`);
    assert.equal(ran.out.match(/#login=/g)?.length, 2);
    for (const line of [
      /shows the code [A-Z]{4}-[A-Z]{4}; the lab shows [A-Z]{4}-[A-Z]{4}\./u,
      /lists the machines of the account: Lab, Office\./u,
      /answers; the answer is back/u,
      /The office lists: Office\./u,
      /refused now: connect_not_granted/u,
    ])
      assert.match(ran.out, line);
    assert.deepEqual(readdirSync(folder), []);
  });

  it("plays the demo of two accounts, from the invitation to the end of the connection", async function () {
    this.timeout(240_000);
    const ran = await run(["demo", "--external", "--exit"], { home, env: { TMPDIR: folder } });
    assert.equal(ran.code, 0, `${ran.err}\n${ran.out}`);
    assert.equal(ran.out.match(/#login=/g)?.length, 2);
    for (const line of [
      /The office belongs to Ann's account, and the lab to Ben's/u,
      /Ben sees who invites him/u,
      /answers; the answer is back/u,
      /refused now: connect_not_granted/u,
    ])
      assert.match(ran.out, line);
    assert.deepEqual(readdirSync(folder), []);
  });

  it("begins the demo without a viewer when it has waited long enough", async () => {
    const lines: string[] = [];
    const screen = { line: (text = "") => lines.push(text) };
    await inSession(async ({ home: added, ended }) => {
      const here = added("demo");
      await here.open("Nobody watches", {});
      await awaitViewers({ homes: [here], screen, ended, seconds: 0.5 });
    }, SVC);
    assert.equal(lines[1], "The Workbench isn't open yet. It begins all the same.", lines.join("\n"));
  });

  it("ends the demo in order on Ctrl-C, while it waits for a viewer and in its talk", async () => {
    const [waiting, inTalk] = [start(["demo"], { home, env: { TMPDIR: folder } }), await talking()];
    const waited = collect(waiting);
    await until("the question", () => waited.out.includes("when you press Enter"));
    const closed = [waiting, inTalk.child].map(async (child) => {
      child.kill("SIGINT");
      await once(child, "close");
    });
    await Promise.all(closed);
    assert.deepEqual([waiting.exitCode, inTalk.child.exitCode], [0, 0], waited.err + inTalk.ran.err);
    assert.doesNotMatch(waited.out, /→|all the same/u);
    assert.doesNotMatch(inTalk.ran.out, /all the same/u);
    assert.deepEqual(inTalk.left(), []);
    assert.ok(!readdirSync(folder).some((name) => name.startsWith("svc-demo-")));
  });

  /** A demo in the middle of its talk, begun with Enter, and its daemon. */
  const talking = async () => {
    const temporary = mkdtempSync(join(folder, "demo-"));
    const child = start(["demo"], { home, env: { TMPDIR: temporary } });
    const ran = collect(child);
    child.stdin?.write("\n");
    await until("the talk", () => ran.out.includes("user → planner"));
    const client = new DaemonClient(join(temporary, readdirSync(temporary)[0]!, "demo", "home"), null);
    const { pid } = await client.result("daemon_status", {});
    client.close();
    return { child, ran, pid, left: () => readdirSync(temporary) };
  };

  it("ends the demo at once on the second Ctrl-C, and when nobody reads what it says", async () => {
    const [impatient, unread] = await Promise.all([talking(), talking()]);
    const closed = [once(impatient.child, "close"), once(unread.child, "close")];
    // It can't end in order.
    process.kill(impatient.pid, "SIGSTOP");
    impatient.child.kill("SIGINT");
    unread.child.stdout?.destroy();
    await closed[1];
    assert.equal(impatient.child.exitCode, null);
    impatient.child.kill("SIGINT");
    await closed[0];
    assert.equal(impatient.child.exitCode, 130, impatient.ran.err);
    for (const { pid, left } of [impatient, unread]) {
      await until("its end", () => !isAlive(pid));
      assert.deepEqual(left(), []);
    }
  });

  it("ends the demo and says why when its daemon is killed", async () => {
    const { child, ran, pid, left } = await talking();
    const closed = once(child, "close");
    process.kill(pid, "SIGKILL");
    await closed;
    assert.equal(child.exitCode, 1, ran.err);
    assert.match(ran.err, /daemon/);
    assert.deepEqual(left(), []);
  });
});
