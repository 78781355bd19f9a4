/**
 * The Web listener of one run. The daemon serves its local socket even without it, and can say why
 * it is missing.
 */
import { errorFields } from "../../../platform/log.ts";
import { ERRORS } from "../../../shared/errors.ts";
import { WebListener, type WebListenerOptions } from "./web-listener.ts";

/** Why it couldn't listen, in one sentence, and what to do about it. */
export interface ListenTrouble {
  text: string;
  remedy: string;
}

export class WebService {
  readonly #options: WebListenerOptions;
  #listener: WebListener | null = null;
  #trouble: ListenTrouble | null = null;

  constructor(options: WebListenerOptions) {
    this.#options = options;
  }

  /** Where a browser on this machine reaches it; null when it is closed. */
  get origin(): string | null {
    return this.#listener?.origin ?? null;
  }

  /**
   * For the health checks. `exposed`: other machines reach it, and what they send isn't encrypted.
   */
  get health(): { origin: string | null; exposed: boolean; trouble: ListenTrouble | null } {
    const { tls, host } = this.#options;
    return { origin: this.origin, exposed: tls === null && !isLoopback(host), trouble: this.#trouble };
  }

  /** Never rejects: `svc doctor` and `svc open` say what is wrong. */
  async open(): Promise<void> {
    const { host, port, log } = this.#options;
    try {
      this.#listener = await WebListener.open(this.#options);
    } catch (error) {
      this.#trouble = troubleOf((error as NodeJS.ErrnoException).code ?? "error", host, port);
      log.warn("web listener", errorFields(error));
    }
  }

  /** Resolves when running requests have ended, at the latest after `graceMs`. */
  async close(graceMs: number): Promise<void> {
    await this.#listener?.close(graceMs);
  }
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(?:\.\d{1,3}){3}$/.test(host);
}

function troubleOf(code: string, host: string, port: number): ListenTrouble {
  const otherPort = "Start the daemon with another port: --port N, or --port 0 for any free one.";
  if (code === "EADDRINUSE")
    return { text: `Another program uses port ${port} of ${host} (${code}).`, remedy: otherPort };
  if (code === "EACCES")
    return { text: `You may not listen on port ${port} of ${host} (${code}).`, remedy: otherPort };
  if (["EADDRNOTAVAIL", "ENOTFOUND", "EAI_AGAIN", "EINVAL"].includes(code))
    return {
      text: `${host} isn't an address of this machine (${code}).`,
      remedy: "Start the daemon with one of its addresses: --host ADDRESS.",
    };
  if (code === "EMFILE" || code === "ENFILE")
    return { text: `Too many files are open (${code}).`, remedy: ERRORS.too_many_open_files.remedy };
  return {
    text: `It can't listen on port ${port} of ${host} (${code}).`,
    remedy: "Check --host, --port, --tls-cert and --tls-key, then start the daemon again.",
  };
}
