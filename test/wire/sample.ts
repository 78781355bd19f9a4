/** Valid objects of the wire, for tests that change one thing. */
import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import { instanceIdOf } from "../../shared/wire/v1/fields.ts";
import type { ConnectCancellation, ConnectMessage } from "../../shared/wire/v1/message.ts";
import type { ConnectPeerAuthorization, ConnectPeerOperation } from "../../shared/wire/v1/peer.ts";
import type { Unsigned } from "../../shared/wire/v1/signing.ts";

/** The vectors of one file in test/vectors. */
export function vectors(name: string): unknown {
  return JSON.parse(readFileSync(`test/vectors/${name}.json`, "utf8")) as unknown;
}

class TestInstance {
  readonly #key: KeyObject;
  readonly publicKey: Buffer;
  readonly public_key: string;
  readonly instance_id: string;

  constructor(seed: Uint8Array) {
    const der = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seed]);
    this.#key = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
    this.publicKey = createPublicKey(this.#key).export({ format: "der", type: "spki" }).subarray(12);
    this.public_key = this.publicKey.toString("base64");
    this.instance_id = instanceIdOf(this.publicKey);
  }

  sign(bytes: Uint8Array): Uint8Array {
    return sign(null, bytes, this.#key);
  }
}

export const [ada, bob] = (vectors("identities") as { seed: string }[]).map(
  ({ seed }) => new TestInstance(Buffer.from(seed, "hex")),
) as [TestInstance, TestInstance];

export const DIRECT_ID = "direct-0b7e6a52-5d4c-4c6e-9a51-d0c5b1f1a001";
export const EXTERNAL_ID = "0b7e6a52-5d4c-4c6e-9a51-d0c5b1f1a002";
export type Kind = "account" | "external" | "direct";

function envelope(kind: Kind, deliveryId: string) {
  const end = (instanceId: string, deviceId: string, groupId: string) => ({
    instance_id: instanceId,
    ...(kind === "direct" ? {} : { device_id: deviceId }),
    group_id: groupId,
    title: "A Group",
  });
  return {
    ...(kind === "account" ? {} : { connection_id: kind === "direct" ? DIRECT_ID : EXTERNAL_ID }),
    delivery_id: deliveryId,
    ...(kind === "direct" ? {} : { account_origin: "https://account.example", account_id: "acct_7" }),
    source: end(ada.instance_id, "dev_ada", "g_0123456789ab"),
    sender: { id: "claude-1", title: "", generation: "one", enabled: true, role: "foreman" as const },
    source_event_id: "0b7e6a525d4c4c6e9a51d0c5b1f1a003",
    target: end(bob.instance_id, "dev_bob", "g_ba9876543210"),
  };
}

export function message(kind: Kind = "account"): ConnectMessage {
  return {
    ...envelope(kind, "0b7e6a52-5d4c-4c6e-9a51-d0c5b1f1a004"),
    recipients: [{ id: "codex", title: "", generation: "two", enabled: true, role: "peer" }],
    text: "Hello",
    format: "plain",
    insight: null,
    message_mode: "send",
    attachments: [],
    reply_to: null,
    created_at: "2026-03-01T10:00:00.000Z",
    deliver_before: "2026-03-01T10:15:00.000Z",
    reply_before: "2026-03-08T10:00:00.000Z",
  };
}

export function cancellation(kind: Kind = "account"): ConnectCancellation {
  return {
    ...envelope(kind, "0b7e6a52-5d4c-4c6e-9a51-d0c5b1f1a005"),
    original_delivery_id: "0b7e6a52-5d4c-4c6e-9a51-d0c5b1f1a004",
    original_message_sha256: createHash("sha256").update("message").digest("hex"),
    original_source_event_id: "0b7e6a525d4c4c6e9a51d0c5b1f1a003",
    original_deliver_before: "2026-03-01T10:15:00.000Z",
    created_at: "2026-03-01T10:01:00.000Z",
    deliver_before: "2026-03-01T10:16:00.000Z",
  };
}

export function operations(kind: Kind = "account"): Record<ConnectPeerOperation["op"], ConnectPeerOperation> {
  const connection = kind === "account" ? {} : { connection_id: kind === "direct" ? DIRECT_ID : EXTERNAL_ID };
  const groups = { source_group_id: "g_0123456789ab", target_group_id: "g_ba9876543210" };
  const messageSha256 = createHash("sha256").update("message").digest("hex");
  const deliveryId = "0b7e6a52-5d4c-4c6e-9a51-d0c5b1f1a004";
  return {
    catalog: { op: "catalog", ...connection, ...groups, after: null },
    deliver: { op: "deliver", message: message(kind), blobs: [] },
    receipt: {
      op: "receipt",
      ...connection,
      ...groups,
      delivery_id: deliveryId,
      message_sha256: messageSha256,
    },
    cancel: { op: "cancel", cancellation: cancellation(kind) },
  };
}

export function authorization(kind: Kind = "account"): Unsigned<ConnectPeerAuthorization> {
  const direct = kind === "direct";
  return {
    ...(kind === "account" ? {} : { connection_id: direct ? DIRECT_ID : EXTERNAL_ID }),
    ...(direct ? {} : { account_origin: "https://account.example", account_id: "acct_7" }),
    source_instance_id: ada.instance_id,
    ...(direct ? {} : { source_device_id: "dev_ada" }),
    target_instance_id: bob.instance_id,
    ...(direct ? {} : { target_device_id: "dev_bob" }),
    request_id: "0b7e6a52-5d4c-4c6e-9a51-d0c5b1f1a006",
    issued_at: "2026-03-01T10:00:00.000Z",
    expires_at: "2026-03-01T10:01:00.000Z",
    operation_sha256: "0".repeat(64),
  };
}
