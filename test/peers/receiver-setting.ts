/**
 * What tests of the receiver share: a Home with real Groups and ledgers that receives, and a peer
 * that signs what it likes.
 */
import assert from "node:assert/strict";
import { createHash, randomUUID } from "node:crypto";
import { InstanceIdentity } from "../../daemon/home/identity.ts";
import { Authorities } from "../../daemon/peers/authorities.ts";
import type { ConnectAuthority, Grant, GrantState, PairQuery } from "../../daemon/peers/authority.ts";
import { Receiver } from "../../daemon/peers/receiving/receiver.ts";
import { ReceiverQuota } from "../../daemon/peers/receiving/receiver-quota.ts";
import type { PeerArrival, PeerRequest, PeerTransport } from "../../daemon/peers/transport.ts";
import { requestDigest, sha256Hex } from "../../daemon/peers/wire/digests.ts";
import { signStatement, verifyStatement } from "../../daemon/peers/wire/statements.ts";
import { VerifyingKey } from "../../platform/keys.ts";
import type { Random } from "../../platform/random.ts";
import { RealRandom } from "../../platform/real-random.ts";
import type { EventKind, EventOf, MessageEvent } from "../../shared/events.ts";
import {
  type ConnectActor,
  ConnectCancellation,
  type ConnectGroupAddress,
  ConnectMessage,
} from "../../shared/wire/v1/message.ts";
import {
  CatalogPage,
  type ConnectPeerAuthorization,
  ConnectPeerOperation,
  type ConnectPeerResponse,
  ReceiptResult,
} from "../../shared/wire/v1/peer.ts";
import { requestStatement, responseStatement, type Unsigned } from "../../shared/wire/v1/signing.ts";
import { TestHome } from "../messaging/setting.ts";
import { SimulatedFiles } from "../simulation/files.ts";
import { ofKind } from "../support/events.ts";
import { PLAIN_MESSAGE } from "../support/plain-message.ts";
import { cancellationDigest, messageDigest } from "../wire/digests.ts";

export const ORIGIN = "https://account.example";
export const ACCOUNT = "account-1";
export const WEB: PeerArrival = { via: "web" };
export const MINUTE = 60_000;

export async function newIdentity(random: Random = new RealRandom()): Promise<InstanceIdentity> {
  return InstanceIdentity.obtain(new SimulatedFiles(), random, "/identity");
}

