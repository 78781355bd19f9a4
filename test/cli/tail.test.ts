/** `svc tail -f` over restarts of the daemon, and readers that stop. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { DaemonProcess, plainEnvironment } from "../support/daemon-process.ts";
import { until } from "../support/until.ts";
import { collect, run, SVC, start } from "./svc.ts";

describe("svc tail", () => {
  let daemon: DaemonProcess;
  let groupId: string;

  beforeEach(async () => {
    daemon = await DaemonProcess.started();
    groupId = (await daemon.client().result("group_create", { title: "Tail" })).group_id;
  });
  afterEach(() => daemon.dispose());

  async function send(text: string): Promise<string> {
    const { event } = await daemon.client().result("send", { group_id: groupId, to: ["user"], text });
    return event.id;
  }

  /** Ids of the events that a following process has printed. */
  function ids(out: string): string[] {
    return out
      .split("\n")
      .slice(0, -1)
      .map((line) => (JSON.parse(line) as { id: string }).id);
  }

  it("follows without gap or duplicate over restarts and kills of the daemon", async () => {
    const sent = [await send("before")];
    const child = start(["tail", "-f", "--json", "--group", groupId], { home: daemon.home });
    const ran = collect(child);
    await until("the first event", () => ids(ran.out).length === 1);
    for (const end of ["stop", "kill", "kill"] as const) {
      sent.push(await send(`live before ${end}`));
      await daemon[end]();
      await daemon.start();
      sent.push(await send(`after ${end}`), await send(`again after ${end}`));
    }
    await until(
      `${sent.length} events`,
      () => ids(ran.out).length >= sent.length || child.exitCode !== null,
      60_000,
    ).catch((error: unknown) => {
      throw new Error(`${ids(ran.out).length} of ${sent.length} came; it said: ${ran.err}`, { cause: error });
    });
    assert.equal(child.exitCode, null, ran.err);
    child.kill("SIGINT");
    await once(child, "close");
    assert.equal(child.exitCode, 130);
    assert.deepEqual(ids(ran.out), sent);
    assert.match(ran.err, /can't reach the daemon[\s\S]*connected again/);
  });

  it("follows a Group from its very beginning", async () => {
    const child = start(["tail", "-f", "-n", "0", "--all", "--json", "--group", groupId], {
      home: daemon.home,
    });
    const ran = collect(child);
    // Nothing that tells when it follows: what comes later must come, once.
    const sent: string[] = [];
    await until("the first event", async () => {
      sent.push(await send("x"));
      return ran.out !== "";
    });
    await until("the last event", () => ids(ran.out).at(-1) === sent.at(-1));
    const seen = ids(ran.out);
    assert.deepEqual(seen, sent.slice(-seen.length));
    child.kill("SIGINT");
    await once(child, "close");
  });

  it("is quiet when its reader has enough", async () => {
    for (let count = 0; count < 40; count++) await send("x".repeat(10_000));
    const command = `"${process.execPath}" "${SVC}" tail -n 200 --group ${groupId} | head -1; echo "\${PIPESTATUS[0]}"`;
    const child = spawn("bash", ["-c", command], { env: { ...plainEnvironment(), SVC_HOME: daemon.home } });
    const ran = collect(child);
    await once(child, "close");
    assert.equal(ran.err, "");
    assert.deepEqual(ran.out.trim().split("\n").slice(1), ["0"]);
  });

  it("stops at the first refusal, and says so", async () => {
    const ran = await run(["tail", "-f", "--group", "g_000000000000"], { home: daemon.home });
    assert.equal(ran.code, 1);
    assert.match(ran.err, /no such Group/);
  });
});
