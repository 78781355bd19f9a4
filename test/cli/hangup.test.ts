/** The daemon in a terminal that is closed. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { homePaths } from "../../client/paths.ts";
import { plainEnvironment, SVC } from "../support/daemon-process.ts";
import { envelope, run } from "./svc.ts";

const pty = createRequire(import.meta.url)("@lydell/node-pty") as typeof import("@lydell/node-pty");

describe("A daemon whose terminal is closed", () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "svc-hangup-"));
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  it("stops in order, by the signal, and leaves the Home free", async () => {
    const terminal = pty.spawn(process.execPath, [SVC, "up", "--port", "0"], {
      env: { ...plainEnvironment(), SVC_HOME: home },
      cols: 200,
    });
    const ended = new Promise<{ exitCode: number; signal?: number }>((resolve) => terminal.onExit(resolve));
    await new Promise<void>((resolve, reject) => {
      let text = "";
      terminal.onData((data) => {
        text += data;
        // The one-time link comes once everything is served.
        if (text.includes("http://")) resolve();
      });
      void ended.then(() => reject(new Error(`it ended: ${text}`)));
    });
    const running = envelope<{ pid: number }>(await run(["daemon", "status", "--json"], { home }));
    assert.equal(running.result.pid, terminal.pid);
    // The other side of the terminal goes: the kernel hangs up.
    (terminal as unknown as { destroy(): void }).destroy();
    assert.equal((await ended).signal, 1, "SIGHUP, not an abort");
    assert.match(readFileSync(homePaths(home).daemon.log, "utf8"), /"stopped"[^\n]*\n$/, "the last line");
    const next = await run(["daemon", "status", "--json"], { home });
    assert.equal(envelope<{ running: boolean }>(next).result?.running ?? false, false);
  });
});
