/**
 * What a Direct connection's row says: its state, what that means, what can be done, and what that
 * does. Pure.
 */
import type { Tone } from "./actor-words.ts";
import { type ConnectionWords, type Icon, isPast, peerName } from "./connections-brief.ts";
import { directStateWords } from "./direct-words.ts";
import type { DirectRelation } from "./operations/direct.ts";

/** An action that can't be taken back, and its consequences. */
export interface Ending {
  operation: "connect_direct_revoke" | "connect_direct_remove";
  /** On the button that asks. */
  ask: string;
  /** On the button that does it. */
  act: string;
  consequences: string;
}

const LOOKS: Readonly<Record<string, { icon: Icon; tone: Tone }>> = {
  online: { icon: "pass", tone: "good" },
  "online, messages are refused": { icon: "warning", tone: "attention" },
  "active but offline": { icon: "circle-outline", tone: "attention" },
  "pending approval": { icon: "clock", tone: "attention" },
  "checking approval": { icon: "sync", tone: "attention" },
  expired: { icon: "history", tone: "quiet" },
  revoked: { icon: "circle-slash", tone: "quiet" },
};

export function connectionWords(relation: DirectRelation): ConnectionWords {
  const word = directStateWords(relation);
  const { icon, tone } = LOOKS[word] ?? { icon: "question", tone: "quiet" };
  return { icon, tone, word, sentence: sentenceOf(relation, word) };
}

function sentenceOf(relation: DirectRelation, word: string): string {
  const { state, initiated, current, remote } = relation;
  if (!current && !isPast(relation))
    return "This Group or instance has since been replaced, so nothing gets through. End this connection, then connect again.";
  switch (word) {
    case "online":
      return "Both Groups can now write to each other.";
    case "online, messages are refused":
      return "The machines are connected, but messages are refused. They wait for up to 15 minutes.";
    case "active but offline":
      return initiated
        ? "svc tries to connect every 5 seconds. Messages wait for up to 15 minutes."
        : "Waiting for the other side to connect. Messages wait for up to 15 minutes.";
    case "checking approval":
      return "The time for approval is over, and the other side hasn’t said what it decided. svc asks once a minute.";
    case "pending approval":
      if (state === "invited" || remote === null) return "No one has used the invitation yet.";
      return initiated
        ? "The other side must approve. The person there sees the same six words."
        : "Someone used the invitation. Compare the six words before you approve.";
    case "expired":
      return `${initiated ? "The other side says no one" : "No one"} approved in time. To connect, you need a new invitation.`;
    default:
      return "Ended for good. Messages that arrived stay. To connect again, you need a new invitation.";
  }
}

/** What can go wrong, and what helps. The error itself is the daemon's sentence. */
export function remedyFor({
  initiated,
  error,
  online,
}: Pick<DirectRelation, "initiated" | "error" | "online">): string | null {
  if (error === null) return null;
  if (online) return "Set both machines’ clocks from a time server. Messages then go through on their own.";
  return initiated
    ? "Check that svc is running and listening on the other side, and that no router or firewall blocks its address. svc keeps trying."
    : "The other side keeps trying to connect. If this doesn’t change, ask the person there what they see.";
}

/** For errors whose remedy names commands: what helps in the dialog. */
const REMEDIES: Readonly<Record<string, string>> = {
  direct_state: "It has changed since you looked. You now see its current state.",
  direct_not_found: "It’s gone: someone removed it, or the Group was cleared.",
  conflict: "Someone else has changed the listener. Check it again before you change it.",
};

/** By the first word of the field with the wrong value. */
const FIELDS: Readonly<Record<string, string>> = {
  listener:
    "Enter IP:PORT for this machine, and NAME:PORT or IP:PORT for the other side. The highest port is 65535.",
  display_name: "The name must be one short line without invisible characters. Type it again.",
  invitation:
    "This isn’t a complete invitation. Copy all of it, from svc-direct: to the end, or ask for a new one.",
};

/** What helps when a change was refused; null if the daemon's own sentence says it. */
export function remedyForChange({
  code,
  details,
}: {
  code: string;
  details: Record<string, unknown>;
}): string | null {
  if (code !== "invalid_args") return REMEDIES[code] ?? null;
  const field = typeof details["field"] === "string" ? details["field"].split(".")[0]! : "";
  return FIELDS[field] ?? null;
}

/** What ends the connection in its current state. */
export function endingOf(relation: DirectRelation): Ending {
  const { state, initiated, remote } = relation;
  const who = peerName(relation);
  if (isPast(relation)) {
    return {
      operation: "connect_direct_remove",
      ask: "Remove…",
      act: "Remove it",
      consequences:
        "The connection is removed from this list, with the other side’s names and keys. Messages that arrived stay in the Group, but you can no longer reply to them.",
    };
  }
  const revoke = { operation: "connect_direct_revoke" } as const;
  if (state === "invited" || remote === null) {
    return {
      ...revoke,
      ask: "Withdraw…",
      act: "Withdraw the invitation",
      consequences: "The invitation can no longer be used. You can make another one at any time.",
    };
  }
  if (state === "pending" && !initiated) {
    return {
      ...revoke,
      ask: "Refuse…",
      act: "Refuse for good",
      consequences: `${who} won’t be connected, and the invitation can’t be used again.`,
    };
  }
  const there = initiated
    ? "The other side isn’t told. You appear offline there until the person there revokes it too."
    : "The other side learns of it the next time it connects.";
  return {
    ...revoke,
    ask: state === "pending" ? "Withdraw…" : "Revoke…",
    act: state === "pending" ? "Withdraw the request" : "Revoke for good",
    consequences: `Ends the connection with ${who} for good. Messages waiting to be sent fail, those on their way may stay unconfirmed, and those that arrived stay. ${there} To connect again, you need a new invitation.`,
  };
}
