import type { ErrorBody } from "../shared/errors.ts";
import { shellWords } from "../shared/quoting.ts";
import { resolveHome } from "./paths.ts";

/** A command of `svc` for this Home, as a line for a shell with this process's environment. */
export function commandLine(home: string, ...words: string[]): string {
  const named = home === resolveHome(process.env) ? [] : ["--home", home];
  return shellWords(["svc", ...words, ...named]);
}

/**
 * No daemon answers at this Home. This isn't an error of the catalogue, because those come from a
 * daemon.
 */
export class DaemonUnreachable extends Error {
  readonly home: string;
  /** What is wrong, in one sentence. */
  readonly problem: string;
  readonly remedy: string;
  /** A daemon may hold the Home: that this call didn't reach it doesn't mean that none runs. */
  readonly mayRun: boolean = false;

  constructor(
    home: string,
    reason: string,
    cause?: unknown,
    problem = `No daemon answers for the Home ${home} (${reason}).`,
    remedy = `Start it with: ${commandLine(home, "daemon", "start")}`,
  ) {
    super(`${problem} ${remedy}`, cause === undefined ? undefined : { cause });
    this.name = "DaemonUnreachable";
    this.home = home;
    this.problem = problem;
    this.remedy = remedy;
  }

  /** The form of this error for ports without an exit code. */
  body(): { code: string; message: string; details: Record<string, unknown> } {
    return { code: "daemon_unreachable", message: this.message, details: {} };
  }
}

/** This call failed because of a limit or an end, not because there is no daemon. */
export class DaemonOutOfReach extends DaemonUnreachable {
  override readonly mayRun = true;
}

/**
 * A daemon took the connection and closed it without an answer; `mayRun` if its process hasn't
 * ended.
 */
export function cutOff(home: string, code: string, cause: unknown, mayRun: boolean): DaemonUnreachable {
  const problem = `The daemon of the Home ${home} closed the connection without an answer (${code}).`;
  const remedy = `It may have ended, or have too many files and connections open. Look at its log (${commandLine(home, "daemon", "logs")}) and try again.`;
  const Failure = mayRun ? DaemonOutOfReach : DaemonUnreachable;
  return new Failure(home, code, cause, problem, remedy);
}

/** Nothing more may be opened here, so the daemon wasn't asked. */
export function exhausted(home: string, code: string, cause: unknown): DaemonOutOfReach {
  const problem = `Too many files and connections are open here to ask the daemon (${code}).`;
  return new DaemonOutOfReach(home, code, cause, problem, "Raise the limit (ulimit -n), or close some.");
}

/**
 * A daemon is there but doesn't answer, because it or the machine is frozen. It may have done what
 * was asked.
 */
export class DaemonSilent extends DaemonUnreachable {
  override readonly mayRun = true;

  /** `pid` is null if it isn't known. */
  constructor(home: string, pid: number | null) {
    const end = pid === null ? "end its process" : `end it with 'kill -9 ${pid}'`;
    super(
      home,
      "",
      undefined,
      `The daemon${pid === null ? "" : ` (process ${pid})`} doesn't answer.`,
      `Nothing that it accepted is lost. Try again. If it still doesn't answer, look at its log (${commandLine(home, "daemon", "logs")}), ${end}, and start it with: ${commandLine(home, "daemon", "start")}`,
    );
    this.name = "DaemonSilent";
  }
}

/** A refusal in the daemon's words. Its code may be newer than this program. */
export class RefusedByDaemon extends Error {
  readonly #body: ErrorBody;

  constructor(body: ErrorBody) {
    super(body.message);
    this.name = "RefusedByDaemon";
    this.#body = body;
  }

  body(): ErrorBody {
    return this.#body;
  }
}
