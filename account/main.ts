/** `svc account-service`: the service as a process, and its operator's commands. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { timestamp } from "../platform/clock.ts";
import { realDescriptors } from "../platform/descriptors.ts";
import { errorCode, exhaustedRefusal } from "../platform/durable.ts";
import { RealHttpClient } from "../platform/http/real-client.ts";
import { RealClock } from "../platform/real-clock.ts";
import { RealFiles } from "../platform/real-files.ts";
import { openLog } from "../platform/real-log.ts";
import { RealRandom } from "../platform/real-random.ts";
import { type ErrorBody, Refusal } from "../shared/errors.ts";
import { ENVIRONMENT } from "../shared/names.ts";
import { Operator, problemsOf } from "./operator.ts";
import { type Platform, startService } from "./service.ts";
import { knowsAddresses, type Settings, type SettingsOptions, settingsOf } from "./settings.ts";
import { moveStore } from "./store/move.ts";
import { StoreProblem } from "./store/problem.ts";
import { hasStore, isUnavailable, notedOrigin, openStore } from "./store/store.ts";

export interface Output {
  line(text: string): void;
  note(text: string): void;
}

/** What an operation answers. An error of this bundle means nothing to the caller's. */
export type Answer<Result> = { ok: true; result: Result } | { ok: false; error: ErrorBody };

/** What went wrong, for people, if they can mend it; the error itself goes on otherwise. */
function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  const specifics = error instanceof Error ? error.message : "";
  if (error instanceof StoreProblem)
    return new Refusal("conflict", { specifics, remedy: error.remedy, cause: error });
  const exhausted = exhaustedRefusal(error);
  if (exhausted !== null) return exhausted;
  const code = errorCode(error) ?? "";
  // What the system says about a file has a path.
  const { path } = error as NodeJS.ErrnoException;
  if (path !== undefined)
    return new Refusal("invalid_args", {
      specifics: `${path} can't be used (${code}).`,
      remedy: "Choose another --folder, or give yourself write access.",
      cause: error,
    });
  if (/^SQLITE_(?:NOTADB|CORRUPT)/u.test(code)) {
    return new Refusal("storage_failed", {
      specifics: "The embedded database is damaged, or isn't one.",
      remedy: "Restore a backup (docs/account-service.md).",
      cause: error,
    });
  }
  if (isUnavailable(error)) {
    return new Refusal("storage_failed", {
      specifics: "The database can't be used.",
      remedy: code.startsWith("SQLITE_")
        ? "Check the disk of its folder, and that you may write there."
        : `Check that it runs, and its address in --database or ${ENVIRONMENT.accountDatabase}.`,
      cause: error,
    });
  }
  throw error;
}

/** Runs `work` with the log of the service's folder. */
async function withPlatform<Result>(
  settings: Settings,
  work: (platform: Platform) => Promise<Result>,
): Promise<Result> {
  mkdirSync(settings.folder, { recursive: true, mode: 0o700 });
  const clock = new RealClock();
  const log = openLog(new RealFiles(), clock, join(settings.folder, "account.log"));
  const http = new RealHttpClient({ clock });
  try {
    return await work({
      clock,
      random: new RealRandom(),
      log,
      http,
      descriptors: realDescriptors(process.platform),
    });
  } finally {
    http.close();
    log.close();
  }
}

/** Runs the service until a signal stops it. Answers the exit code. */
export async function serve(options: SettingsOptions, out: Output): Promise<number> {
  try {
    return await serveUntilEnded(settingsOf(options, process.env), out);
  } catch (error) {
    out.note(`svc: ${refusalOf(error).message}`);
    return 1;
  }
}

async function serveUntilEnded(settings: Settings, out: Output): Promise<number> {
  // A signal during the start stops the service as soon as it can stop in order.
  const ended = new Promise<void>((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => resolve());
  });
  return withPlatform(settings, async (platform) => {
    const running = await startService(settings, platform);
    platform.log.info("started", { port: running.port, store: running.store.kind });
    const first = await new Operator({ store: running.store, settings, ...platform }).firstInvitation();
    out.line(`The account service is at ${settings.origin}`);
    if (first !== null) out.line(`The first member becomes its administrator. One-time link: ${first}`);
    for (const problem of problemsOf(settings)) out.note(`svc: ${problem}`);
    if (!knowsAddresses(settings))
      out.note(
        "svc: All requests seem to come from the proxy that serves HTTPS. Say with --proxies how many there are.",
      );
    if (settings.developmentLogin)
      out.line("Anybody on this machine can sign in under any name (ALLOW_DEV_LOGIN).");
    await ended;
    await running.stop();
    platform.log.info("stopped");
    return 0;
  });
}

/** Does something at the store, beside the running service or without it. */
export function operate<Result>(
  options: SettingsOptions,
  work: (operator: Operator) => Promise<Result>,
): Promise<Answer<Result>> {
  return answered(async () => {
    const settings = settingsOf(options, process.env);
    const { folder, database } = settings;
    requireStore({ folder, database });
    return withPlatform(settings, async (platform) => {
      const store = await openStore({ folder, database, log: platform.log });
      try {
        const isNamed = options.origin !== undefined || options.port !== undefined;
        const origin = (isNamed ? null : await notedOrigin(store.db)) ?? settings.origin;
        return await work(new Operator({ store, settings: { ...settings, origin }, ...platform }));
      } finally {
        await store.close();
      }
    });
  });
}

/** Moves the folder's embedded database into an empty PostgreSQL. */
export function move(options: SettingsOptions): Promise<Answer<{ rows: number }>> {
  return answered(async () => {
    const settings = settingsOf(options, process.env);
    const { folder, database } = settings;
    if (database === null) {
      throw new Refusal("invalid_args", {
        specifics: "No PostgreSQL is named.",
        remedy: `Give its address with --database or ${ENVIRONMENT.accountDatabase}.`,
      });
    }
    requireStore({ folder, database: null });
    return withPlatform(settings, async ({ clock, log }) => {
      const from = await openStore({ folder, database: null, log });
      try {
        const to = await openStore({ folder, database, log });
        try {
          return { rows: await moveStore(from, to, timestamp(clock)) };
        } finally {
          await to.close();
        }
      } finally {
        await from.close();
      }
    });
  });
}

async function answered<Result>(work: () => Promise<Result>): Promise<Answer<Result>> {
  try {
    return { ok: true, result: await work() };
  } catch (error) {
    return { ok: false, error: refusalOf(error).body() };
  }
}

/** A mistyped folder isn't a new service. */
function requireStore(where: Parameters<typeof hasStore>[0]): void {
  if (hasStore(where)) return;
  throw new Refusal("not_found", {
    specifics: `There is no account service in ${where.folder}.`,
    remedy: "Name its folder with --folder, or start it with 'svc account-service'.",
  });
}
