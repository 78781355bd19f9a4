/** A refusal that is signed and sent to the peer: one of `PEER_REFUSALS`. */
import { Refusal } from "../../../shared/errors.ts";
import { PEER_REFUSALS, type PeerRefusalCode } from "../../../shared/wire/v1/refusals.ts";

export class PeerRefusal extends Error {
  override readonly name = "PeerRefusal";
  readonly code: PeerRefusalCode;

  /** `specifics` replaces the sentence when it can say more. It reveals nothing about the Home. */
  constructor(code: PeerRefusalCode, specifics: string = PEER_REFUSALS[code].sentence) {
    super(specifics);
    this.code = code;
  }
}

/**
 * What a peer is told about an error. This machine's problems are temporary, so they are reported
 * as such. Null means a bug.
 */
export function peerRefusalOf(error: unknown): PeerRefusal | null {
  if (error instanceof PeerRefusal) return error;
  if (!(error instanceof Refusal)) return null;
  if (error.code === "group_not_found") return new PeerRefusal("connect_group_not_found");
  if (error.code === "too_large")
    return new PeerRefusal("connect_message_invalid", "The message is too large.");
  return new PeerRefusal("io_error");
}
