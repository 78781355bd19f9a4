/**
 * One connection of the local socket: reads operations with `readHead`, answers them in order, and
 * passes everything else to node:http, from the first byte that isn't ours. Requests of one
 * connection may overlap. Their answers keep the order.
 */
import type { Socket } from "node:net";
import { envelope } from "../../../platform/http/answer.ts";
import { parseJson } from "../../../platform/http/body.ts";
import type { RequestIds } from "../../../platform/http/request-id.ts";
import type { Log } from "../../../platform/log.ts";
import { errorFields } from "../../../platform/log.ts";
import { Refusal } from "../../../shared/errors.ts";
import { HEADERS } from "../../../shared/names.ts";
import type { Caller } from "../../../shared/operations/caller.ts";
import { failure, type Outcome } from "../../../shared/operations/outcome.ts";
import type { Call, Dispatcher } from "../../operations/dispatcher.ts";
import type { Waiting } from "./idle-sweep.ts";
import type { Door, LocalCallers } from "./local-caller.ts";
import type { Peer } from "./peer.ts";
import { type OperationHead, readHead } from "./request-reader.ts";

export interface ConnectionDependencies {
  dispatcher: Dispatcher;
  callers: LocalCallers;
  requestIds: RequestIds;
  log: Log;
  peer: Peer;
  /** The Actor whose own socket this is; null at the one for all. */
  door: Door | null;
  /** Takes the connection over; the bytes that weren't read are in front of the socket again. */
  handOver(socket: Socket): void;
}

/** Requests of one connection that may run at once. */
const OVERLAPPING = 64;
const HEAD = "Content-Type: application/json; charset=utf-8\r\nCache-Control: no-store\r\nContent-Length: ";
const REASONS: Readonly<Record<number, string>> = { 200: "OK" };

/**
 * Connections with answers to write. Those of one round go out in one go when all of them are made:
 * each write may wake its reader, and a reader that is awake already costs far less.
 */
let answering: SocketConnection[] = [];

function writeAnswers(): void {
  const connections = answering;
  answering = [];
  for (const connection of connections) connection.writeAnswers();
}

export class SocketConnection {
  readonly #socket: Socket;
  readonly #deps: ConnectionDependencies;
  /**
   * Bytes that aren't a whole request yet, at the start of a buffer with room for more; null for
   * none.
   */
  #rest: Buffer | null = null;
  #restBytes = 0;
  /** Bytes that must be there before reading on makes sense. */
  #needed = 0;
  /** Answers in the order of the requests; null while one is running. */
  readonly #answers: (string | null)[] = [];
  #firstAnswer = 0;
  /**
   * Of the answers that aren't written yet: ASCII goes out as latin1, which copies it without a
   * look at each character.
   */
  #encoding: "latin1" | "utf8" = "latin1";
  #foreign = false;
  #ended = false;
  #willWrite = false;
  /** The head of the last request: a client that repeats it byte for byte means the same. */
  #lastHead: { bytes: Buffer; head: OperationHead } | null = null;
  readonly #calls = new Set<SocketCall>();

