import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { QuickReader } from "../../platform/quick-read.ts";

const LARGE = Buffer.alloc(8 * 1024 * 1024, "0123456789abcdef-");

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await turn();
}

describe("Quick reads of accepted sockets", () => {
  let folder = "";
  let server: Server;
  let client: Socket;
  let accepted: Socket;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "svc-quick-"));
    server = createServer({ allowHalfOpen: true });
    server.listen(join(folder, "socket"));
    await once(server, "listening");
  });

  /** `begin` gets the socket as a server's listener does. */
  async function connected<Result>(begin: (socket: Socket) => Result): Promise<Result> {
    const arrived = new Promise<Result>((resolve) => {
      server.once("connection", (socket: Socket) => {
        accepted = socket;
        resolve(begin(socket));
      });
    });
    client = connect({ path: join(folder, "socket"), allowHalfOpen: true });
    return arrived;
  }

  afterEach(() => {
    client.destroy();
    accepted.destroy();
    server.close();
    rmSync(folder, { recursive: true });
  });

  it("give every byte once and in order, in one buffer for all, and then the end", async () => {
    const buffers = new Set<ArrayBufferLike>();
    const pieces: Buffer[] = [];
    await connected(
      (socket) =>
        new QuickReader(socket, (bytes) => {
          buffers.add(bytes.buffer);
          pieces.push(Buffer.from(bytes));
        }),
    );
    const ended = once(accepted, "end");
    client.end(LARGE);
    await ended;
    assert.ok(Buffer.concat(pieces).equals(LARGE));
    assert.equal(buffers.size, 1);
    assert.equal(accepted.bytesRead, LARGE.length);
  });

  it("stop with `pause`, though much has come, and go on with `resume`", async () => {
    let got = 0;
    await connected(
      (socket) =>
        new QuickReader(socket, (bytes) => {
          got += bytes.length;
          socket.pause();
        }),
    );
    client.write(LARGE);
    await until(() => got > 0);
    const first = got;
    for (let turns = 0; turns < 100; turns += 1) await turn();
    assert.equal(got, first);
    accepted.resume();
    await until(() => got > first);
  });

  it("leave the socket to whoever listens to its stream when released, with its back pressure", async () => {
    let quick = "";
    const reader = await connected((socket) => {
      const reading = new QuickReader(socket, (bytes) => {
        quick += bytes.toString();
        socket.pause();
      });
      return reading;
    });
    client.write("first");
    await until(() => quick === "first");
    reader.release();
    client.end(LARGE);
    const pieces: Buffer[] = [];
    let most = 0;
    for await (const piece of accepted as AsyncIterable<Buffer>) {
      most = Math.max(most, accepted.readableLength);
      pieces.push(piece);
    }
    assert.ok(Buffer.concat(pieces).equals(LARGE));
    assert.ok(most < LARGE.length / 8, `${most} bytes waited in the stream`);
    assert.equal(quick, "first");
  });
});
