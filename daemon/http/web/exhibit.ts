/**
 * The exhibit's listener: separate from the Web listener, off by default, only for reading named
 * Groups.
 */

import type { ListenerNames } from "../../../platform/http/site.ts";
import { errorFields, type Log } from "../../../platform/log.ts";
import { Refusal } from "../../../shared/errors.ts";
import { quotedName } from "../../../shared/foreign-text.ts";
import { type WebApp, WebListener, type WebListenerOptions } from "./web-listener.ts";

/** The listener that `exhibit_set` controls. */
export interface ExhibitControl {
  readonly origin: string | null;
  /**
   * Listens there for these Groups instead of at the earlier address. Rejects with a Refusal, and
   * stays where it is, if it can't.
   */
  open(host: string, port: number, groups: readonly string[]): Promise<{ origin: string; port: number }>;
  close(): Promise<void>;
}

export interface ExhibitOptions
  extends Pick<
    WebListenerOptions,
    "network" | "clock" | "log" | "manualOrigin" | "tls" | "most" | "descriptors"
  > {
  app(names: ListenerNames, groups: readonly string[]): Promise<WebApp>;
}

const GRACE_MS = 500;

interface Place {
  host: string;
  port: number;
  groups: readonly string[];
}

export class Exhibit implements ExhibitControl {
  readonly #options: ExhibitOptions;
  #open: { listener: WebListener; place: Place } | null = null;

  constructor(options: ExhibitOptions) {
    this.#options = options;
  }

  get origin(): string | null {
    return this.#open?.listener.origin ?? null;
  }

  async open(
    host: string,
    port: number,
    groups: readonly string[],
  ): Promise<{ origin: string; port: number }> {
    const before = this.#open;
    // Two listeners can't share an address: there the earlier one closes first, and opens again
    // after a failure.
    const isSame = before?.place.host === host && before.listener.names.port === port;
    if (isSame) await this.close();
    try {
      const listener = await this.#listen({ host, port, groups });
      if (!isSame) await this.close();
      this.#open = { listener, place: { host, port: listener.names.port, groups } };
      return { origin: listener.origin, port: listener.names.port };
    } catch (error) {
      const { log } = this.#options;
      log.warn("exhibit", errorFields(error));
      if (isSame && before !== null) await this.#reopen(before.place);
      const code = (error as NodeJS.ErrnoException).code ?? "error";
      throw new Refusal("conflict", {
        specifics: `The exhibit can't listen on ${quotedName(host)} port ${port} (${code}).`,
        remedy: "Choose an address of this machine and a port that is free.",
        details: { reason: code },
        cause: error,
      });
    }
  }

  async close(): Promise<void> {
    const open = this.#open;
    this.#open = null;
    await open?.listener.close(GRACE_MS);
  }

  async #reopen(place: Place): Promise<void> {
    try {
      this.#open = { listener: await this.#listen(place), place };
    } catch (error) {
      this.#options.log.warn("exhibit", errorFields(error));
    }
  }

  #listen({ host, port, groups }: Place): Promise<WebListener> {
    const options = this.#options;
    return WebListener.open({ ...options, host, port, app: (names) => options.app(names, groups) });
  }
}

/** Shows what the settings say, or nothing. A problem is logged, and `exhibit_show` reports it. */
export async function restoreExhibit(
  exhibit: ExhibitControl,
  stored: { host: string; port: number; groups: readonly string[] } | null,
  log: Log,
): Promise<void> {
  if (stored === null) return exhibit.close();
  try {
    await exhibit.open(stored.host, stored.port, stored.groups);
  } catch (error) {
    log.warn("exhibit", errorFields(error));
  }
}
