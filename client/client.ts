/**
 * The socket client of the command line, the MCP server and editors: one kept-alive connection to
 * the daemon of a Home. It loads no schema library, so that short-lived commands start quickly. The
 * daemon checks every input.
 */
import { Agent, type ClientRequest, type IncomingMessage, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { ErrorBody } from "../shared/errors.ts";
import { LIMITS } from "../shared/limits.ts";
import { HEADERS, SOCKET_OPERATION_PREFIX } from "../shared/names.ts";
import type { ArgumentsOf, OperationName, ResultOf } from "../shared/operations/registry.ts";
import { daemonProcess, type Endpoint, findEndpoint } from "./connection.ts";
import { cutOff, type DaemonSilent, DaemonUnreachable, exhausted, RefusedByDaemon } from "./failures.ts";
import { Patience, watch } from "./patience.ts";
import { isAlive } from "./process-state.ts";

export type Envelope<Result> = { ok: true; result: Result } | { ok: false; error: ErrorBody };

export interface CallOptions {
  /** Ends the call and its connection. The daemon then takes back what it would have delivered. */
  signal?: AbortSignal | undefined;
  /**
   * How long the daemon may take to answer. Without it, a call waits as long as the daemon shows
   * that it is alive, because some operations take minutes (`LIMITS.client`).
   */
  answerSeconds?: number;
}

const CONNECTION_ERRORS = new Set(["ENOENT", "ECONNREFUSED", "EACCES", "ENOTSOCK", "EPROTOTYPE", "EAGAIN"]);
const { crowdedSeconds, crowdedPauseMilliseconds } = LIMITS.client;
const CROWDED_TRIES = (crowdedSeconds * 1000) / crowdedPauseMilliseconds;
/** Something was there and closed the connection. */
const CUT_ERRORS: ReadonlySet<string> = new Set(["ECONNRESET", "EPIPE"]);
/** This process, or the whole system, may open nothing more. */
const EXHAUSTED_ERRORS: ReadonlySet<string> = new Set(["EMFILE", "ENFILE"]);

/** Why a request is sent again: nothing in it was done. */
interface Repeats {
  crowded: number;
  renewed: boolean;
}

/** The part of an error's cause that may be shown. */
function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? "error";
}

function isSame(one: Endpoint["credential"], other: Endpoint["credential"]): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

export class DaemonClient {
  readonly home: string;
  /** Names this process's session to the daemon; null for single calls. */
  session: string | null = null;
  readonly #launchToken: string | null;
  readonly #agent = new Agent({ keepAlive: true, maxFreeSockets: 1 });

  /**
   * With `launchToken`, every call is the Actor's; with null, the socket owner's. Nothing is opened
   * before the first call.
   */
  constructor(home: string, launchToken: string | null) {
    this.home = home;
    this.#launchToken = launchToken;
  }

  get actsAsActor(): boolean {
    return this.#launchToken !== null;
  }

  /**
   * Calls one operation. Returns the daemon's envelope, including refusals. Throws
   * DaemonUnreachable (DaemonSilent if a daemon is there but doesn't answer), and the signal's
   * reason after an abort. If an idle connection turns out to be closed, it is replaced once.
   */
  async call<Name extends OperationName>(
    name: Name,
    input: ArgumentsOf<Name>,
    options: CallOptions = {},
  ): Promise<Envelope<ResultOf<Name>>> {
    return (await this.callByName(name, input, options)) as Envelope<ResultOf<Name>>;
  }

