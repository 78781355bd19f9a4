/** No process of svc opens Node's debugger for another program of the same user. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isAlive } from "../../client/process-state.ts";
import { freePort } from "../../demo/free-port.ts";
import { DaemonProcess, DIST, plainEnvironment } from "../support/daemon-process.ts";
import { until } from "../support/until.ts";
import { collect, envelope, run, start } from "./svc.ts";

/** A debugger that opens anyway takes a free port, whoever else on this machine debugs. */
const ANY_PORT = { NODE_OPTIONS: "--inspect-port=0" };

/** The TCP ports on which a process listens (Linux). */
function portsOf(pid: number): number[] {
  const listening = new Map<string, number>();
  for (const line of readFileSync(`/proc/${pid}/net/tcp`, "utf8").trim().split("\n").slice(1)) {
    const fields = line.trim().split(/\s+/);
    if (fields[3] === "0A") listening.set(`socket:[${fields[9]}]`, parseInt(fields[1]!.split(":")[1]!, 16));
  }
  return readdirSync(`/proc/${pid}/fd`).flatMap((name) => {
    try {
      return listening.get(readlinkSync(`/proc/${pid}/fd/${name}`)) ?? [];
    } catch {
      return []; // Closed meanwhile.
    }
  });
}

/** Returns once a plain Node, which gets the signal afterwards, has opened its debugger. */
async function signalled(pid: number): Promise<void> {
  const node = spawn(process.execPath, ["-e", "console.log(1); setInterval(() => {}, 1000)"], {
    env: { ...plainEnvironment(), ...ANY_PORT },
  });
  const said = collect(node);
  try {
    await until("plain Node runs", () => said.out !== "");
    process.kill(pid, "SIGUSR1");
    node.kill("SIGUSR1");
    await until("plain Node opens its debugger", () => said.err.includes("Debugger listening"));
    // Twice the way of the first signal.
    process.kill(pid, "SIGUSR1");
    const other = portsOf(node.pid!);
    assert.equal(other.length, 1, "the test sees a debugger's port");
  } finally {
    node.kill("SIGKILL");
  }
}

describe("Node's debugger", function () {
  this.timeout(120_000);
  let folder: string;
  let daemon: DaemonProcess;
  const children: ChildProcess[] = [];
  const started = (child: ChildProcess): ChildProcess => {
    children.push(child);
    return child;
  };

  before(async function () {
    if (process.platform !== "linux") this.skip();
    folder = mkdtempSync(join(tmpdir(), "svc-debugger-"));
    daemon = await DaemonProcess.started({ environment: ANY_PORT });
  });
  after(async () => {
    for (const child of children) child.kill("SIGKILL");
    await daemon?.dispose();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  });

  async function staysClosed(pid: number): Promise<void> {
    const before = portsOf(pid);
    await signalled(pid);
    assert.ok(isAlive(pid), "it goes on");
    assert.deepEqual(portsOf(pid), before);
  }

  it("isn't opened in the daemon by a signal", async () => {
    await staysClosed(daemon.pid);
    const status = await daemon.client().result("daemon_status", {});
    assert.equal(status.pid, daemon.pid);
  });

  it("isn't opened by a signal in the commands that go on", async () => {
    const home = daemon.home;
    await run(["group", "create", "A"], { home });
    const commands: { args: string[]; input?: string; shown: RegExp }[] = [
      { args: ["tail", "--follow"], shown: /A/u },
      {
        args: ["mcp"],
        input: `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "x", version: "1" } } })}\n`,
        shown: /serverInfo/u,
      },
      {
        args: ["account-service", "--folder", join(folder, "account"), "--port", String(await freePort())],
        shown: /http/u,
      },
      { args: ["up", "--home", join(folder, "up"), "--port", "0"], shown: /web/u },
    ];
    for (const { args, input, shown } of commands) {
      const child = started(start(args, { home, env: ANY_PORT }));
      const said = collect(child);
      if (input !== undefined) child.stdin?.write(input);
      if (args[0] === "tail") await run(["send", "hello A", "--to", "user"], { home });
      await until(`svc ${args.join(" ")} works`, () => {
        assert.equal(child.exitCode, null, said.err);
        return shown.test(said.out);
      });
      await staysClosed(child.pid!);
      assert.doesNotMatch(said.err, /debugger|inspector/iu, args.join(" "));
    }
  });

  it("isn't opened by a signal in a hook that waits for an answer", async () => {
    const [socket, fields] = [join(folder, "socket"), join(folder, "fields")];
    writeFileSync(fields, "Content-Type: application/json\n");
    const server = createServer().listen(socket);
    try {
      await once(server, "listening");
      const asked = once(server, "connection");
      const hook = started(
        spawn(process.execPath, [join(DIST, "hook.cjs"), "decide", socket, fields], {
          env: { ...plainEnvironment(), ...ANY_PORT },
        }),
      );
      await asked;
      await staysClosed(hook.pid!);
    } finally {
      server.close();
    }
  });

  it("isn't left open, and isn't inherited, when the environment asks every Node for one", async () => {
    const asking = { NODE_OPTIONS: "--inspect=127.0.0.1:0 --max-old-space-size=512" };
    const inherited = await DaemonProcess.started({ environment: asking });
    try {
      const [, port] = /Debugger listening on ws:\/\/127\.0\.0\.1:(\d+)/u.exec(inherited.output) ?? [];
      assert.ok(port, inherited.output);
      assert.ok(!portsOf(inherited.pid).includes(Number(port)));
    } finally {
      await inherited.dispose();
    }
    const home = join(folder, "home");
    const ran = await run(["daemon", "start", "--port", "0", "--json"], { home, env: asking });
    try {
      assert.equal(ran.code, 0, ran.err);
      const { pid } = envelope<{ pid: number }>(ran).result;
      const environment = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
      assert.ok(environment.includes("NODE_OPTIONS=--max-old-space-size=512"));
    } finally {
      await run(["daemon", "stop"], { home });
    }
  });
});
