/**
 * A file read, hashed, sent over TCP to another process, hashed and written there, synced: the
 * least that a delivery of it is.
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createReadStream, statSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { scratchPath } from "../folder.ts";
import { start, stop } from "../processes.ts";

const HASH_BYTES = 32;

export class Copy {
  readonly #socket: Socket;
  readonly close: () => Promise<void>;

  private constructor(socket: Socket, close: () => Promise<void>) {
    this.#socket = socket;
    this.close = close;
  }

  static async open(): Promise<Copy> {
    const program = join(import.meta.dirname, "..", "bare", "file-receiver.mjs");
    const receiver = start(process.execPath, [program, scratchPath("copied")], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [port] = (await once(receiver.stdout!, "data")) as [Buffer];
    const socket = connect({ port: Number(String(port)), host: "127.0.0.1", noDelay: true });
    await once(socket, "connect");
    return new Copy(socket, async () => {
      socket.destroy();
      await stop(receiver);
    });
  }

  /** Milliseconds until the other side has it on disk and said the right digest. */
  async carry(path: string): Promise<number> {
    const begin = performance.now();
    const answered = this.#answer();
    const head = Buffer.alloc(8);
    head.writeBigUInt64BE(BigInt(statSync(path).size));
    this.#socket.write(head);
    const hash = createHash("sha256");
    for await (const chunk of createReadStream(path, { highWaterMark: 256 * 1024 })) {
      hash.update(chunk as Buffer);
      if (!this.#socket.write(chunk as Buffer)) await once(this.#socket, "drain");
    }
    const answer = await answered;
    if (!answer.equals(hash.digest())) throw new Error("the copy differs");
    return performance.now() - begin;
  }

  /** The next digest that comes. */
  #answer(): Promise<Buffer> {
    return new Promise((resolve) => {
      let answer = Buffer.alloc(0);
      const take = (bytes: Buffer): void => {
        answer = Buffer.concat([answer, bytes]);
        if (answer.length < HASH_BYTES) return;
        this.#socket.off("data", take);
        resolve(answer);
      };
      this.#socket.on("data", take);
    });
  }
}
