/**
 * The same server as Streamable HTTP at `/mcp`. It accepts only a launch token as the bearer token.
 * The listener has already checked Host and Origin (docs/core-model.md#ports).
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Envelope } from "../client/client.ts";
import { type ErrorBody, Refusal } from "../shared/errors.ts";
import { LIMITS } from "../shared/limits.ts";
import { ToolCaller } from "./call.ts";
import type { DerivedTool } from "./derive.ts";
import { deriveTools } from "./derive.ts";
import { INBOX_TOOL, problemOf, rpcError } from "./messages.ts";
import { connect, streamableTransport } from "./sdk.ts";

/** The Actor of a live launch token. */
export interface McpIdentity {
  group_id: string;
  actor_id: string;
  generation: string;
  /** Digest of the token. */
  launch?: string;
}

export interface McpHttpDependencies {
  /** Null for a token that isn't valid, or no longer. */
  verify(token: string): McpIdentity | null;
  call(
    operation: string,
    input: unknown,
    as: McpIdentity & { session: string },
    signal: AbortSignal,
  ): Promise<Envelope<unknown>>;
  /**
   * Keeps the Actor's session alive while it is open. The returned function ends it, with `isLost`
   * if the session's messages were never read. `ended` is called when the daemon ends it.
   */
  lease(as: McpIdentity & { session: string }, ended: () => void): (isLost?: boolean) => void;
  /** The strictly parsed body of a POST. Rejects with a Refusal. */
  readBody(request: IncomingMessage): Promise<unknown>;
  /** Runs once after the given milliseconds, unless cancelled. */
  after(milliseconds: number, run: () => void): { cancel(): void };
}

type StreamableTransport = Awaited<ReturnType<typeof streamableTransport>>;

interface Session {
  id: string;
  identity: McpIdentity;
  transport: StreamableTransport;
  expiry: { cancel(): void };
  /** Name of the Actor's session. It is replaced when the answer to a read gets lost. */
  actorSession: string;
  /** The last Inbox reads by request id, each with the Actor's session it was made in. */
  reads: Map<unknown, string>;
  /** Streams that the client holds open. */
  streams: Set<HeldStream>;
}

interface HeldStream {
  response: ServerResponse;
  /** Releases the lease. */
  release(): void;
}

/**
 * A client's request: what to do if nobody is left to read its answer, and the Actor's session that
 * it took messages in.
 */
interface Carrier {
  signal: AbortSignal;
  tookIn: string | null;
}

const REMEMBERED_READS = 16;

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

/** Sends a protocol error as the whole answer. */
function answerError(response: ServerResponse, status: number, error: object): void {
  const body = JSON.stringify(error);
  response.writeHead(status, {
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(body),
    "cache-control": "no-store",
    // The unread rest of the body must not be taken for the next request.
    ...(response.req.complete ? {} : { connection: "close" }),
  });
  response.end(body);
}

function same(one: McpIdentity, other: McpIdentity): boolean {
  return (
    one.group_id === other.group_id && one.actor_id === other.actor_id && one.generation === other.generation
  );
}

function isInitialization(body: object | undefined): boolean {
  return body !== undefined && "method" in body && body.method === "initialize";
}

const carrierOf = new AsyncLocalStorage<Carrier>();

export class McpHttp {
  readonly #deps: McpHttpDependencies;
  /** Least recently used first. */
  readonly #sessions = new Map<string, Session>();
  /** Connections whose last answer carried messages, with their watcher. */
  readonly #unread = new WeakMap<Socket, (failed: boolean) => void>();
  #tools: DerivedTool[] | null = null;

  constructor(deps: McpHttpDependencies) {
    this.#deps = deps;
  }

