/**
 * Why an authenticated request is refused: signed, and sent to the other instance
 * (docs/architecture.md#rules: these cross the wire, `ERRORS` never do). `docs/errors.md` lists
 * them. Another implementation may have more: an unknown code is final.
 */
interface PeerRefusalEntry {
  sentence: string;
  /** What the sender of a deliver or cancel does next (docs/protocol.md#refusals). */
  sender: "retries" | "waits" | "gives up";
}

const entries = {
  io_error: { sentence: "It can't be done right now. Try again.", sender: "retries" },
  connect_peer_denied: {
    sentence: "The connection between these Groups isn't confirmed right now.",
    sender: "retries",
  },
  connect_original_pending: {
    sentence: "The message to withdraw may still arrive. Try again in 5 seconds.",
    sender: "waits",
  },
  connect_group_not_found: { sentence: "There is no such Group here.", sender: "gives up" },
  connect_content_conflict: {
    sentence: "A different request was received under this id before.",
    sender: "gives up",
  },
  connect_message_expired: { sentence: "The message's delivery window has ended.", sender: "gives up" },
  connect_message_early: {
    sentence: "By this machine's clock, the message was created in the future. Correct the clocks.",
    sender: "gives up",
  },
  connect_message_invalid: { sentence: "The message can't be accepted as it is.", sender: "gives up" },
  connect_files_invalid: {
    sentence: "The files aren't the ones that the message names.",
    sender: "gives up",
  },
  connect_recipient_replaced: {
    sentence: "A recipient isn't in this Group, or has been replaced.",
    sender: "gives up",
  },
  connect_message_withdrawn: {
    sentence: "The message was withdrawn before it arrived.",
    sender: "gives up",
  },
  connect_reply_denied: {
    sentence: "The reply doesn't match the message that it answers.",
    sender: "gives up",
  },
  connect_cancellation_denied: {
    sentence: "The withdrawal doesn't match the message that it names.",
    sender: "gives up",
  },
} as const satisfies Record<string, PeerRefusalEntry>;

export type PeerRefusalCode = keyof typeof entries;
export const PEER_REFUSALS: Readonly<Record<PeerRefusalCode, PeerRefusalEntry>> = entries;

/**
 * Why a delivery waits or has ended, as this instance found out itself. Shown in `connect_delivery`
 * and receipts like the codes above.
 */
export const DELIVERY_NOTES = {
  unreachable: {
    code: "connect_unreachable",
    sentence: "The other instance couldn't be reached or didn't answer correctly.",
  },
  unconfirmed: {
    code: "connect_unavailable",
    sentence: "The connection can't be confirmed right now.",
  },
  gone: { code: "connect_grant_gone", sentence: "The connection was ended or replaced." },
  expired: { code: "connect_delivery_expired", sentence: "The delivery window has ended." },
} as const;

/** Whether the same request may succeed at another time. */
export function isPassing(code: string): boolean {
  return Object.hasOwn(entries, code) && PEER_REFUSALS[code as PeerRefusalCode].sender === "retries";
}
