import type { ErrorBody } from "../shared/errors.ts";

/** No daemon answers at this Home. Not one of the catalogue's errors: those are what a daemon says. */
export class DaemonUnreachable extends Error {
  readonly home: string;
  /** What is wrong, in a sentence. */
  readonly problem: string;
  readonly remedy: string;

  constructor(
    home: string,
    reason: string,
    cause?: unknown,
    problem = `No daemon answers for the Home ${home} (${reason}).`,
    remedy = "Start it with 'svc daemon start', or 'svc up' in this terminal.",
  ) {
    super(`${problem} ${remedy}`, cause === undefined ? undefined : { cause });
    this.name = "DaemonUnreachable";
    this.home = home;
    this.problem = problem;
    this.remedy = remedy;
  }

  /** The form of an error for ports that can't end with an exit code. */
  body(): { code: string; message: string; details: Record<string, unknown> } {
    return { code: "daemon_unreachable", message: this.message, details: {} };
  }
}

/** A daemon is there and doesn't answer: it is frozen, or the machine is. What was asked may have been done. */
export class DaemonSilent extends DaemonUnreachable {
  /** `pid` is null when it can't be told. */
  constructor(home: string, pid: number | null) {
    const end = pid === null ? "end its process" : `end it with 'kill -9 ${pid}'`;
    super(
      home,
      "",
      undefined,
      `The daemon${pid === null ? "" : ` (process ${pid})`} doesn't answer.`,
      `Try again. If it still doesn't answer, look at 'svc daemon logs', ${end} and start it with 'svc daemon start'. Nothing that it accepted is lost.`,
    );
    this.name = "DaemonSilent";
  }
}

/** A refusal as the daemon worded it; its code may be newer than this program. */
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
