/** `svc account-service`: the service as a process. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { RealClock } from "../platform/real-clock.ts";
import { RealFiles } from "../platform/real-files.ts";
import { openLog } from "../platform/real-log.ts";
import { RealRandom } from "../platform/real-random.ts";
import { type RunningService, startService } from "./service.ts";
import { type SettingsOptions, settingsOf } from "./settings.ts";

export interface Output {
  line(text: string): void;
  note(text: string): void;
}

/** Runs the service until a signal stops it. Answers the exit code. */
export async function serve(options: SettingsOptions, out: Output): Promise<number> {
  const settings = settingsOf(options, process.env);
  mkdirSync(settings.folder, { recursive: true, mode: 0o700 });
  const clock = new RealClock();
  const log = openLog(new RealFiles(), clock, join(settings.folder, "account.log"));
  let running: RunningService | null = null;
  const ended = new Promise<void>((resolve) => {
    const stop = (): void => resolve();
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, stop);
  });
  try {
    running = await startService(settings, { clock, random: new RealRandom(), log });
    log.info("started", { port: running.port, store: running.store.kind });
    out.line(`The account service is at ${settings.origin}`);
    if (settings.developmentLogin)
      out.line("Anybody on this machine can sign in under any name (ALLOW_DEV_LOGIN).");
    await ended;
    await running.stop();
    log.info("stopped");
    return 0;
  } finally {
    log.close();
  }
}