export function sha256(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

const NOWHERE: PeerTransport = {
  request: () => Promise.reject(new Error("nothing is sent in this setting")),
  onReachable: () => () => {},
};

/** An authority that grants what the test says. */
class TestAuthority implements ConnectAuthority {
  readonly kind: ConnectAuthority["kind"];
  readonly grants: Grant[] = [];
  state: GrantState["state"] = "granted";

  constructor(kind: ConnectAuthority["kind"]) {
    this.kind = kind;
  }

  forPair(): GrantState | null {
    return null;
  }

  pinnedSince(): null {
    return null;
  }

  forConnection(
    connectionId: string | null,
    query: PairQuery,
    devices: { local: string; remote: string },
  ): GrantState {
    if (this.state !== "granted") return { state: this.state, reason: "the test says so" };
    const grant = this.grants.find(
      ({ connection_id: id, pair, local, remote }) =>
        id === connectionId &&
        remote.instance_id === query.remote_instance_id &&
        remote.device_id === devices.remote &&
        local.device_id === devices.local &&
        (pair === null ||
          (pair.local_group_id === query.local_group_id &&
            pair.local_generation === query.local_generation &&
            pair.remote_group_id === query.remote_group_id)),
    );
    return grant === undefined ? { state: "gone", reason: "no grant" } : { state: "granted", grant };
  }

  discover(): Grant[] {
    return this.grants;
  }

  known() {
    return [];
  }

  condition() {
    return { status: "ready" as const, error: null, checked_at: null, expires_at: null };
  }

  onChange(): () => void {
    return () => {};
  }
}

/** How the peer reaches the target. */
export type Way = "account" | "external" | "direct";

export interface ProofChanges {
  operation_sha256?: string;
  lifetime?: number;
  issued?: number;
  request_id?: string;
  change?: (proof: Unsigned<ConnectPeerAuthorization>) => Unsigned<ConnectPeerAuthorization>;
  signer?: InstanceIdentity;
}

/** A receiving Home with one Group of the Actors ann and bob, and a peer known to it in one way. */
export class Target {
  readonly home: TestHome;
  readonly identity: InstanceIdentity;
  readonly peer: InstanceIdentity;
  readonly way: Way;
  readonly connection_id: string | undefined;
  readonly authority: TestAuthority;
  readonly authorities: Authorities;
  readonly receiver: Receiver;
  readonly quota: ReceiverQuota;
  readonly group_id: string;
  readonly source: ConnectGroupAddress;

  constructor(parts: {
    home: TestHome;
    identity: InstanceIdentity;
    peer: InstanceIdentity;
    way: Way;
    group_id: string;
    connection_id?: string | undefined;
  }) {
    this.home = parts.home;
    this.identity = parts.identity;
    this.peer = parts.peer;
    this.way = parts.way;
    this.group_id = parts.group_id;
    this.connection_id = parts.connection_id ?? connectionFor(parts.way);
    this.quota = new ReceiverQuota(parts.home.clock);
    this.authority = new TestAuthority(this.way);
    this.source = {
      instance_id: this.peer.instance_id,
      ...this.#device("device-there"),
      group_id: "g_there",
      title: "Over there",
    };
    this.authority.grants.push(this.grant());
    this.authorities = new Authorities(this.home.registry);
    this.authorities.add(this.authority, NOWHERE);
    this.receiver = this.receiverOf(this.authorities);
  }

  static async open(way: Way = "account", home?: TestHome): Promise<Target> {
    const opened = home ?? (await TestHome.open());
    const groupId = await opened.group("ann", "bob");
    return new Target({
      home: opened,
      identity: await newIdentity(),
      peer: await newIdentity(),
      way,
      group_id: groupId,
    });
  }

  receiverOf(authorities: Authorities): Receiver {
    const { home, identity } = this;
    return new Receiver({
      clock: home.clock,
      log: home.log,
      identity,
      registry: home.registry,
      chats: home.messaging,
      authorities,
      quota: this.quota,
    });
  }

  get address(): ConnectGroupAddress {
    return {
      instance_id: this.identity.instance_id,
      ...this.#device("device-here"),
      group_id: this.group_id,
      title: "Test",
    };
  }

  get group() {
    return this.home.registry.get(this.group_id);
  }

  /** How requests of this way arrive. */
  get arrival(): PeerArrival {
    if (this.way !== "direct") return WEB;
    return { via: "direct", connection_id: this.connection_id!, instance_id: this.peer.instance_id };
  }

  grant(): Grant {
    const isDirect = this.way === "direct";
    const end = (identity: InstanceIdentity, deviceId: string, name: string) => ({
      instance_id: identity.instance_id,
      device_id: isDirect ? "" : deviceId,
      public_key: identity.public_key,
      client_version: "0.4.40",
      name,
      public_origin: null,
    });
    return {
      authority: this.way,
      connection_id: this.connection_id ?? null,
      account_origin: isDirect ? "" : ORIGIN,
      account_id: isDirect ? "" : ACCOUNT,
      local: end(this.identity, "device-here", "Laptop"),
      remote: end(this.peer, "device-there", "Workstation"),
      pair:
        this.way === "account"
          ? null
          : {
              local_group_id: this.group_id,
              local_generation: this.group.record.generation,
              remote_group_id: "g_there",
              remote_generation: "generation there",
              remote_title: "Over there",
            },
      route: null,
      transport: NOWHERE,
    };
  }

  recipient(actorId: string): ConnectActor {
    const { id, title, generation, enabled } = this.group.actor(actorId);
    return { id, title, generation, enabled, role: this.group.roleOf(id) };
  }

  message(changes: Partial<ConnectMessage> = {}): ConnectMessage {
    const now = this.home.clock.now();
    const at = (milliseconds: number) => new Date(now + milliseconds).toISOString();
    return ConnectMessage.parse({
      ...this.#connection(),
      delivery_id: randomUUID(),
      ...this.#account(),
      source: this.source,
      sender: { id: "dora", title: "Dora", generation: "generation of dora", enabled: true, role: "foreman" },
      source_event_id: randomUUID().replaceAll("-", ""),
      target: this.address,
      recipients: [this.recipient("ann")],
      text: "hello",
      ...PLAIN_MESSAGE,
      created_at: at(0),
      deliver_before: at(15 * MINUTE),
      reply_before: at(7 * 24 * 60 * MINUTE),
      ...changes,
    });
  }

  cancellation(original: ConnectMessage, changes: Partial<ConnectCancellation> = {}): ConnectCancellation {
    const now = this.home.clock.now();
    return ConnectCancellation.parse({
      ...this.#connection(),
      delivery_id: randomUUID(),
      ...this.#account(),
      source: this.source,
      sender: original.sender,
      source_event_id: randomUUID().replaceAll("-", ""),
      target: this.address,
      original_delivery_id: original.delivery_id,
      original_message_sha256: messageDigest(original),
      original_source_event_id: original.source_event_id,
      original_deliver_before: original.deliver_before,
      created_at: new Date(now).toISOString(),
      deliver_before: new Date(now + 15 * MINUTE).toISOString(),
      ...changes,
    });
  }

  proof(operation: ConnectPeerOperation, changes: ProofChanges = {}): ConnectPeerAuthorization {
    const { issued = this.home.clock.now(), lifetime = MINUTE, change = (same) => same } = changes;
    const fields = change({
      ...this.#connection(),
      ...this.#account(),
      source_instance_id: this.peer.instance_id,
      ...(this.way === "direct" ? {} : { source_device_id: "device-there" }),
      target_instance_id: this.identity.instance_id,
      ...(this.way === "direct" ? {} : { target_device_id: "device-here" }),
      request_id: changes.request_id ?? randomUUID(),
      issued_at: new Date(issued).toISOString(),
      expires_at: new Date(issued + lifetime).toISOString(),
      operation_sha256:
        changes.operation_sha256 ?? sha256Hex(JSON.stringify(ConnectPeerOperation.parse(operation))),
    });
    return signStatement(requestStatement, changes.signer ?? this.peer, fields);
  }

  request(operation: ConnectPeerOperation, changes: ProofChanges = {}): PeerRequest {
    return { proof: this.proof(operation, changes), operation: ConnectPeerOperation.parse(operation) };
  }

  /**
   * The answer, after its signature and its binding to the request were checked as a sender does
   * (PEER-019, PEER-020).
   */
  async ask(
    operation: ConnectPeerOperation,
    changes: ProofChanges = {},
  ): Promise<ConnectPeerResponse["result"]> {
    const request = this.request(operation, changes);
    return this.checked(request, await this.receiver.receive(request, this.arrival));
  }

  checked(request: PeerRequest, response: ConnectPeerResponse): ConnectPeerResponse["result"] {
    assert.equal(response.request_id, request.proof.request_id);
    assert.equal(response.request_sha256, requestDigest(request.proof));
    assert.ok(verifyStatement(responseStatement, VerifyingKey.admit(this.identity.public_key), response));
    return response.result;
  }

  async deliver(message: ConnectMessage, files: (string | Uint8Array)[] = []): Promise<ReceiptResult> {
    return ReceiptResult.parse(succeeded(await this.ask(deliverOperation(message, files))));
  }

  async cancel(cancellation: ConnectCancellation): Promise<ReceiptResult> {
    const result = ReceiptResult.parse(succeeded(await this.ask({ op: "cancel", cancellation })));
    assert.equal(result.receipt?.message_sha256, cancellationDigest(cancellation));
    return result;
  }

  receiptOperation(message: ConnectMessage): Extract<ConnectPeerOperation, { op: "receipt" }> {
    return {
      op: "receipt",
      ...this.#connection(),
      source_group_id: message.source.group_id,
      target_group_id: message.target.group_id,
      delivery_id: message.delivery_id,
      message_sha256: messageDigest(message),
    };
  }

  async receipt(message: ConnectMessage): Promise<ReceiptResult> {
    return ReceiptResult.parse(succeeded(await this.ask(this.receiptOperation(message))));
  }

  async catalog(after: string | null = null, targetGroupId: string | null = null): Promise<CatalogPage> {
    const operation = {
      op: "catalog" as const,
      ...this.#connection(),
      source_group_id: this.way === "account" ? "" : "g_there",
      target_group_id: this.way === "account" ? targetGroupId : this.group_id,
      after,
    };
    return CatalogPage.parse(succeeded(await this.ask(operation)));
  }

  events<Kind extends EventKind>(kind: Kind): EventOf<Kind>[] {
    const { ledger } = this.group;
    const all = Array.from({ length: ledger.count }, (_, at) => ledger.read(at));
    return ofKind(all, kind);
  }

  messages(): MessageEvent[] {
    return this.events("chat.message");
  }

  #connection(): { connection_id?: string } {
    return this.connection_id === undefined ? {} : { connection_id: this.connection_id };
  }

  #account() {
    return this.way === "direct" ? {} : { account_origin: ORIGIN, account_id: ACCOUNT };
  }

  #device(deviceId: string): { device_id?: string } {
    return this.way === "direct" ? {} : { device_id: deviceId };
  }
}

function connectionFor(way: Way): string | undefined {
  if (way === "account") return undefined;
  return way === "direct" ? `direct-${randomUUID()}` : randomUUID();
}

export function deliverOperation(
  message: ConnectMessage,
  files: (string | Uint8Array)[] = [],
): Extract<ConnectPeerOperation, { op: "deliver" }> & { blobs: { sha256: string; base64: string }[] } {
  const blobs = files.map((file) => ({ sha256: sha256(file), base64: Buffer.from(file).toString("base64") }));
  return { op: "deliver", message, blobs };
}

export function attachment(content: string | Uint8Array, name = "notes.txt") {
  return { sha256: sha256(content), bytes: Buffer.byteLength(content), name, mime_type: "text/plain" };
}

export function succeeded(result: ConnectPeerResponse["result"]): unknown {
  if (result.ok) return result.result;
  return assert.fail(`${result.error.code}: ${result.error.message}`);
}

/** The code of a signed refusal. */
export function refused(result: ConnectPeerResponse["result"]): string {
  assert.ok(!result.ok, "it was accepted");
  return result.error.code;
}
