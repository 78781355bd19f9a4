/**
 * The Actor's session of one server process: what is handed to it and not acknowledged is handed out again when the session ends. A
 * connection held open tells the daemon that this process lives; it is opened with the first read of the Inbox.
 */
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { DaemonClient, type Envelope } from "../daemon/client/client.ts";
import { launchToken } from "../daemon/client/identity.ts";
import { Refusal } from "../shared/errors.ts";
import { ENVIRONMENT } from "../shared/names.ts";
import type { ActorPort } from "./call.ts";

const LIFELINE = "/session";

export class ActorSession implements ActorPort {
  #client: DaemonClient | null = null;
  #group: Promise<string> | null = null;
  #lifeline: IncomingMessage | null = null;
  readonly #gone = new AbortController();
  readonly #home: string;

  constructor(home: string) {
    this.#home = home;
  }

  /** Throws Refusal without a launch identity: nobody speaks as an Actor without its token. */
  #daemon(): DaemonClient {
    if (this.#client) return this.#client;
    const token = launchToken();
    if (token === null)
      throw new Refusal("invalid_launch_token", {
        specifics: `This server has no launch identity: set ${ENVIRONMENT.actorFile} as 'svc actor mcp-config' prints it.`,
      });
    this.#client = new DaemonClient(this.#home, token);
    this.#client.session = randomUUID();
    return this.#client;
  }

  async group(): Promise<string> {
    this.#group ??= this.#daemon()
      .result("whoami", {})
      .then(({ actor }) => {
        if (actor) return actor.group_id;
        throw new Refusal("invalid_launch_token");
      });
    try {
      return await this.#group;
    } catch (error) {
      this.#group = null;
      throw error;
    }
  }

  async call(
    operation: string,
    input: unknown,
    { signal }: { signal: AbortSignal },
  ): Promise<Envelope<unknown>> {
    const client = this.#daemon();
    if (operation !== "inbox_read") return client.callByName(operation, input, { signal });
    await this.#hold(client);
    try {
      return await client.callByName(operation, input, {
        signal: AbortSignal.any([signal, this.#gone.signal]),
      });
    } finally {
      // Cancelled just when a batch came, perhaps while it was on its way: nobody will see it.
      if (signal.aborted) this.renew();
    }
  }

  /**
   * Ends the session and begins another. A later call of a session says that what it was handed arrived; this way the daemon hands out
   * again what didn't.
   */
  renew(): void {
    this.#lifeline?.destroy();
    this.#lifeline = null;
    if (this.#client) this.#client.session = randomUUID();
  }

  /** Opens the lifeline unless it is. */
  async #hold(client: DaemonClient): Promise<void> {
    if (this.#lifeline) return;
    const lifeline = await client.open(LIFELINE, {});
    this.#lifeline = lifeline;
    const ended = () => {
      if (this.#lifeline === lifeline) this.#lifeline = null;
    };
    lifeline.once("close", ended).on("error", ended).resume();
  }

  /** The client is gone: whoever waits for messages gives up. */
  endWaits(): void {
    this.#gone.abort();
  }

  close(): void {
    this.#lifeline?.destroy();
    this.#client?.close();
  }
}
