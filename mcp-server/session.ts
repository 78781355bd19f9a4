/**
 * The Actor's session of one server process: what is handed to it and not acknowledged is handed out again when the session ends. A
 * connection held open tells the daemon that this process lives; it is opened with the first read of the Inbox.
 */
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { DaemonClient, type Envelope } from "../client/client.ts";
import { launchToken } from "../client/identity.ts";
import { Refusal } from "../shared/errors.ts";
import { ENVIRONMENT } from "../shared/names.ts";
import type { ActorPort } from "./call.ts";

const SESSION_PATH = "/session";

export class ActorSession implements ActorPort {
  #client: DaemonClient | null = null;
  #group: Promise<string> | null = null;
  #lease: IncomingMessage | null = null;
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
    // Cancelled just when a batch came, perhaps while it was on its way: nobody will see it. At once, for the next call may be here already.
    const renew = (): void => this.renew();
    signal.addEventListener("abort", renew, { once: true });
    try {
      await this.#hold(client);
      return await client.callByName(operation, input, {
        signal: AbortSignal.any([signal, this.#gone.signal]),
      });
    } finally {
      signal.removeEventListener("abort", renew);
    }
  }

  /**
   * Tells the daemon that the runtime knows our tools, so that it can be prompted. Outside of a launch there is nobody to tell, and a daemon
   * that doesn't answer hands over all the same, later.
   */
  async listed(): Promise<void> {
    let client: DaemonClient | undefined;
    try {
      const token = launchToken();
      if (token === null) return;
      client = new DaemonClient(this.#home, token);
      await client.result("tools_listed", {});
    } catch {
      // As above.
    } finally {
      client?.close();
    }
  }

  /**
   * Ends the session and begins another. A later call of a session says that what it was handed arrived; this way the daemon hands out
   * again what didn't.
   */
  renew(): void {
    this.#lease?.destroy();
    this.#lease = null;
    if (this.#client) this.#client.session = randomUUID();
  }

  /** Opens the lease of the present session unless it is open. */
  async #hold(client: DaemonClient): Promise<void> {
    while (!this.#lease) {
      const { session } = client;
      const lease = await client.open(SESSION_PATH, {});
      const ended = () => {
        if (this.#lease === lease) this.#lease = null;
      };
      lease.once("close", ended).on("error", ended).resume();
      // Another call may have opened one, or a cancellation ended the session meanwhile.
      if (this.#lease === null && client.session === session) this.#lease = lease;
      else lease.destroy();
    }
  }

  /** The client is gone: whoever waits for messages gives up. */
  endWaits(): void {
    this.#gone.abort();
  }

  close(): void {
    this.#lease?.destroy();
    this.#client?.close();
  }
}
