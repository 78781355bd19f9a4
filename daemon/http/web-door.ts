/** The Web listener of one run. The daemon serves its local socket without it too, and can say why it isn't there. */
import { errorFields } from "../platform/log.ts";
import { WebListener, type WebListenerOptions } from "./web-listener.ts";

export class WebDoor {
  readonly #options: WebListenerOptions;
  #listener: WebListener | null = null;
  #trouble: string | null = null;

  constructor(options: WebListenerOptions) {
    this.#options = options;
  }

  /** Where a browser on this machine reaches it; null when it is closed. */
  get origin(): string | null {
    return this.#listener?.origin ?? null;
  }

  /** For the health checks. `exposed`: other machines reach it, and what they send isn't encrypted. */
  get health(): { origin: string | null; exposed: boolean; trouble: string | null } {
    const { tls, host } = this.#options;
    return { origin: this.origin, exposed: tls === null && !isLoopback(host), trouble: this.#trouble };
  }

  /** Never rejects: `svc doctor` and `svc open` say what is wrong. */
  async open(): Promise<void> {
    const { host, port, log } = this.#options;
    try {
      this.#listener = await WebListener.open(this.#options);
    } catch (error) {
      this.#trouble = `${(error as NodeJS.ErrnoException).code ?? "error"} on ${host} port ${port}`;
      log.warn("web listener", errorFields(error));
    }
  }

  /** Resolves when what is under way has ended, at the latest after `graceMs`. */
  async close(graceMs: number): Promise<void> {
    await this.#listener?.close(graceMs);
  }
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(?:\.\d{1,3}){3}$/.test(host);
}