  /** The same for a name that is data, such as a tool's. */
  async callByName(name: string, input: unknown, options: CallOptions = {}): Promise<Envelope<unknown>> {
    const patience = new Patience(this.home, () => this.#endpoint(), options.answerSeconds);
    const signal = options.signal ? AbortSignal.any([options.signal, patience.signal]) : patience.signal;
    try {
      return await this.#exchange(name, Buffer.from(JSON.stringify(input)), { signal });
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      patience.end();
    }
  }

  async #exchange(name: string, body: Buffer, options: CallOptions): Promise<Envelope<unknown>> {
    const headers = { "content-type": "application/json", "content-length": body.length };
    const response = await this.#send("POST", SOCKET_OPERATION_PREFIX + name, headers, body, options, true);
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of response) chunks.push(chunk as Buffer);
      const envelope = JSON.parse(Buffer.concat(chunks).toString("utf8")) as Envelope<unknown>;
      if (typeof envelope.ok === "boolean") return envelope;
    } catch (error) {
      options.signal?.throwIfAborted();
      throw new DaemonUnreachable(this.home, `its answer was cut off: ${codeOf(error)}`, error);
    }
    throw new DaemonUnreachable(this.home, "something other than a daemon answers there");
  }

  /** The result of an operation. Throws a refusal as RefusedByDaemon. */
  async result<Name extends OperationName>(
    name: Name,
    input: ArgumentsOf<Name>,
    options: CallOptions = {},
  ): Promise<ResultOf<Name>> {
    const envelope = await this.call(name, input, options);
    if (envelope.ok) return envelope.result;
    throw new RefusedByDaemon(envelope.error);
  }

  /**
   * A GET whose answer stays open, such as a stream or a session's lease. Throws if the daemon
   * refuses or doesn't answer. `told` hears when it falls silent later, and null when it speaks
   * again.
   */
  async open(
    path: string,
    headers: Record<string, string>,
    { signal, told }: { signal?: AbortSignal; told?: (silence: DaemonSilent | null) => void } = {},
  ): Promise<IncomingMessage> {
    const patience = new Patience(this.home, () => this.#endpoint(), undefined);
    const either = signal ? AbortSignal.any([signal, patience.signal]) : patience.signal;
    let response: IncomingMessage;
    try {
      response = await this.#send("GET", path, headers, null, { signal: either }, false);
    } finally {
      patience.end();
    }
    if (response.statusCode === 200) {
      if (told !== undefined) watch(this.home, () => this.#endpoint(), response.socket, told);
      return response;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    let envelope: Envelope<unknown> | undefined;
    try {
      envelope = JSON.parse(Buffer.concat(chunks).toString("utf8")) as Envelope<unknown>;
    } catch {
      // Not an envelope; handled below.
    }
    if (envelope?.ok === false) throw new RefusedByDaemon(envelope.error);
    throw new DaemonUnreachable(this.home, `it answered with status ${response.statusCode}`);
  }

  #endpoint(): Endpoint {
    return findEndpoint(this.home, this.#launchToken);
  }

  /** Ends the connection. Waiting calls fail. */
  close(): void {
    this.#agent.destroy();
  }

  async #send(
    method: "GET" | "POST",
    path: string,
    headers: Record<string, string | number>,
    body: Buffer | null,
    options: CallOptions,
    keepAlive: boolean,
    { crowded, renewed }: Repeats = { crowded: 0, renewed: false },
  ): Promise<IncomingMessage> {
    options.signal?.throwIfAborted();
    const { socketPath, credential } = this.#endpoint();
    let sent: ClientRequest | undefined;
    try {
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        sent = request(
          {
            socketPath,
            method,
            path,
            headers: {
              host: "localhost",
              ...credential,
              ...(this.session === null ? {} : { [HEADERS.session]: this.session }),
              ...headers,
            },
            ...(keepAlive
              ? { agent: this.#agent, timeout: LIMITS.client.callSeconds * 1000 }
              : { agent: false }),
            ...(options.signal ? { signal: options.signal } : {}),
          },
          resolve,
        );
        sent.on("error", reject);
        sent.on("timeout", () => sent?.destroy(new Error("it didn't answer in time")));
        sent.end(body);
      });
      // The key belonged to another daemon, which ended after it was read.
      if (response.statusCode === 401 && !renewed && !isSame(this.#endpoint().credential, credential)) {
        response.resume();
        return this.#send(method, path, headers, body, options, keepAlive, { crowded, renewed: true });
      }
      return response;
    } catch (error) {
      options.signal?.throwIfAborted();
      const code = codeOf(error);
      if (sent?.reusedSocket && (code === "ECONNRESET" || code === "EPIPE"))
        return this.#send(method, path, headers, body, options, keepAlive);
      // If its queue is full, a local socket refuses at once where TCP would wait. Nothing was sent
      // yet.
      if (code === "EAGAIN" && crowded < CROWDED_TRIES) {
        await delay(crowdedPauseMilliseconds, undefined, { signal: options.signal });
        return this.#send(method, path, headers, body, options, keepAlive, { crowded: crowded + 1, renewed });
      }
      if (CUT_ERRORS.has(code)) {
        const pid = daemonProcess(this.home);
        throw cutOff(this.home, code, error, pid !== null && isAlive(pid));
      }
      if (EXHAUSTED_ERRORS.has(code)) throw exhausted(this.home, code, error);
      const reason = CONNECTION_ERRORS.has(code) ? code : error instanceof Error ? error.message : code;
      throw new DaemonUnreachable(this.home, reason, error);
    }
  }
}
