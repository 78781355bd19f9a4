/**
 * `/mcp`: MCP as Streamable HTTP (core-model.md, "Ports"). A launch token as bearer and nothing else lets in, on every request, and a session
 * belongs to the Actor that opened it. The MCP server itself comes from outside: this room knows only sessions.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { ActorCaller, Dispatcher, Outcome } from "../operations/dispatcher.ts";
import type { Clock, Timer } from "../platform/clock.ts";
import type { Random } from "../platform/random.ts";
import { bearerOf } from "./authentication.ts";
import { readJson } from "./body.ts";
import type { Exchange } from "./exchange.ts";
import type { LocalCallers } from "./local-caller.ts";

/** One MCP session's transport. */
export interface McpTransport {
  handle(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void>;
  close(): Promise<void>;
}

/** How an MCP server reaches the daemon as its Actor. */
export interface McpPort {
  groupId: string;
  call(operation: string, input: unknown, options: { signal: AbortSignal }): Promise<Outcome>;
}

export type OpenMcp = (port: McpPort, sessionId: string) => Promise<McpTransport>;

export interface McpDependencies {
  dispatcher: Dispatcher;
  callers: Pick<LocalCallers, "actor">;
  clock: Clock;
  random: Random;
  requestIds: { next(): string };
  openMcp: OpenMcp;
  /** Holds the Actor's session open; the result ends it. */
  lifeline(caller: ActorCaller, ended: () => void): () => void;
}

interface Session {
  caller: ActorCaller;
  transport: McpTransport;
  release: () => void;
  idle: Timer;
  /** Requests under way; an answer that stays open counts. */
  busy: number;
}

const SESSION_HEADER = "mcp-session-id";

export class McpSessions {
  readonly #deps: McpDependencies;
  readonly #sessions = new Map<string, Session>();

  constructor(deps: McpDependencies) {
    this.#deps = deps;
  }

  async serve(exchange: Exchange): Promise<void> {
    const { request, response } = exchange;
    const token = bearerOf(request);
    if (token === null) throw new Refusal("unauthenticated");
    const identified = this.#deps.callers.actor(token, null);
    if (identified instanceof Refusal) throw identified;
    if (identified.kind !== "actor") throw new Refusal("permission_denied");
    const body = request.method === "POST" ? await readJson(request, this.#deps.clock) : undefined;
    const named = request.headers[SESSION_HEADER];
    if (typeof named === "string") {
      const session = this.#sessions.get(named);
      if (session === undefined || !isSameActor(session.caller, identified)) throw new Refusal("not_found");
      await this.#handle(named, session, request, response, body);
    } else if (request.method === "POST" && isInitialize(body)) {
      const [id, session] = await this.#open(identified);
      await this.#handle(id, session, request, response, body);
    } else throw new Refusal("invalid_request", { specifics: "The request names no MCP session." });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sessions.keys()].map((id) => this.#end(id)));
  }

  async #open(identified: ActorCaller): Promise<[string, Session]> {
    if (this.#sessions.size >= LIMITS.mcp.sessions) {
      throw new Refusal("overloaded", { details: { sessions: LIMITS.mcp.sessions } });
    }
    const id = Buffer.from(this.#deps.random.bytes(24)).toString("base64url");
    const caller: ActorCaller = { ...identified, session: id };
    const release = this.#deps.lifeline(caller, () => void this.#end(id));
    const port: McpPort = {
      groupId: caller.group_id,
      call: async (operation, input, { signal }) =>
        this.#deps.dispatcher.call(operation, input, { caller, signal, requestId: this.#deps.requestIds.next() }),
    };
    try {
      const transport = await this.#deps.openMcp(port, id);
      const session: Session = { caller, transport, release, idle: this.#idle(id), busy: 0 };
      this.#sessions.set(id, session);
      return [id, session];
    } catch (error) {
      release();
      throw error;
    }
  }

  async #handle(
    id: string,
    session: Session,
    request: IncomingMessage,
    response: ServerResponse,
    body: unknown,
  ): Promise<void> {
    session.busy += 1;
    session.idle.cancel();
    response.once("close", () => {
      session.busy -= 1;
      if (session.busy > 0 || this.#sessions.get(id) !== session) return;
      session.idle = this.#idle(id);
    });
    await session.transport.handle(request, response, body);
    if (request.method === "DELETE") await this.#end(id);
  }

  #idle(id: string): Timer {
    return this.#deps.clock.after(LIMITS.mcp.sessionIdleSeconds * 1000, () => void this.#end(id), {
      background: true,
    });
  }

  async #end(id: string): Promise<void> {
    const session = this.#sessions.get(id);
    if (session === undefined) return;
    this.#sessions.delete(id);
    session.idle.cancel();
    session.release();
    await session.transport.close();
  }
}

function isSameActor(one: ActorCaller, other: ActorCaller): boolean {
  return (
    one.group_id === other.group_id && one.actor_id === other.actor_id && one.generation === other.generation
  );
}

function isInitialize(body: unknown): boolean {
  return typeof body === "object" && body !== null && (body as { method?: unknown }).method === "initialize";
}