  /**
   * Serves one request to `/mcp`. It never throws a refusal but answers it, through `refuseFailure`
   * for an invalid credential.
   */
  async handle(
    request: IncomingMessage,
    response: ServerResponse,
    refuseFailure: (refusal: Refusal) => void,
  ): Promise<void> {
    this.#readOn(request.socket);
    const token = BEARER.exec(request.headers.authorization ?? "")?.[1];
    if (token === undefined) {
      const specifics = "/mcp needs an Actor's launch token as the bearer token.";
      const refusal = new Refusal("unauthenticated", { specifics });
      // Clients first ask without a credential.
      if (request.headers.authorization === undefined) refuse(response, refusal);
      else refuseFailure(refusal);
      return;
    }
    const identity = this.#deps.verify(token);
    if (identity === null) {
      refuseFailure(new Refusal("invalid_launch_token"));
      return;
    }
    const body = request.method === "POST" ? await this.#message(request, response) : undefined;
    if (body === null) return;
    if (this.#deps.verify(token) === null) {
      // The token was renewed while the body was on its way.
      refuse(response, new Refusal("invalid_launch_token"));
      return;
    }
    // Who initializes has no session yet, whatever an earlier one was called.
    const named = isInitialization(body) ? undefined : request.headers["mcp-session-id"];
    const known = typeof named === "string" ? this.#sessions.get(named) : undefined;
    // Someone else's session looks like none: the client initializes again.
    const session =
      named === undefined
        ? await this.#open(identity)
        : known && same(known.identity, identity)
          ? known
          : null;
    if (session === null) {
      const specifics = "There is no such MCP session.";
      const remedy = "Initialize again: a session ends with the daemon, and when it isn't used for long.";
      refuse(response, new Refusal("not_found", { specifics, remedy }));
      return;
    }
    this.#touch(session);
    if (request.method === "GET" && named !== undefined) {
      const stream: HeldStream = { response, release: this.#lease(session, response) };
      session.streams.add(stream);
      response.once("close", () => {
        session.streams.delete(stream);
        stream.release();
      });
    }
    const gone = new AbortController();
    const carrier: Carrier = { signal: gone.signal, tookIn: null };
    response.once("close", () => {
      gone.abort();
      if (!response.writableFinished) this.#lost(session, carrier.tookIn);
      else if (carrier.tookIn !== null) this.#watch(request.socket, session, carrier.tookIn);
    });
    await carrierOf.run(carrier, () => session.transport.handleRequest(request, response, body));
    // A first request that wasn't an initialization opened nothing.
    if (named === undefined && !this.#sessions.has(session.id)) await session.transport.close();
  }

  /** Ends the sessions of an Actor whose token is no longer valid. */
  revoke(identity: McpIdentity): void {
    for (const session of this.#sessions.values()) if (same(session.identity, identity)) this.#end(session);
  }

  close(): void {
    for (const session of this.#sessions.values()) this.#end(session);
  }

  /**
   * The message in a POST's body. Null if there isn't exactly one; that has been answered already.
   */
  async #message(request: IncomingMessage, response: ServerResponse): Promise<object | null> {
    let body: unknown;
    try {
      body = await this.#deps.readBody(request);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const code = error.code === "invalid_request" ? -32700 : -32000;
      answerError(response, error.status, rpcError(null, code, error.message));
      return null;
    }
    const problem = problemOf(body);
    if (problem === null) return body as object;
    answerError(response, problem.error.code === -32602 ? 200 : 400, problem);
    return null;
  }

  #lease(session: Session, response: ServerResponse): () => void {
    return this.#deps.lease({ ...session.identity, session: session.actorSession }, () => response.end());
  }

  /**
   * An answer with messages wasn't read. Ends the Actor's session that took them and starts
   * another, even if a later call came first: the daemon waits a while before it takes such a call
   * as a sign that the answer arrived.
   */
  #lost(session: Session, tookIn: string | null): void {
    if (tookIn !== session.actorSession) return;
    session.actorSession = randomUUID();
    const streams = [...session.streams];
    try {
      const end = this.#deps.lease({ ...session.identity, session: tookIn }, () => undefined);
      for (const stream of streams) stream.release();
      end(true);
      for (const stream of streams) stream.release = this.#lease(session, stream.response);
    } catch (error) {
      // The Actor is gone, or the session ends when it becomes idle.
      if (!(error instanceof Refusal)) throw error;
    }
  }

  /** If a connection breaks before its next request, its answer counts as unread. */
  #watch(socket: Socket, session: Session, tookIn: string): void {
    const closed = (failed: boolean): void => {
      if (failed) this.#lost(session, tookIn);
    };
    this.#readOn(socket);
    this.#unread.set(socket, closed);
    socket.once("close", closed);
  }

  #readOn(socket: Socket): void {
    const closed = this.#unread.get(socket);
    if (closed === undefined) return;
    this.#unread.delete(socket);
    socket.off("close", closed);
  }

  /** Tracks Inbox reads. A cancelled read, even after its answer left, counts as not seen. */
  #note(session: Session, message: unknown): void {
    const { id, method, params } = message as {
      id?: unknown;
      method?: unknown;
      params?: { name?: unknown; requestId?: unknown };
    };
    if (method === "tools/call" && params?.name === INBOX_TOOL) {
      session.reads.set(id, session.actorSession);
      const [oldest] = session.reads.keys();
      if (session.reads.size > REMEMBERED_READS) session.reads.delete(oldest);
    } else if (method === "notifications/cancelled") {
      this.#lost(session, session.reads.get(params?.requestId) ?? null);
    }
  }

  /** A session that counts from its initialization. */
  async #open(identity: McpIdentity): Promise<Session> {
    const id = randomUUID();
    this.#tools ??= deriveTools();
    const caller = new ToolCaller(this.#tools, {
      group: async () => identity.group_id,
      call: (operation, input, { signal }) => {
        const carrier = carrierOf.getStore();
        const as = { ...identity, session: session.actorSession };
        if (carrier && operation === "inbox_read") carrier.tookIn = as.session;
        const ends = carrier ? AbortSignal.any([signal, carrier.signal]) : signal;
        return this.#deps.call(operation, input, as, ends);
      },
    });
    const transport = await streamableTransport(id, () => this.#keep(session));
    const session: Session = {
      id,
      identity,
      transport,
      expiry: { cancel: () => undefined },
      actorSession: randomUUID(),
      reads: new Map(),
      streams: new Set(),
    };
    await connect(caller, transport);
    const onmessage = transport.onmessage;
    transport.onmessage = (message, extra) => {
      this.#note(session, message);
      onmessage?.(message, extra);
    };
    const onclose = transport.onclose;
    transport.onclose = () => {
      this.#forget(session);
      onclose?.();
    };
    return session;
  }

  /** An Actor with many sessions loses its own oldest one, not anyone else's. */
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

  /** Moves a session to the end of the queue for removal. */
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
