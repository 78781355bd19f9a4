/**
 * The exhibit's listener: separate from the Web listener, off by default, only for reading named
 * Groups.
 */

import type { ListenerNames } from "../../../platform/http/site.ts";
import { errorFields, type Log } from "../../../platform/log.ts";
import { Refusal } from "../../../shared/errors.ts";
import type { ExhibitControl } from "./access-handlers.ts";
import { type WebApp, WebListener, type WebListenerOptions } from "./web-listener.ts";

export interface ExhibitOptions
  extends Pick<WebListenerOptions, "network" | "clock" | "log" | "manualOrigin" | "tls"> {
  app(names: ListenerNames, groups: readonly string[]): Promise<WebApp>;
}

const GRACE_MS = 500;

export class Exhibit implements ExhibitControl {
  readonly #options: ExhibitOptions;
  #listener: WebListener | null = null;

  constructor(options: ExhibitOptions) {
    this.#options = options;
  }

  get origin(): string | null {
    return this.#listener?.origin ?? null;
  }

  async open(
    host: string,
    port: number,
    groups: readonly string[],
  ): Promise<{ origin: string; port: number }> {
    await this.close();
    const options = this.#options;
    try {
      this.#listener = await WebListener.open({
        ...options,
        host,
        port,
        app: (names) => options.app(names, groups),
      });
    } catch (error) {
      options.log.warn("exhibit", errorFields(error));
      const code = (error as NodeJS.ErrnoException).code ?? "error";
      throw new Refusal("conflict", {
        specifics: `The exhibit can't listen on ${host} port ${port} (${code}).`,
        details: { reason: code },
        cause: error,
      });
    }
    return { origin: this.#listener.origin, port: this.#listener.names.port };
  }

  async close(): Promise<void> {
    const listener = this.#listener;
    this.#listener = null;
    await listener?.close(GRACE_MS);
  }
}

/** Opens what the settings say. A problem is logged, and `exhibit_show` reports it. */
export async function restoreExhibit(
  exhibit: Exhibit,
  stored: { host: string; port: number; groups: readonly string[] } | null,
  log: Log,
): Promise<void> {
  if (stored === null) return;
  try {
    await exhibit.open(stored.host, stored.port, stored.groups);
  } catch (error) {
    log.warn("exhibit", errorFields(error));
  }
}
