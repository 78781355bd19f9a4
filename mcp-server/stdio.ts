/** Messages of the protocol, one JSON document per line, on standard input and output. */
import type { Readable, Writable } from "node:stream";
import { LIMITS } from "../shared/limits.ts";
import { INBOX_TOOL, problemOf, rpcError } from "./messages.ts";
import type { Transport } from "./sdk.ts";

type Message = Parameters<Transport["send"]>[0];
type MessageId = string | number;

/** The parts of a message that matter here. They may have any value. */
interface Noted {
  id?: unknown;
  method?: unknown;
  params?: { requestId?: unknown; name?: unknown } | null;
}

const REMEMBERED_READS = 16;

export class StdioTransport implements Transport {
  onmessage?: NonNullable<Transport["onmessage"]>;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  /**
   * Called if the client cancelled an Inbox read whose answer was already on its way: it won't look
   * at it.
   */
  onLateCancel?: () => void;
  /** Called once when input has ended. */
  onEnd?: () => void;
  /** Called when input has ended and every request is answered. */
  onIdle?: () => void;
  readonly #input: Readable;
  readonly #output: Writable;
  #rest: Buffer[] = [];
  #restBytes = 0;
  readonly #open = new Set<MessageId>();
  /** The last Inbox reads. */
  #reads: MessageId[] = [];
  #ended = false;

  constructor(input: Readable, output: Writable) {
    this.#input = input;
    this.#output = output;
  }

  /** Called by the SDK, which has set its listeners by then. */
  async start(): Promise<void> {
    this.#input.on("data", (chunk: Buffer) => this.#read(chunk));
    this.#input.once("end", () => this.#end());
    this.#input.once("error", () => this.#end());
  }

  async send(message: Message): Promise<void> {
    if ("id" in message && !("method" in message)) {
      if (message.id !== undefined) this.#open.delete(message.id);
      this.#write(message);
      this.#checkIdle();
    } else this.#write(message);
  }

  async close(): Promise<void> {
    this.#input.pause();
    this.onclose?.();
  }

  #read(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      const part = chunk.subarray(from, at);
      from = at + 1;
      const line = this.#rest.length === 0 ? part : Buffer.concat([...this.#rest, part]);
      const tooLong = this.#restBytes + part.length > LIMITS.client.streamLineBytes;
      this.#rest = [];
      this.#restBytes = 0;
      if (tooLong)
        this.#write(
          rpcError(null, -32600, `A message can have at most ${LIMITS.client.streamLineBytes} bytes`),
        );
      else this.#line(line.toString("utf8"));
    }
    // Only the length of an overlong line is kept.
    this.#restBytes += chunk.length - from;
    if (this.#restBytes > LIMITS.client.streamLineBytes) this.#rest = [];
    else if (from < chunk.length) this.#rest.push(chunk.subarray(from));
  }

  #line(text: string): void {
    // Some shells put a byte order mark before what they pipe; `trim` removes it.
    const json = text.trim();
    if (json === "") return;
    let message: unknown;
    try {
      message = JSON.parse(json);
    } catch {
      this.#write(rpcError(null, -32700, "Not a JSON document on one line"));
      return;
    }
    const problem = problemOf(message);
    if (problem) {
      this.#write(problem);
      return;
    }
    this.#note(message as Noted);
    this.onmessage?.(message as Message);
  }

  /** Tracks the requests that still need an answer. A cancelled one gets none. */
  #note({ id, method, params }: Noted): void {
    if (typeof method !== "string") return;
    if (typeof id === "string" || typeof id === "number") {
      this.#open.add(id);
      if (method === "tools/call" && params?.name === INBOX_TOOL) {
        this.#reads = [...this.#reads, id].slice(-REMEMBERED_READS);
      }
    } else if (method === "notifications/cancelled") {
      const cancelled = params?.requestId as MessageId;
      if (!this.#open.delete(cancelled) && this.#reads.includes(cancelled)) this.onLateCancel?.();
    }
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.onEnd?.();
    this.#checkIdle();
  }

  #checkIdle(): void {
    if (this.#ended && this.#open.size === 0) this.onIdle?.();
  }

  #write(message: object): void {
    this.#output.write(`${JSON.stringify(message)}\n`);
  }
}
