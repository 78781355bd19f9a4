/** Our TLS connection under test, with what it says and what it sends kept. */
import { createPrivateKey, createPublicKey, sign } from "node:crypto";
import type { TlsError } from "../../../../daemon/peers/direct/tls/alert.ts";
import { TlsConnection, type TlsOptions } from "../../../../daemon/peers/direct/tls/connection.ts";
import type { TlsIdentity } from "../../../../daemon/peers/direct/tls/handshake.ts";
import { SUITES } from "../../../../daemon/peers/direct/tls/suites.ts";
import { RealRandom } from "../../../../platform/real-random.ts";

export const ALPN = "svc-direct/1";

export interface TestKey extends TlsIdentity {
  publicKey: Buffer;
}

/** An Ed25519 key whose seed is `fill` 32 times. */
export function testKey(fill: number): TestKey {
  const seed = Buffer.alloc(32, fill);
  const der = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seed]);
  const privateKey = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  const { x } = createPublicKey(privateKey).export({ format: "jwk" });
  return { publicKey: Buffer.from(x!, "base64url"), sign: (bytes) => sign(null, bytes, privateKey) };
}

export const CLIENT_KEY = testKey(1);
export const SERVER_KEY = testKey(2);
export const STRANGER_KEY = testKey(3);

/** A connection and everything that came out of it. */
export class Target {
  readonly role: "client" | "server";
  readonly connection: TlsConnection;
  /** Bytes for the peer that nobody has taken yet. */
  output: Buffer = Buffer.alloc(0);
  peer: Buffer | null = null;
  data: Buffer = Buffer.alloc(0);
  closed = 0;
  failures: TlsError[] = [];

  constructor(role: "client" | "server", options: Partial<TlsOptions> = {}) {
    this.role = role;
    const ours = role === "client" ? CLIENT_KEY : SERVER_KEY;
    const theirs = role === "client" ? SERVER_KEY : CLIENT_KEY;
    this.connection = new TlsConnection({
      role,
      identity: ours,
      pin: theirs.publicKey,
      random: new RealRandom(),
      alpn: ALPN,
      serverName: "direct.invalid",
      suites: SUITES,
      keyShare: true,
      recordsPerKey: 1_000_000,
      ...options,
      sink: {
        send: (pieces) => (this.output = Buffer.concat([this.output, ...pieces])),
        connected: (key) => (this.peer = key),
        data: (bytes) => (this.data = Buffer.concat([this.data, bytes])),
        closed: () => (this.closed += 1),
        failed: (error) => this.failures.push(error),
      },
    });
  }

  get failure(): TlsError | undefined {
    return this.failures[0];
  }

  /** Takes what is to be sent. */
  take(): Buffer {
    const bytes = this.output;
    this.output = Buffer.alloc(0);
    return bytes;
  }
}

/**
 * Carries bytes both ways until nobody has any, in pieces of at most `piece` bytes. Gives what went
 * over, by sender.
 */
export function exchange(client: Target, server: Target, piece = Number.POSITIVE_INFINITY) {
  const carried = { client: [] as Buffer[], server: [] as Buffer[] };
  const feed = (to: Target, bytes: Buffer): void => {
    for (let at = 0; at < bytes.length; at += piece)
      to.connection.receive(Buffer.from(bytes.subarray(at, at + piece)));
  };
  while (client.output.length > 0 || server.output.length > 0) {
    const fromClient = client.take();
    carried.client.push(fromClient);
    feed(server, fromClient);
    const fromServer = server.take();
    carried.server.push(fromServer);
    feed(client, fromServer);
  }
  return carried;
}

/** Two of ours, connected. */
export function connectedPair(options: Partial<TlsOptions> = {}): { client: Target; server: Target } {
  const client = new Target("client", options);
  const server = new Target("server", options);
  client.connection.start();
  server.connection.start();
  exchange(client, server);
  return { client, server };
}
