import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TLSSocket } from "node:tls";
import { QuickWriter } from "../../platform/quick-write.ts";

const LARGE = Buffer.alloc(16 * 1024 * 1024, "x");

describe("Quick writes to a socket", () => {
  let folder = "";
  let server: Server;
  let ours: Socket;
  let reader: Socket;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "svc-quick-"));
    server = createServer({ pauseOnConnect: true });
    server.listen(join(folder, "socket"));
    await once(server, "listening");
    ours = connect(join(folder, "socket"));
    [reader] = (await once(server, "connection")) as [Socket];
    if (ours.connecting) await once(ours, "connect");
  });

  afterEach(() => {
    ours.destroy();
    reader.destroy();
    server.close();
    rmSync(folder, { recursive: true });
  });

  it("take what the reader has room for, and the stream takes the rest: every byte arrives once and in order", async () => {
    const writer = new QuickWriter(ours);
    const taken = writer.write(LARGE);
    assert.ok(taken > 0 && taken < LARGE.length, `${taken} bytes`);
    assert.equal(writer.write(Buffer.from("y")), 0, "a full socket takes nothing");
    ours.end(LARGE.subarray(taken));
    let arrived = 0;
    for await (const chunk of reader as AsyncIterable<Buffer>) {
      assert.equal(chunk.compare(LARGE, 0, chunk.length), 0);
      arrived += chunk.length;
    }
    assert.equal(arrived, LARGE.length);
  });

  it("never reach a socket that was let go, whose descriptor may be another's by now", async () => {
    const writer = new QuickWriter(ours);
    ours.destroy();
    const other = connect(join(folder, "socket"));
    await once(server, "connection");
    assert.equal(writer.write(Buffer.from("for somebody else")), 0);
    other.destroy();
  });

  it("never pass TLS", () => {
    assert.equal(new QuickWriter(new TLSSocket(ours)).write(Buffer.from("plain")), 0);
  });

  it("leave a broken connection to the stream", async () => {
    const writer = new QuickWriter(ours);
    reader.destroy();
    await once(reader, "close");
    assert.equal(writer.write(LARGE), 0);
    ours.on("error", () => {});
  });
});