  constructor(socket: Socket, deps: ConnectionDependencies) {
    this.#socket = socket;
    this.#deps = deps;
    socket.on("data", this.#onData).on("end", this.#onGone).on("close", this.#onGone).on("error", ignore);
    socket.on("drain", this.#onDrain);
  }

  /** What it waits for; an answer that its client hasn't read yet is none of that. */
  get waiting(): Waiting {
    const requests = this.#firstAnswer + this.#answers.length;
    if (this.#answers.length > 0 || this.#socket.writableLength > 0) return { for: null, requests };
    return { for: this.#rest !== null ? "rest" : "next", requests };
  }

  /** Ends the connection once its running requests have been answered. */
  finish(): void {
    this.#ended = true;
    if (this.#answers.length === 0) this.#socket.end();
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#rest === null) {
      this.#read(chunk);
      return;
    }
    const before = this.#restBytes;
    this.#restBytes += chunk.length;
    if (this.#restBytes > this.#rest.length) {
      const wider = Buffer.allocUnsafeSlow(Math.max(this.#restBytes, 2 * before));
      this.#rest.copy(wider, 0, 0, before);
      this.#rest = wider;
    }
    chunk.copy(this.#rest, before);
    if (this.#restBytes >= this.#needed) this.#read(this.#takeRest());
  };

  #takeRest(): Buffer {
    const bytes = this.#rest?.subarray(0, this.#restBytes) ?? Buffer.alloc(0);
    this.#rest = null;
    return bytes;
  }

  #read(bytes: Buffer): void {
    let position = 0;
    while (position < bytes.length && this.#answers.length < OVERLAPPING) {
      const head = this.#head(bytes, position);
      if (head === "foreign") {
        this.#foreign = true;
        break;
      }
      if (head === "incomplete") {
        this.#keep(bytes, position, bytes.length - position + 1);
        break;
      }
      const end = head.bodyStart + head.bodyBytes;
      if (end > bytes.length) {
        this.#keep(bytes, position, end - position);
        break;
      }
      this.#serve(head, bytes.subarray(head.bodyStart, end));
      position = end;
    }
    if (this.#foreign || (position < bytes.length && this.#rest === null)) {
      this.#keep(bytes, position, 0);
      this.#socket.pause();
    }
    if (this.#foreign && this.#answers.length === 0) this.#handOver();
  }

  #head(bytes: Buffer, position: number): OperationHead | "incomplete" | "foreign" {
    const last = this.#lastHead;
    if (last !== null) {
      const end = position + last.bytes.length;
      if (end <= bytes.length && last.bytes.compare(bytes, position, end) === 0) {
        last.head.bodyStart = end;
        return last.head;
      }
    }
    const head = readHead(bytes, position);
    if (typeof head === "object") {
      this.#lastHead = { bytes: Buffer.from(bytes.subarray(position, head.bodyStart)), head };
    }
    return head;
  }

  #keep(bytes: Buffer, position: number, needed: number): void {
    this.#rest = Buffer.from(bytes.subarray(position));
    this.#restBytes = this.#rest.length;
    this.#needed = needed;
  }

  #serve(head: OperationHead, body: Buffer): void {
    const index = this.#firstAnswer + this.#answers.length;
    this.#answers.push(null);
    let input: unknown;
    try {
      input = head.bodyBytes === 0 ? {} : parseJson(body);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      input = error;
    }
    const { operation, socketKey, launchToken, session } = head;
    const { callers, dispatcher, requestIds, peer, door } = this.#deps;
    const call = new SocketCall(requestIds);
    const start = (): Outcome | Promise<Outcome> => {
      const caller = callers.identify(socketKey, launchToken, session, () => peer.standing, door);
      if (caller instanceof Refusal) return failure(caller);
      if (input instanceof Refusal) return failure(input);
      call.caller = caller;
      return dispatcher.call(operation, input, call);
    };
    const waits = launchToken === undefined && door === null && peer.mustAsk(operation);
    const outcome = waits ? this.#asked().then(start) : start();
    if (outcome instanceof Promise) {
      this.#calls.add(call);
      outcome.then(
        (settled) => {
          this.#calls.delete(call);
          this.#settle(index, settled);
        },
        (error: unknown) => {
          this.#calls.delete(call);
          this.#deps.log.error("unexpected", errorFields(error));
          this.#settle(index, failure(new Refusal("internal_error")));
        },
      );
    } else this.#settle(index, outcome);
  }

  /** Reads on when the system has said who is there. */
  async #asked(): Promise<void> {
    await this.#deps.peer.ask();
    if (!this.#ended) this.#onDrain();
  }

  #settle(index: number, outcome: Outcome): void {
    const status = outcome.ok ? 200 : outcome.refusal.status;
    const body = envelope(outcome);
    const bytes = Buffer.byteLength(body);
    if (bytes !== body.length) this.#encoding = "utf8";
    const reason = REASONS[status] ?? "Refused";
    this.#answers[index - this.#firstAnswer] =
      `HTTP/1.1 ${status} ${reason}\r\n${HEAD}${bytes}\r\n\r\n${body}`;
    if (this.#willWrite) return;
    this.#willWrite = true;
    if (answering.push(this) === 1) process.nextTick(writeAnswers);
  }

  /** Writes the answers that are ready, in the order of their requests. */
  writeAnswers(): void {
    this.#willWrite = false;
    this.#flush();
  }

  #flush(): void {
    const full = this.#answers.length >= OVERLAPPING;
    let done = 0;
    let text = "";
    while (done < this.#answers.length && this.#answers[done] !== null) text += this.#answers[done++]!;
    if (done === 0) return;
    this.#answers.splice(0, done);
    this.#firstAnswer += done;
    const writable = this.#socket.writable ? this.#socket.write(text, this.#encoding) : true;
    if (this.#answers.length === 0) this.#encoding = "latin1";
    if (this.#foreign) {
      if (this.#answers.length === 0) this.#handOver();
    } else if (this.#ended) {
      if (this.#answers.length === 0) this.#socket.end();
    } else if (!writable) this.#socket.pause();
    else if (full) this.#onDrain();
  }

  /** The reader of the answers has caught up, or room for more requests has come. */
  readonly #onDrain = (): void => {
    if (this.#foreign || this.#socket.writableNeedDrain) return;
    if (this.#rest !== null && this.#needed === 0) setImmediate(() => this.#resume());
    else this.#socket.resume();
  };

  #resume(): void {
    if (this.#foreign || this.#rest === null || this.#needed !== 0) return;
    this.#socket.resume();
    this.#read(this.#takeRest());
  }

  /**
   * Who is there is asked before: later, node:http reads the connection, or a WebSocket. A launch
   * token in what has come says it already.
   */
  #handOver(): void {
    const { peer, door } = this.#deps;
    const hasToken = this.#rest?.subarray(0, this.#restBytes).includes(HEADERS.launchToken) === true;
    if (door !== null || hasToken || !peer.mustAsk(null)) this.#handOverNow();
    else void peer.ask().then(() => this.#handOverNow());
  }

  #handOverNow(): void {
    const socket = this.#socket;
    // `ignore` stays: node:http takes its own listener away at an upgrade, and a client that goes
    // just then must not end the daemon.
    socket
      .off("data", this.#onData)
      .off("end", this.#onGone)
      .off("close", this.#onGone)
      .off("drain", this.#onDrain);
    const bytes = this.#takeRest();
    if (socket.destroyed) return;
    if (bytes.length > 0) socket.unshift(bytes);
    this.#deps.handOver(socket);
    socket.resume();
  }

  /** The client is gone: waiting calls give back what they took. */
  readonly #onGone = (): void => {
    this.#ended = true;
    for (const call of this.#calls) call.abort();
    if (this.#answers.length === 0) this.#socket.end();
  };
}

const NOBODY: Caller = { kind: "user", by: "user", via: "socket", token_id: null, known: null };

/** The context of a call over the local socket. Its signal is created when it is first needed. */
class SocketCall implements Call {
  /** Set before anybody is called. */
  caller: Caller = NOBODY;
  readonly #ids: RequestIds;
  #id: string | undefined;
  #controller: AbortController | undefined;
  #aborted = false;

  constructor(ids: RequestIds) {
    this.#ids = ids;
  }

  get requestId(): string {
    this.#id ??= this.#ids.next();
    return this.#id;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort();
    }
    return this.#controller.signal;
  }

  abort(): void {
    this.#aborted = true;
    this.#controller?.abort();
  }
}

function ignore(): void {}
