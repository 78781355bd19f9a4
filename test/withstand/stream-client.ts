/**
 * Readers of a Group's event stream over the local socket or the Web listener, as small as can be,
 * so that a thousand fit.
 */
import { connect, type NetConnectOpts, type Socket } from "node:net";

export class StreamClient {
  readonly #socket: Socket;
  readonly #ids: string[] = [];
  #tail = "";
  #head = "";
  #begun = false;
  #closed = false;
  #failure: string | null = null;
  #resume: string | null = null;

  /**
   * Opens the stream; `headers` carry the credential. With `reads` false nothing is taken from the
   * socket before `read` is called.
   */
  constructor(target: NetConnectOpts, path: string, headers: Record<string, string>, reads: boolean) {
    const fields = Object.entries({ host: "localhost", accept: "text/event-stream", ...headers });
    this.#socket = connect(target);
    this.#socket.on("error", ({ message }) => {
      this.#failure = message;
    });
    this.#socket.on("close", () => {
      this.#closed = true;
    });
    this.#socket.write(
      `GET ${path} HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`,
    );
    if (reads) this.read();
    else this.#socket.pause();
  }

  /** Ids of the events that came, in order. */
  get ids(): readonly string[] {
    return this.#ids;
  }

  /** The answer's head has come. */
  get isOpen(): boolean {
    return this.#begun;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** What the socket failed with; null when it didn't. */
  get failure(): string | null {
    return this.#failure;
  }

  /**
   * What the stream said before it closed a client that was too slow: the event to resume after;
   * null while it said nothing.
   */
  get resumeAfter(): string | null {
    return this.#resume;
  }

  get status(): number {
    return Number(/^HTTP\/1\.1 (\d{3})/.exec(this.#head)?.[1] ?? 0);
  }

  read(): void {
    this.#socket.setEncoding("latin1");
    this.#socket.on("data", (chunk: string) => this.#take(chunk));
    this.#socket.resume();
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(chunk: string): void {
    let text = this.#tail + chunk;
    if (!this.#begun) {
      const end = text.indexOf("\r\n\r\n");
      if (end === -1) {
        this.#tail = text;
        return;
      }
      this.#head = text.slice(0, end);
      this.#begun = true;
      text = text.slice(end + 4);
    }
    const last = text.lastIndexOf("\n\n");
    const whole = last === -1 ? "" : text.slice(0, last + 2);
    this.#tail = text.slice(whole.length);
    for (const match of whole.matchAll(
      /^event: resume\ndata: \{"after":"?([0-9a-f]{32}|null)|^id: ([0-9a-f]{32})$/gm,
    )) {
      if (match[1] !== undefined) this.#resume = match[1];
      else this.#ids.push(match[2]!);
    }
  }
}
