/** The TLS of Direct over real sockets: flow, budgets and ends. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer as createSecureServer, get } from "node:https";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import {
  type SecureSocket,
  type SecureSocketOptions,
  secureConnect,
  WriteBudgetError,
} from "../../../daemon/peers/direct/secure-socket.ts";
import { TlsError } from "../../../daemon/peers/direct/tls/alert.ts";
import { HANDSHAKE_TYPES } from "../../../daemon/peers/direct/tls/messages.ts";
import { CONTENT_TYPES } from "../../../daemon/peers/direct/tls/records.ts";
import { RealRandom } from "../../../platform/real-random.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { verifies } from "../../requirements.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { ScriptedClient } from "./tls/scripted-client.ts";
import { CLIENT_KEY, SERVER_KEY, STRANGER_KEY } from "./tls/target.ts";

const CERTIFICATE = join(import.meta.dirname, "../../fixtures/tls");

interface Side {
  raw: Socket;
  clock: ManualClock;
  secure: Promise<SecureSocket>;
}

class Received {
  bytes: Buffer = Buffer.alloc(0);
  readonly ended: Promise<Error | null>;

  constructor(socket: SecureSocket) {
    this.ended = new Promise((resolve) => {
      socket.receive({
        data: (bytes) => (this.bytes = Buffer.concat([this.bytes, bytes])),
        ended: resolve,
      });
    });
  }
}

describe("secure socket", () => {
  let server: Server;
  let sockets: Socket[];

  beforeEach(async () => {
    sockets = [];
    server = createServer({ noDelay: true });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  });

  afterEach(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });

  async function rawPair(): Promise<[Socket, Socket]> {
    const accepted = once(server, "connection");
    const { port } = server.address() as { port: number };
    const client = connect({ port, host: "127.0.0.1", noDelay: true });
    await once(client, "connect");
    const [answered] = (await accepted) as [Socket];
    sockets.push(client, answered);
    return [client, answered];
  }

  function side(raw: Socket, role: "client" | "server", overrides: Partial<SecureSocketOptions> = {}): Side {
    const clock = new ManualClock();
    const secure = secureConnect({
      socket: raw,
      role,
      identity: role === "client" ? CLIENT_KEY : SERVER_KEY,
      pin: (role === "client" ? SERVER_KEY : CLIENT_KEY).publicKey,
      clock,
      random: new RealRandom(),
      handshakeSeconds: 10,
      writeSeconds: 7,
      ...overrides,
    });
    // Whoever waits for it sees a failure.
    secure.catch(() => {});
    return { raw, clock, secure };
  }

  async function pair(overrides: Partial<SecureSocketOptions> = {}) {
    const [clientRaw, serverRaw] = await rawPair();
    const client = side(clientRaw, "client", overrides);
    const answering = side(serverRaw, "server", overrides);
    return { client, answering, dialled: await client.secure, answered: await answering.secure };
  }

  it("carries bytes both ways in order, and ends in order", async () => {
    const { dialled, answered, client } = await pair();
    assert.deepEqual(Buffer.from(dialled.peerPublicKey), SERVER_KEY.publicKey);
    assert.deepEqual(Buffer.from(answered.peerPublicKey), CLIENT_KEY.publicKey);
    const [atClient, atServer] = [new Received(dialled), new Received(answered)];
    const sent = Buffer.from(Array.from({ length: 1_000_000 }, (_, index) => index % 251));
    for (let at = 0; at < sent.length; at += 33_333) dialled.send(sent.subarray(at, at + 33_333));
    dialled.close();
    assert.equal(await atServer.ended, null);
    assert.ok(atServer.bytes.equals(sent));
    answered.send(Buffer.from("answer"));
    answered.close();
    assert.equal(await atClient.ended, null);
    assert.equal(atClient.bytes.toString(), "answer");
    assert.throws(() => dialled.send(Buffer.of(1)), /closed/);
    assert.equal(client.clock.timers, 0);
  });

  /** A client of the tests' own over this socket, connected. */
  async function scriptedOver(raw: Socket, client: ScriptedClient): Promise<void> {
    let arrived: Buffer = Buffer.alloc(0);
    raw.on("data", (bytes: Buffer) => (arrived = Buffer.concat([arrived, bytes])));
    client.target.connection.receive = (bytes) => {
      raw.write(bytes);
      return null;
    };
    client.target.take = () => {
      const taken = arrived;
      arrived = Buffer.alloc(0);
      return taken;
    };
    client.clientHello();
    while (!client.heard.some((message) => message[0] === HANDSHAKE_TYPES.finished)) {
      await once(raw, "data");
      client.listen();
    }
    client.certificate();
    client.certificateVerify();
    client.finished();
  }

  it("answers each KeyUpdate that asks for one before the data behind it", async () => {
    const [clientRaw, serverRaw] = await rawPair();
    const answering = side(serverRaw, "server");
    const client = new ScriptedClient();
    await scriptedOver(clientRaw, client);
    const received = new Received(await answering.secure);
    clientRaw.cork();
    const rounds = 20;
    for (let round = 0; round < rounds; round += 1) {
      client.keyUpdate(1);
      client.sendRecord(CONTENT_TYPES.application_data, Buffer.alloc(100));
    }
    clientRaw.uncork();
    client.followUpdates = true;
    const answers = (): number =>
      client.heard.filter((message) => message[0] === HANDSHAKE_TYPES.key_update).length;
    while (answers() < rounds) {
      await once(clientRaw, "data");
      client.listen();
    }
    assert.equal(received.bytes.length, rounds * 100);
  });

  it("gives others their turn between records, however many come at once", async () => {
    const [clientRaw, serverRaw] = await rawPair();
    const answering = side(serverRaw, "server");
    const client = new ScriptedClient();
    await scriptedOver(clientRaw, client);
    const socket = await answering.secure;
    // How many bytes were handed out within one turn of the event loop.
    const turns: number[] = [0];
    let total = 0;
    let next = setImmediate(function count() {
      turns.push(0);
      next = setImmediate(count);
    });
    const records = 2000;
    const done = new Promise<void>((resolve) => {
      socket.receive({
        data: (bytes) => {
          total += bytes.length;
          turns[turns.length - 1]! += bytes.length;
          if (total === records) resolve();
        },
        ended: () => undefined,
      });
    });
    const all = Array.from({ length: records }, () =>
      client.record(CONTENT_TYPES.application_data, Buffer.of(1)),
    );
    clientRaw.write(Buffer.concat(all));
    await done;
    clearImmediate(next);
    assert.ok(Math.max(...turns) <= 2 * LIMITS.tls.recordsPerTurn, `${Math.max(...turns)} in one turn`);
  });

  it("leaves HTTPS as it is: a certificate that nobody vouches for is refused there", async () => {
    verifies("DRC-093");
    await pair();
    const [cert, key] = ["cert.pem", "key.pem"].map((name) => readFileSync(join(CERTIFICATE, name)));
    const web = createSecureServer({ cert, key }, (_request, response) => response.end("reached"));
    web.listen(0, "127.0.0.1");
    await once(web, "listening");
    const url = `https://127.0.0.1:${(web.address() as { port: number }).port}/`;
    try {
      // In this process, which has just trusted a bare key.
      await assert.rejects(once(get(url), "response"), { code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
      await assert.rejects(fetch(url), (error: Error) => {
        assert.equal((error.cause as { code?: string }).code, "DEPTH_ZERO_SELF_SIGNED_CERT");
        return true;
      });
    } finally {
      web.closeAllConnections();
      web.close();
    }
  });

  it("works when every byte comes by itself", async () => {
    const [clientRaw, serverRaw] = await rawPair();
    const [leftRaw, rightRaw] = await rawPair();
    // Between the two: whatever comes goes on byte by byte.
    const carry = (from: Socket, to: Socket): void => {
      from.on("data", (bytes: Buffer) => {
        for (const byte of bytes) to.write(Buffer.of(byte));
      });
    };
    carry(serverRaw, leftRaw);
    carry(leftRaw, serverRaw);
    const dialled = await Promise.all([side(clientRaw, "client").secure, side(rightRaw, "server").secure]);
    const received = new Received(dialled[1]);
    dialled[0].send(Buffer.alloc(2000, 7));
    dialled[0].close();
    assert.equal(await received.ended, null);
    assert.equal(received.bytes.length, 2000);
  });

  it("says when the system has taken what was sent, in order", async () => {
    const { dialled, answered } = await pair();
    const received = new Received(answered);
    const order: number[] = [];
    await new Promise<void>((resolve) => {
      for (const index of [0, 1, 2]) dialled.send(Buffer.alloc(index * 200_000 + 1), () => order.push(index));
      dialled.send(Buffer.of(1), resolve);
    });
    assert.deepEqual(order, [0, 1, 2]);
    dialled.close();
    await received.ended;
    assert.equal(received.bytes.length, 600_004);
  });

  it("holds back a peer that nobody listens to, and goes on", async () => {
    const { dialled, answered, client } = await pair();
    const bytes = Buffer.alloc(32 * 1024 * 1024, 1);
    let taken = false;
    dialled.send(bytes, () => (taken = true));
    // Nobody receives: the kernel's buffers fill, then encryption waits.
    while (client.raw.writableLength < LIMITS.tls.sendAheadBytes)
      await new Promise((resolve) => setImmediate(resolve));
    assert.equal(taken, false);
    assert.ok(dialled.waitingBytes > 1024 * 1024, `${dialled.waitingBytes} bytes wait`);
    const received: number[] = [];
    const all = new Promise<void>((resolve) => {
      let left = bytes.length;
      answered.receive({
        data: (arrived) => {
          received.push(arrived.length);
          left -= arrived.length;
          if (received.length === 10) {
            answered.pause();
            setImmediate(() => answered.resume());
          }
          if (left === 0) resolve();
        },
        ended: () => {},
      });
    });
    await all;
    assert.equal(dialled.waitingBytes, 0);
  });

  it("gives up a peer that takes nothing within the write budget", async () => {
    const { dialled, client } = await pair();
    const received = new Received(dialled);
    dialled.send(Buffer.alloc(32 * 1024 * 1024));
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(client.clock.advance(7000), 1);
    assert.ok((await received.ended) instanceof WriteBudgetError);
    assert.throws(() => dialled.send(Buffer.of(1)));
  });

  it("gives up a handshake that takes too long, and lets go of the socket", async () => {
    const [clientRaw] = await rawPair();
    const { clock, secure } = side(clientRaw, "client");
    assert.equal(clock.advance(10_000), 1);
    await assert.rejects(secure, /longer than 10 s/);
    assert.equal(clock.advance(2000), 1);
    assert.ok(clientRaw.destroyed);
  });

  it("gives up a handshake when its signal aborts, before or meanwhile", async () => {
    const [first] = await rawPair();
    await assert.rejects(side(first, "client", { signal: AbortSignal.abort() }).secure, /abandoned/);
    const [second] = await rawPair();
    const controller = new AbortController();
    const { secure } = side(second, "client", { signal: controller.signal });
    controller.abort();
    await assert.rejects(secure, /abandoned/);
  });

  it("tells both ends of a refused key", async () => {
    const [clientRaw, serverRaw] = await rawPair();
    const client = side(clientRaw, "client");
    const answering = side(serverRaw, "server", { pin: STRANGER_KEY.publicKey });
    await assert.rejects(answering.secure, { origin: "us", alert: 49 });
    // The client is done before the server judges: it hears of it afterwards.
    const ended = await new Received(await client.secure).ended;
    assert.ok(ended instanceof TlsError);
    assert.deepEqual([ended.origin, ended.alert], ["peer", 49]);
  });

  it("reports a connection that breaks off as such", async () => {
    const { dialled, answered, client } = await pair();
    const received = new Received(answered);
    await new Promise<void>((resolve) => dialled.send(Buffer.from("begun"), resolve));
    client.raw.end();
    const ended = await received.ended;
    assert.ok(ended instanceof TlsError);
    assert.equal(ended.origin, "transport");
    assert.equal(received.bytes.toString(), "begun");
  });

  it("says in words that the system lost the connection", async () => {
    const { answered, client } = await pair();
    const received = new Received(answered);
    client.raw.resetAndDestroy();
    assert.equal((await received.ended)?.message, "The other side broke off the connection.");
  });

  it("ends at once and in silence when destroyed", async () => {
    const { dialled, answered, client } = await pair();
    let said = 0;
    dialled.receive({ data: () => (said += 1), ended: () => (said += 1) });
    const other = new Received(answered);
    dialled.destroy();
    dialled.destroy();
    assert.ok((await other.ended) instanceof Error);
    assert.ok(client.raw.destroyed);
    assert.equal(said, 0);
    assert.equal(client.clock.timers, 0);
  });
});
