/**
 * The same server as Streamable HTTP at `/mcp`: a launch token as bearer and nothing else. The door before it has checked Host and Origin
 * (core-model.md, "Ports").
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Envelope } from "../daemon/client/client.ts";
import { type ErrorBody, Refusal } from "../shared/errors.ts";
import { LIMITS } from "../shared/limits.ts";
import { ToolCaller } from "./call.ts";
import type { DerivedTool } from "./derive.ts";
import { deriveTools } from "./derive.ts";
import { connect, streamableTransport } from "./sdk.ts";

/** The Actor of a live launch token. */
export interface McpIdentity {
  group_id: string;
  actor_id: string;
  generation: string;
}

export interface McpHttpDependencies {
  /** Null for a token that isn't valid (any more). */
  verify(token: string): McpIdentity | null;
  call(
    operation: string,
    input: unknown,
    as: McpIdentity & { session: string },
    signal: AbortSignal,
  ): Promise<Envelope<unknown>>;
  /** A stream that the client holds open keeps its session alive; the result is called at its end. */
  lifeline(as: McpIdentity & { session: string }): () => void;
  /** Runs once after so many milliseconds, unless cancelled. */
  after(milliseconds: number, run: () => void): { cancel(): void };
}

type StreamableTransport = Awaited<ReturnType<typeof streamableTransport>>;

interface Session {
  id: string;
  identity: McpIdentity;
  transport: StreamableTransport;
  expiry: { cancel(): void };
}

const BEARER = /^Bearer ([\x21-\x7e]{1,512})$/i;

function refuse(response: ServerResponse, refusal: Refusal): void {
  const error: ErrorBody = refusal.body();
  const body = JSON.stringify({ ok: false, error });
  response.writeHead(refusal.status, {
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(body),
    "cache-control": "no-store",
    ...(refusal.status === 401 ? { "www-authenticate": "Bearer" } : {}),
  });
  response.end(body);
}

function same(one: McpIdentity, other: McpIdentity): boolean {
  return (
    one.group_id === other.group_id && one.actor_id === other.actor_id && one.generation === other.generation
  );
}

/** Ends when the answer to the request that a call came with has nobody left to read it. */
const requestGone = new AsyncLocalStorage<AbortSignal>();

export class McpHttp {
  readonly #deps: McpHttpDependencies;
  /** Least recently used first. */
  readonly #sessions = new Map<string, Session>();
  #tools: DerivedTool[] | null = null;

  constructor(deps: McpHttpDependencies) {
    this.#deps = deps;
  }

  /** Serves one request to `/mcp`. Never throws a refusal: it answers it. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const token = BEARER.exec(request.headers.authorization ?? "")?.[1];
    if (token === undefined) {
      refuse(
        response,
        new Refusal("unauthenticated", { specifics: "/mcp takes an Actor's launch token as bearer." }),
      );
      return;
    }
    const named = request.headers["mcp-session-id"];
    const known = typeof named === "string" ? this.#sessions.get(named) : undefined;
    const identity = this.#deps.verify(token);
    if (identity === null) {
      refuse(response, new Refusal("invalid_launch_token"));
      return;
    }
    // A session of somebody else answers like none: the client initialises anew.
    const session =
      named === undefined
        ? await this.#open(identity)
        : known && same(known.identity, identity)
          ? known
          : null;
    if (session === null) {
      refuse(response, new Refusal("not_found", { specifics: "There is no such MCP session." }));
      return;
    }
    this.#touch(session);
    if (request.method === "GET" && named !== undefined) {
      const end = this.#deps.lifeline({ ...identity, session: session.id });
      response.once("close", end);
    }
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    await requestGone.run(gone.signal, () => session.transport.handleRequest(request, response));
    // A first request that wasn't an initialisation opened nothing.
    if (named === undefined && !this.#sessions.has(session.id)) await session.transport.close();
  }

  /** Ends the sessions of an Actor whose token is worth nothing any more. */
  revoke(identity: McpIdentity): void {
    for (const session of this.#sessions.values()) if (same(session.identity, identity)) this.#end(session);
  }

  close(): void {
    for (const session of this.#sessions.values()) this.#end(session);
  }

  /** A session that counts from its initialisation on. */
  async #open(identity: McpIdentity): Promise<Session> {
    const id = randomUUID();
    const as = { ...identity, session: id };
    this.#tools ??= deriveTools();
    const caller = new ToolCaller(this.#tools, {
      group: async () => identity.group_id,
      call: (operation, input, { signal }) => {
        const gone = requestGone.getStore();
        return this.#deps.call(operation, input, as, gone ? AbortSignal.any([signal, gone]) : signal);
      },
    });
    const transport = await streamableTransport(id, () => this.#keep(session));
    const session: Session = { id, identity, transport, expiry: { cancel: () => undefined } };
    await connect(caller, transport);
    const onclose = transport.onclose;
    transport.onclose = () => {
      this.#forget(session);
      onclose?.();
    };
    return session;
  }

  /** An Actor with many sessions loses its own oldest one, nobody else's. */
  #keep(session: Session): void {
    const all = [...this.#sessions.values()];
    const own = all.filter(({ identity }) => same(identity, session.identity));
    const crowded =
      own.length >= LIMITS.actorSession.perActor ? own : all.length >= LIMITS.mcp.sessions ? all : [];
    const [oldest] = crowded;
    if (oldest) this.#end(oldest);
    this.#touch(session);
    this.#sessions.set(session.id, session);
  }

  /** Moves a session to the end of the queue of those that may have to go. */
  #touch(session: Session): void {
    session.expiry.cancel();
    if (this.#sessions.delete(session.id)) this.#sessions.set(session.id, session);
    session.expiry = this.#deps.after(LIMITS.mcp.sessionIdleSeconds * 1000, () => this.#end(session));
  }

  #forget(session: Session): void {
    session.expiry.cancel();
    this.#sessions.delete(session.id);
  }

  #end(session: Session): void {
    this.#forget(session);
    void session.transport.close();
  }
}
