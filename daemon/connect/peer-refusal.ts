/**
 * Why an authenticated request is refused: signed and sent to the peer (architecture.md, rule 9: this family crosses the wire, `Refusal`
 * never does). The sender retries `io_error` and `connect_peer_denied`, waits 5 s after `connect_original_pending`, and takes every other
 * code of a deliver or cancel as final (protocol.md, section 5, "Refusals").
 */
import { Refusal } from "../../shared/errors.ts";

const SENTENCES = {
  io_error: "It couldn't be done just now. Try again.",
  connect_peer_denied: "The connection between these Groups isn't confirmed at present.",
  connect_original_pending: "The message to withdraw may still arrive. Try again in 5 seconds.",
  connect_group_not_found: "There is no such Group here.",
  connect_scope_denied: "The request names other instances, devices, accounts or Groups than its connection.",
  connect_content_conflict: "Something else was received under this id before.",
  connect_message_expired: "The message's time to arrive is over.",
  connect_message_early: "The message's creation lies in the future of this clock. Correct the clocks.",
  connect_message_invalid: "The message can't be taken as it is.",
  connect_files_invalid: "The files aren't those that the message names.",
  connect_recipient_replaced: "A recipient isn't in this Group, or isn't the one it was.",
  connect_message_withdrawn: "The message was withdrawn before it arrived.",
  connect_reply_denied: "The reply doesn't fit the message that it answers.",
  connect_cancellation_denied: "The withdrawal doesn't fit the message that it names.",
} as const;

export type PeerErrorCode = keyof typeof SENTENCES;

export class PeerRefusal extends Error {
  override readonly name = "PeerRefusal";
  readonly code: PeerErrorCode;

  /** `specifics` replaces the sentence when it can say more; it tells nothing of the Home. */
  constructor(code: PeerErrorCode, specifics: string = SENTENCES[code]) {
    super(specifics);
    this.code = code;
  }
}

/** What a peer is told of an error. Troubles of this machine pass, so they are told as such; null says that it is a fault of the program. */
export function peerRefusalOf(error: unknown): PeerRefusal | null {
  if (error instanceof PeerRefusal) return error;
  if (!(error instanceof Refusal)) return null;
  if (error.code === "group_not_found") return new PeerRefusal("connect_group_not_found");
  if (error.code === "too_large")
    return new PeerRefusal("connect_message_invalid", "The message is too large.");
  return new PeerRefusal("io_error");
}
