/**
 * The daemon as a process: signals, uncaught errors, the exit code. `assembly/` builds what it
 * runs.
 *
 * `SVC_HOME=... node --import tsx daemon/main.ts` runs it from the sources. `svc up` and `svc
 * daemon run` call `runUntilEnded`.
 */
import { existsSync, realpathSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { forgetHomeFile, type RunningDaemon, runDaemon } from "./assembly/daemon.ts";
import { type DaemonOptions, optionsFromEnvironment } from "./assembly/options.ts";

export { forgetHomeFile, runDaemon };

/** Runs until a signal or `daemon_stop` ends it; resolves with the exit code. */
export async function runUntilEnded(options: DaemonOptions): Promise<number> {
  let daemon: RunningDaemon | null = null;
  let code = 0;
  let asked: NodeJS.Signals | null = null;
  const stop = (signal: NodeJS.Signals): void => {
    asked = signal;
    void daemon?.stop();
  };
  const signals: NodeJS.Signals[] = ["SIGTERM", "SIGINT"];
  // A closed terminal sends a hangup. Under nohup there is none, and the signal stays ignored.
  if (process.stdout.isTTY) signals.push("SIGHUP");
  const ignore = (): void => {
    for (const signal of signals) process.off(signal, stop);
  };
  // From the beginning: a signal during the start stops the daemon as soon as it can stop in order.
  for (const signal of signals) process.on(signal, stop);
  const running = await runDaemon(options).catch((error: unknown) => {
    ignore();
    throw error;
  });
  daemon = running;
  if (asked !== null) void running.stop();
  const fail = (error: unknown): void => {
    code = 1;
    running.fail(error);
  };
  process.on("uncaughtException", fail).on("unhandledRejection", fail);
  await running.ended;
  ignore();
  process.off("uncaughtException", fail).off("unhandledRejection", fail);
  // Node aborts if it ends and can't reset a terminal that is gone. This process ends by the
  // signal, as it would have by default.
  if (asked === "SIGHUP") process.kill(process.pid, "SIGHUP");
  return code;
}

const entry = process.argv[1];
if (entry !== undefined && existsSync(entry) && pathToFileURL(realpathSync(entry)).href === import.meta.url) {
  // The launcher's duty otherwise: the signal would open Node's debugger.
  process.on("SIGUSR1", () => {});
  runUntilEnded(optionsFromEnvironment(process.env)).then(
    (code) => process.exit(code),
    (error: unknown) => {
      process.stderr.write(`svc: ${error instanceof Error ? error.message : String(error)}\n`);
      process.exit(1);
    },
  );
}
