import type { ErrorBody } from "../../shared/errors.ts";

/** No daemon answers at this Home. Not one of the catalogue's errors: those are what a daemon says. */
export class DaemonUnreachable extends Error {
  readonly home: string;

  constructor(home: string, reason: string, cause?: unknown) {
    super(
      `No daemon answers for the Home ${home} (${reason}). Start it with 'svc daemon start', or 'svc up' in this terminal.`,
      cause === undefined ? undefined : { cause },
    );
    this.name = "DaemonUnreachable";
    this.home = home;
  }

  /** The form of an error for ports that can't end with an exit code. */
  body(): { code: string; message: string; details: Record<string, unknown> } {
    return { code: "daemon_unreachable", message: this.message, details: {} };
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
