/**
 * The Actor's session of one server process. What it took and didn't acknowledge is delivered again
 * when the session ends. An open connection tells the daemon that this process lives. It opens when
 * the tools are listed, or else with the first read of the Inbox.
 */
import type { IncomingMessage } from "node:http";
import type { DaemonClient, Envelope } from "../client/client.ts";
import { launchToken } from "../client/identity.ts";
import { Refusal } from "../shared/errors.ts";
import { ENVIRONMENT } from "../shared/names.ts";
import type { ActorPort } from "./call.ts";

const SESSION_PATH = "/session";

/** Which Actor to act as, asked as the person who owns the Home. Throws Refusal for none. */
export type FindActor = (person: DaemonClient) => Promise<{ group_id: string; actor_id: string }>;

export class ActorSession implements ActorPort {
  #client: DaemonClient | null = null;
  #group: Promise<string> | null = null;
  #lease: IncomingMessage | null = null;
  readonly #gone = new AbortController();
  readonly #home: string;
  readonly #findActor: FindActor | null;

  constructor(home: string, findActor: FindActor | null) {
    this.#home = home;
    this.#findActor = findActor;
  }

  /**
   * Throws Refusal without a launch identity: no one can act as an Actor without its token. The
   * client is loaded when a tool needs it, because the start would wait for node:http.
   */
  async #daemon(): Promise<DaemonClient> {
    if (this.#client) return this.#client;
    const { DaemonClient } = await import("../client/client.ts");
    const token = await this.#token(DaemonClient);
    // Another call may have made one in the meantime.
    if (this.#client === null) {
      this.#client = new DaemonClient(this.#home, token);
      this.#client.session = crypto.randomUUID();
    }
    return this.#client;
  }

  /** An agent that svc started has its own identity, whatever its configuration names. */
  async #token(Client: typeof DaemonClient): Promise<string> {
    const own = launchToken();
    if (own !== null) return own;
    if (this.#findActor === null)
      throw new Refusal("invalid_launch_token", {
        specifics: `This server has no launch identity: set ${ENVIRONMENT.actorFile} as 'svc actor mcp-config' prints it.`,
      });
    const person = new Client(this.#home, null);
    try {
      const address = await this.#findActor(person);
      const { actor } = await person.result("actor_show", address);
      if (actor.runner !== "external")
        throw new Refusal("invalid_launch_token", {
          specifics: `svc itself runs ${actor.id}, so no other agent can act as it.`,
          remedy: "Name an Actor that you connect yourself, or add one: 'svc actor add NAME'.",
        });
      const { mcpServers } = await person.result("actor_mcp_config", address);
      const token = launchToken(mcpServers.svc.env);
      if (token === null) throw new Refusal("invalid_launch_token");
      return token;
    } finally {
      person.close();
    }
  }

  async group(): Promise<string> {
    this.#group ??= this.#daemon()
      .then((client) => client.result("whoami", {}))
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
    const client = await this.#daemon();
    if (operation !== "inbox_read") return client.callByName(operation, input, { signal });
    // Cancelled just when a batch came, perhaps on its way to the client, so it will never be seen.
    // This happens at once, because the next call may already be here.
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
   * Tells the daemon that the runtime knows our tools, so that it can be prompted, and from then on
   * that it is connected. If the daemon doesn't answer, it still delivers, only later.
   */
  async listed(): Promise<void> {
    try {
      const client = await this.#daemon();
      await client.result("tools_listed", {});
      await this.#hold(client);
    } catch {
      // As above.
    }
  }

  /**
   * Ends the session and starts another. A later call of the same session would mean that its
   * messages arrived. This way the daemon delivers again what didn't arrive.
   */
  renew(): void {
    this.#lease?.destroy();
    this.#lease = null;
    if (this.#client) this.#client.session = crypto.randomUUID();
  }

  /** Opens the lease of the current session unless it is open. */
  async #hold(client: DaemonClient): Promise<void> {
    while (!this.#lease) {
      const { session } = client;
      const lease = await client.open(SESSION_PATH, {});
      const ended = () => {
        if (this.#lease === lease) this.#lease = null;
      };
      lease.once("close", ended).on("error", ended).resume();
      // In the meantime another call may have opened one, or a cancellation may have ended the
      // session.
      if (this.#lease === null && client.session === session) this.#lease = lease;
      else lease.destroy();
    }
  }

  /** The client is gone: calls that wait for messages stop. */
  endWaits(): void {
    this.#gone.abort();
  }

  close(): void {
    this.#lease?.destroy();
    this.#client?.close();
  }
}
