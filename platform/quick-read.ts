/**
 * Reads many sockets into one buffer, past each one's stream: no allocation per read and none of the stream's bookkeeping, which costs more
 * than the read. It is what Node's `onread` option does for sockets that connect, done for one that a server accepted; where Node isn't
 * built as expected here, and for TLS, bytes come the ordinary way.
 */
import { Socket, type SocketConstructorOpts } from "node:net";
import { TLSSocket } from "node:tls";

/** As large as what Node reads at once. */
const BUFFER_BYTES = 64 * 1024;

type Callback = (count: number, buffer: Buffer) => boolean;

/** A socket as its constructor leaves it that got an `onread` option. */
type Reading = Socket & Record<symbol, unknown> & { _handle?: { useUserBuffer?(buffer: Buffer): void } };

interface Members {
  buffer: symbol;
  callback: symbol;
  generation: symbol;
}

/** Under which names a socket keeps its `onread` option, which the types know only for sockets that connect. */
function findMembers(): Members | null {
  const onread = { buffer: Buffer.alloc(1), callback: () => true };
  const sample = new Socket({ onread } as SocketConstructorOpts);
  const names = new Map(Object.getOwnPropertySymbols(sample).map((name) => [name.description, name]));
  const buffer = names.get("kBuffer");
  const callback = names.get("kBufferCb");
  const generation = names.get("kBufferGen");
  if (buffer === undefined || callback === undefined || generation === undefined) return null;
  return { buffer, callback, generation };
}

let members: Members | null | undefined;
let shared: Buffer | undefined;

export class QuickReader {
  readonly #socket: Reading;
  readonly #take: (bytes: Buffer) => void;
  #isReleased = false;
  #isQuick = false;

  /** For a socket that nothing was read from yet. `take` gets bytes that are its own only until it returns. */
  constructor(socket: Socket, take: (bytes: Buffer) => void) {
    this.#socket = socket as Reading;
    this.#take = take;
    members ??= findMembers();
    const handle = this.#socket._handle;
    if (members === null || socket instanceof TLSSocket || typeof handle?.useUserBuffer !== "function") {
      socket.on("data", take);
      return;
    }
    shared ??= Buffer.allocUnsafeSlow(BUFFER_BYTES);
    this.#isQuick = true;
    this.#socket[members.buffer] = shared;
    this.#socket[members.callback] = this.#onRead;
    this.#socket[members.generation] = null;
    handle.useUserBuffer(shared);
  }

  /** From now on bytes go to the socket's stream, for whoever listens there. */
  release(): void {
    this.#isReleased = true;
    if (!this.#isQuick) this.#socket.off("data", this.#take);
  }

  /** False when the stream has enough for now; it starts reading again by itself. */
  readonly #onRead: Callback = (count, buffer) => {
    if (this.#isReleased) return this.#socket.push(Buffer.from(buffer.subarray(0, count)));
    this.#take(buffer.subarray(0, count));
    return true;
  };
}
