/** Starts the daemon so that it outlives the window, and stops it. */
import { execFile } from "node:child_process";
import { homedir } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { isAlive } from "../../client/process-state.ts";
import type { DaemonLink, DaemonStatus } from "./link.ts";
import type { Program } from "./program.ts";

/** `svc daemon start` gives up earlier by itself. */
const START_MS = 60_000;
const STOP_MS = 30_000;
const ANSWER_MS = 60_000;
const LOOK_AGAIN_MS = 25;

/**
 * Returns once a daemon answers, whoever started it. If its usual port is taken, it gets another
 * one. Throws the program's own words.
 */
export async function startDaemon(link: DaemonLink, program: Program): Promise<DaemonStatus> {
  const usual = await attempt(program, ["daemon", "start", "--home", link.home]);
  // Two windows may start at once, and one of them may find the other's daemon.
  if (usual !== null && link.status === null) {
    const other = await attempt(program, ["daemon", "start", "--home", link.home, "--port", "0"]);
    if (other !== null && link.status === null) throw new Error(usual);
  }
  return link.online(ANSWER_MS);
}

/** What the program says when it fails; null when it succeeds. */
function attempt({ command, args, environment }: Program, words: readonly string[]): Promise<string | null> {
  return new Promise((resolve) => {
    execFile(
      command,
      [...args, ...words],
      {
        cwd: homedir(),
        env: environment,
        timeout: START_MS,
        windowsHide: true,
        shell: command.endsWith(".cmd"),
      },
      (error, _stdout, stderr) => {
        resolve(error === null ? null : stderr.trim() || error.message);
      },
    );
  });
}

/** Returns once the daemon's process is gone. Throws when it isn't in time. */
export async function stopDaemon(link: DaemonLink): Promise<void> {
  const { pid } = await link.client.result("daemon_stop", {});
  for (const asked = Date.now(); isAlive(pid); await delay(LOOK_AGAIN_MS))
    if (Date.now() - asked > STOP_MS) throw new Error(`The daemon (process ${pid}) is still stopping.`);
}
