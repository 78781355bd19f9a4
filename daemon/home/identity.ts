/**
 * The instance's Ed25519 key, kept for the whole life of a Home (docs/protocol.md#identity-file).
 */
import { createPrivateKey, createPublicKey, type KeyObject, sign } from "node:crypto";
import { parseDocument, stringify } from "yaml";
import { readWhole, replaceFile } from "../../platform/durable.ts";
import type { Files } from "../../platform/files.ts";
import { checkPublicKey } from "../../platform/keys.ts";
import { HomeProblem } from "../../platform/problem.ts";
import type { Random } from "../../platform/random.ts";
import { instanceIdOf } from "../../shared/wire/v1/fields.ts";

/** DER of an Ed25519 private key (RFC 8410, section 7) up to the seed. */
const PKCS8_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");
/** 32 bytes from canonical base64 with padding, or null. */
function decode32(text: string): Buffer | null {
  const bytes = Buffer.from(text, "base64");
  return bytes.length === 32 && bytes.toString("base64") === text ? bytes : null;
}

function keyPair(seed: Uint8Array): { privateKey: KeyObject; publicKey: Buffer } {
  const privateKey = createPrivateKey({
    key: Buffer.concat([PKCS8_PREFIX, seed]),
    format: "der",
    type: "pkcs8",
  });
  const { x } = createPublicKey(privateKey).export({ format: "jwk" });
  return { privateKey, publicKey: Buffer.from(x ?? "", "base64url") };
}

function parse(path: string, bytes: Uint8Array): InstanceIdentity {
  const corrupt = (wrong: string) =>
    new HomeProblem(
      "corrupt",
      path,
      wrong,
      "It was left unchanged. Restore it from a backup. Without it this instance would have another identity.",
    );
  let fields: unknown;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    // Failsafe: every scalar is a string, whatever it looks like.
    const document = parseDocument(text, { schema: "failsafe", strict: true, uniqueKeys: true });
    if (document.errors.length > 0 || document.warnings.length > 0) throw new Error("not plain YAML");
    fields = document.toJS({ maxAliasCount: 0 });
  } catch {
    // No cause: the parser's message quotes the file.
    throw corrupt("The identity file isn't YAML.");
  }
  const member = (name: string): string => {
    const value = typeof fields === "object" && fields !== null ? Reflect.get(fields, name) : undefined;
    if (typeof value !== "string") throw corrupt(`The identity file has no ${name}.`);
    return value;
  };
  const seed = decode32(member("private_key"));
  const stated = decode32(member("public_key"));
  if (seed === null || stated === null) throw corrupt("A key isn't 32 bytes in base64.");
  const { privateKey, publicKey } = keyPair(seed);
  seed.fill(0);
  if (!publicKey.equals(stated)) throw corrupt("The private and public keys don't match.");
  if (member("peer_id") !== instanceIdOf(publicKey)) throw corrupt("The peer_id doesn't match the key.");
  return new InstanceIdentity(privateKey, publicKey);
}

/**
 * The private key stays in a private field. Inspection, text and JSON of an identity never show it.
 */
export class InstanceIdentity {
  readonly instance_id: string;
  /** Base64 of the 32 bytes. */
  readonly public_key: string;
  readonly #privateKey: KeyObject;

  constructor(privateKey: KeyObject, publicKey: Uint8Array) {
    checkPublicKey(publicKey);
    this.#privateKey = privateKey;
    this.public_key = Buffer.from(publicKey).toString("base64");
    this.instance_id = instanceIdOf(publicKey);
  }

  /**
   * Reads the key file and never repairs it; null when there is none. Throws HomeProblem (ID-020,
   * ID-021).
   */
  static read(files: Files, path: string): InstanceIdentity | null {
    let bytes: Uint8Array | null;
    try {
      bytes = readWhole(files, path);
    } catch (error) {
      throw new HomeProblem(
        "unreadable",
        path,
        "The identity file can't be read.",
        "Repair its owner, permissions or disk. It was left unchanged.",
        error,
      );
    }
    return bytes === null ? null : parse(path, bytes);
  }

  /**
   * Reads it, or creates it if it is missing (ID-019). Only under the Home's lock, so that no one
   * else creates one in between.
   */
  static async obtain(files: Files, random: Random, path: string): Promise<InstanceIdentity> {
    const present = InstanceIdentity.read(files, path);
    if (present !== null) return present;
    const seed = Buffer.from(random.bytes(32));
    const { privateKey, publicKey } = keyPair(seed);
    const identity = new InstanceIdentity(privateKey, publicKey);
    const text = stringify({
      private_key: seed.toString("base64"),
      public_key: identity.public_key,
      peer_id: identity.instance_id,
    });
    seed.fill(0);
    await replaceFile(files, path, Buffer.from(text));
    return identity;
  }

  /** Ed25519 signature, 64 bytes. */
  sign(bytes: Uint8Array): Uint8Array {
    return sign(null, bytes, this.#privateKey);
  }
}
