/** Signs and verifies the statements of `shared/wire/v1/signing.ts`, one way for all kinds. */

import type { VerifyingKey, VerifyingKeys } from "../../../platform/keys.ts";
import type { Statement, Unsigned } from "../../../shared/wire/v1/signing.ts";

/** The holder of a key: an InstanceIdentity. */
export interface Signer {
  /** Ed25519 signature, 64 bytes. */
  sign(bytes: Uint8Array): Uint8Array;
}

/**
 * The fields with their signature, in declared order. Throws when the receiver's schema wouldn't
 * accept them.
 */
export function signStatement<Proof extends { signature: string }>(
  statement: Statement<Proof>,
  signer: Signer,
  fields: Unsigned<Proof>,
): Proof {
  const signature = Buffer.from(signer.sign(statement.material(fields))).toString("base64");
  return statement.schema.parse({ ...fields, signature });
}

/**
 * Whether `key` made the signature. Says nothing about the statement's time, nor about what the
 * key's owner may do.
 */
export function verifyStatement<Proof extends { signature: string }>(
  statement: Statement<Proof>,
  key: VerifyingKey,
  proof: Proof,
): boolean {
  return key.verify(statement.material(proof), Buffer.from(proof.signature, "base64"));
}

/** Whether the instance made the signature with the key that is its own. A bad key made none. */
export function isSignedBy<Proof extends { signature: string }>(
  statement: Statement<Proof>,
  { instance_id: instanceId, public_key: publicKey }: { instance_id: string; public_key: string },
  proof: Proof,
  keys: VerifyingKeys,
): boolean {
  let key: VerifyingKey;
  try {
    key = keys.of(publicKey);
  } catch {
    return false;
  }
  return key.instance_id === instanceId && verifyStatement(statement, key, proof);
}
