/**
 * A peer with an approved connection that sends what it likes: it has the product's TLS and nothing
 * of its manners.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { InstanceIdentity } from "../../../daemon/home/identity.ts";
import { FrameReader } from "../../../daemon/peers/direct/frame-reader.ts";
import {
  type SecureSocket,
  type SecureSocketOptions,
  secureConnect,
} from "../../../daemon/peers/direct/secure-socket.ts";
import type { PeerRequest } from "../../../daemon/peers/transport.ts";
import { requestDigest, sha256Hex } from "../../../daemon/peers/wire/digests.ts";
import { signStatement, verifyStatement } from "../../../daemon/peers/wire/statements.ts";
import { freePort } from "../../../demo/free-port.ts";
import { VerifyingKey } from "../../../platform/keys.ts";
import { RealClock } from "../../../platform/real-clock.ts";
import { RealRandom } from "../../../platform/real-random.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { PRODUCT_VERSION } from "../../../shared/version.ts";
import { type DirectInvitation, parseInvitationText } from "../../../shared/wire/v1/direct.ts";
import { ConnectMessage } from "../../../shared/wire/v1/message.ts";
import type { ConnectPeerAnswer } from "../../../shared/wire/v1/peer.ts";
import { requestStatement, responseStatement } from "../../../shared/wire/v1/signing.ts";
import { SimulatedFiles } from "../../simulation/files.ts";
import { PLAIN_MESSAGE } from "../../support/plain-message.ts";
import { until } from "../../support/until.ts";
import type { Side } from "./two-homes.ts";

export const PEER_GROUP = "g_00000000000b";

/** A frame of any bytes. */
export function frameOf(json: string | Uint8Array): Buffer {
  const body = Buffer.from(json as string);
  const head = Buffer.alloc(4);
  head.writeUInt32BE(body.length);
  return Buffer.concat([head, body]);
}

/** One connection to the daemon. */
export class HostileLine {
  readonly socket: Socket;
  readonly secure: SecureSocket;
  readonly #reader = new FrameReader(LIMITS.direct.frameBytes);
  readonly #frames: unknown[] = [];
  isEnded = false;

  constructor(socket: Socket, secure: SecureSocket) {
    this.socket = socket;
    this.secure = secure;
    secure.receive({
      data: (bytes) => {
        this.#reader.push(bytes);
        for (let frame = this.#reader.next(); frame !== undefined; frame = this.#reader.next()) {
          this.#frames.push(frame.value());
        }
      },
      ended: () => (this.isEnded = true),
    });
    socket.on("close", () => (this.isEnded = true));
  }

  /** Resolves when the system has taken it all, or the connection has ended. */
  send(bytes: Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      if (this.isEnded) return resolve();
      this.socket.once("close", resolve);
      this.secure.send(bytes, () => {
        this.socket.off("close", resolve);
        resolve();
      });
    });
  }

  /** The next frame that isn't a ping. */
  async frame<Value = unknown>(): Promise<Value> {
    return until("a frame comes", async () => {
      for (let frame = this.#frames.shift(); frame !== undefined; frame = this.#frames.shift()) {
        if ((frame as { kind?: string }).kind !== "ping") return frame as Value;
      }
      if (this.isEnded) throw new Error("the connection ended");
      return null;
    });
  }

  end(): void {
    this.secure.destroy();
  }
}

export class HostilePeer {
  readonly identity: InstanceIdentity;
  readonly invitation: DirectInvitation;
  readonly #lines: HostileLine[] = [];

  private constructor(identity: InstanceIdentity, invitation: DirectInvitation) {
    this.identity = identity;
    this.invitation = invitation;
  }

  /** One with an invitation of `host`, which listens from now on. */
  static async invited(host: Side): Promise<HostilePeer> {
    const { listener } = await host.client.result("connect_direct_status", {});
    if (listener === null) {
      const at = `127.0.0.1:${await freePort()}`;
      await host.client.result("connect_direct_configure", { listener: { bind: at, address: at } });
    }
    const { invitation } = await host.client.result("connect_direct_invite", { group_id: host.group_id });
    const identity = await InstanceIdentity.obtain(new SimulatedFiles(), new RealRandom(), "/identity");
    return new HostilePeer(identity, parseInvitationText(invitation)!);
  }

  /** One that the person there approved. */
  static async approved(host: Side, change: object = {}): Promise<HostilePeer> {
    const peer = await HostilePeer.invited(host);
    const line = await peer.dial();
    await peer.hello(line, { endpoint: peer.endpoint(change) });
    const { group_id: groupId } = host;
    await host.sees("who came", peer.id, ({ state }) => state === "pending");
    line.end();
    await host.client.result("connect_direct_approve", { group_id: groupId, id: peer.id });
    return peer;
  }

  get id(): string {
    return this.invitation.id;
  }

  /** TCP alone. `clings`: its end of the socket stays open when the daemon closes the other. */
  async tcp(clings = false): Promise<Socket> {
    const [host, port] = this.invitation.address.split(":") as [string, string];
    const socket = connect({ host, port: Number(port), noDelay: true, allowHalfOpen: clings });
    socket.on("error", () => undefined);
    await once(socket, "connect");
    return socket;
  }

