/**
 * A line between two daemons that is slow, comes in pieces, breaks off and goes silent: a TCP relay
 * in this process.
 */
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

export class BadLine {
  readonly #server: Server;
  readonly #target: number;
  readonly #pairs = new Set<{ ends: [Socket, Socket]; held: (() => void)[] }>();
  /** Bytes in both directions together. */
  carried = 0;
  /** Milliseconds that each piece takes. */
  delayMs = 0;
  /** Largest piece. */
  pieceBytes = 64 * 1024;
  /** Nothing goes through, and neither end learns of it. */
  #silent = false;
  /** Bytes of the next connections after which each breaks off, one after the other. */
  readonly breaksAfter: number[] = [];
  /** Connections that broke off. */
  broken = 0;

  private constructor(server: Server, target: number) {
    this.#server = server;
    this.#target = target;
  }

  /** A relay to this port of loopback. */
  static async to(target: number): Promise<BadLine> {
    const server = createServer({ noDelay: true, pauseOnConnect: true });
    const line = new BadLine(server, target);
    server.on("connection", (socket) => line.#carry(socket));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return line;
  }

  get address(): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    return `127.0.0.1:${address.port}`;
  }

  set silent(silent: boolean) {
    this.#silent = silent;
    if (silent) return;
    for (const { held } of this.#pairs) for (const go of held.splice(0)) go();
  }

  /** Every connection ends at once. */
  breakNow(): void {
    for (const { ends } of this.#pairs) for (const end of ends) end.destroy();
  }

  async close(): Promise<void> {
    this.breakNow();
    this.#server.close();
    await once(this.#server, "close");
  }

  #carry(near: Socket): void {
    const far = connect({ port: this.#target, host: "127.0.0.1", noDelay: true });
    const pair = { ends: [near, far] as [Socket, Socket], held: [] as (() => void)[] };
    this.#pairs.add(pair);
    const quota = { left: this.breaksAfter.shift() ?? Number.POSITIVE_INFINITY };
    const end = (): void => {
      near.destroy();
      far.destroy();
      this.#pairs.delete(pair);
    };
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on("error", end).on("close", end);
      void this.#pump(from, to, pair.held, quota).then(end, end);
    }
  }

  async #pump(from: Socket, to: Socket, held: (() => void)[], quota: { left: number }): Promise<void> {
    for await (const chunk of from) {
      const bytes = chunk as Buffer;
      for (let at = 0; at < bytes.length; at += this.pieceBytes) {
        const piece = bytes.subarray(at, at + this.pieceBytes);
        if (this.#silent) await new Promise<void>((resolve) => held.push(resolve));
        if (this.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, this.delayMs));
        if (piece.length > quota.left) {
          this.broken += 1;
          return;
        }
        quota.left -= piece.length;
        this.carried += piece.length;
        if (!to.write(piece)) await once(to, "drain");
      }
    }
  }
}