  /** With the TLS handshake. */
  async dial(options: Partial<SecureSocketOptions> = {}, clings = false): Promise<HostileLine> {
    const socket = await this.tcp(clings);
    const secure = await secureConnect({
      socket,
      role: "client",
      identity: {
        publicKey: Buffer.from(this.identity.public_key, "base64"),
        sign: (bytes) => this.identity.sign(bytes),
      },
      pin: Buffer.from(this.invitation.host.public_key, "base64"),
      clock: new RealClock(),
      random: new RealRandom(),
      handshakeSeconds: 60,
      writeSeconds: 60,
      ...options,
    });
    const line = new HostileLine(socket, secure);
    this.#lines.push(line);
    return line;
  }

  /** Says hello and gives the answer. */
  hello(line: HostileLine, change: object = {}): Promise<unknown> {
    void line.send(this.helloFrame(change));
    return line.frame();
  }

  helloFrame(change: object = {}): Buffer {
    const { id, secret } = this.invitation;
    return frameOf(JSON.stringify({ id, secret, endpoint: this.endpoint(), ...change }));
  }

  /** What it says of itself. */
  endpoint(change: object = {}): object {
    const { instance_id: instanceId, public_key: publicKey } = this.identity;
    return {
      instance_id: instanceId,
      public_key: publicKey,
      client_version: PRODUCT_VERSION,
      name: "hostile",
      group_id: PEER_GROUP,
      generation: "one",
      title: "Hostile",
      ...change,
    };
  }

  /** A channel. */
  async online(change: object = {}): Promise<HostileLine> {
    const line = await this.dial();
    const answer = await this.hello(line, { endpoint: this.endpoint(change) });
    if (answer !== "active") throw new Error(`the hello was answered ${JSON.stringify(answer)}`);
    return line;
  }

  /** The next request that the daemon sends. */
  async request(line: HostileLine): Promise<PeerRequest> {
    const { request } = await line.frame<{ request: PeerRequest }>();
    return request;
  }

  /** A signed answer to a request, as a frame's bytes. */
  answer({ proof }: PeerRequest, result: unknown): Buffer {
    const response = signStatement(responseStatement, this.identity, {
      request_id: proof.request_id,
      request_sha256: requestDigest(proof),
      result: { ok: true, result },
    });
    const envelope = { ok: true, result: { response } };
    return frameOf(JSON.stringify({ kind: "response", id: proof.request_id, response: envelope }));
  }

  /** A message from its person to the one there. */
  messageFor({ instance_id: instanceId, group_id: groupId }: Side, change: object = {}): ConnectMessage {
    const at = (milliseconds: number) => new Date(Date.now() + milliseconds).toISOString();
    const person = { id: "user", title: "Person", generation: "", enabled: true, role: null };
    const now = at(0);
    return ConnectMessage.parse({
      connection_id: this.id,
      delivery_id: randomUUID(),
      source: { instance_id: this.identity.instance_id, group_id: PEER_GROUP, title: "Hostile" },
      sender: person,
      source_event_id: randomUUID().replaceAll("-", ""),
      target: { instance_id: instanceId, group_id: groupId, title: "There" },
      recipients: [person],
      text: "hello",
      ...PLAIN_MESSAGE,
      created_at: now,
      deliver_before: new Date(Date.parse(now) + 15 * 60_000).toISOString(),
      reply_before: new Date(Date.parse(now) + 7 * 24 * 60 * 60_000).toISOString(),
      ...change,
    });
  }

  /** The signed result of an operation, whatever it is; the proof is for `signed`. */
  async ask(
    line: HostileLine,
    { instance_id: instanceId }: Pick<Side, "instance_id">,
    operation: object,
    signed: object = operation,
  ) {
    const now = Date.now();
    const proof = signStatement(requestStatement, this.identity, {
      connection_id: this.id,
      source_instance_id: this.identity.instance_id,
      target_instance_id: instanceId,
      request_id: randomUUID(),
      issued_at: new Date(now).toISOString(),
      expires_at: new Date(now + 60_000).toISOString(),
      operation_sha256: sha256Hex(JSON.stringify(signed)),
    });
    void line.send(frameOf(JSON.stringify({ kind: "request", request: { proof, operation } })));
    // The daemon asks for the catalog meanwhile.
    const frame = await until("the answer", async () => {
      const next = await line.frame<{ kind: string; id?: string; response?: ConnectPeerAnswer }>();
      return next.kind === "response" && next.id === proof.request_id ? next : null;
    });
    const { response } = frame;
    assert.ok(response?.ok, JSON.stringify(response));
    const key = VerifyingKey.admit(this.invitation.host.public_key);
    assert.ok(verifyStatement(responseStatement, key, response.result.response));
    return response.result.response.result;
  }

  dispose(): void {
    for (const line of this.#lines) line.end();
  }
}
