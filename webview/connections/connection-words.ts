/** What a Direct connection's row says: its state, what that means, what can be done, and what that does. Pure. */
import { directStateWords } from "../../shared/direct-words.ts";
import { shownName } from "../../shared/foreign-text.ts";
import type { DirectRelation } from "../../shared/operations/direct.ts";
import type { Tone } from "../controls/controls.ts";
import type { IconName } from "../controls/icons.ts";
import type { HostError } from "../hosts/host.ts";

export interface ConnectionWords {
  icon: IconName;
  word: string;
  tone: Tone;
  /** What it means now, or what to do. */
  sentence: string;
}

/** An action that can't be taken back, and its consequences. */
export interface Ending {
  operation: "connect_direct_revoke" | "connect_direct_remove";
  /** On the button that asks. */
  ask: string;
  /** On the button that does it. */
  act: string;
  consequences: string;
}

/** "Lab at office", as the other side calls itself. */
export function peerName({ remote }: Pick<DirectRelation, "remote">): string {
  return remote === null ? "nobody yet" : `${shownName(remote.title)} at ${shownName(remote.name)}`;
}

/** The time for approval runs, and somebody here has to compare words. */
export function awaitsApproval({ state, remote, initiated, expired, current }: DirectRelation): boolean {
  return state === "pending" && remote !== null && !initiated && !expired && current;
}

export function isPast({ state }: Pick<DirectRelation, "state">): boolean {
  return state === "revoked" || state === "expired";
}

const LOOKS: Readonly<Record<string, { icon: IconName; tone: Tone }>> = {
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
    return "This Group or this instance was replaced since: nothing goes through it any more. End it and connect anew.";
  switch (word) {
    case "online":
      return "Both Groups can write to each other now.";
    case "online, messages are refused":
      return "The two machines are connected. Messages wait for up to 15 minutes.";
    case "active but offline":
      return initiated
        ? "Dialled every 5 seconds. Messages wait for up to 15 minutes."
        : "The other side dials. Messages wait for up to 15 minutes.";
    case "checking approval":
      return "The time for approval is over; the other side hasn’t said yet what it decided. Asked once per minute.";
    case "pending approval":
      if (state === "invited" || remote === null) return "The invitation is out; nobody has used it yet.";
      return initiated
        ? "The other side has to approve. Its person sees the same six words."
        : "Somebody used the invitation. Compare the six words before you approve.";
    case "expired":
      return `${initiated ? "The other side says that nobody" : "Nobody"} approved in time. A new invitation is needed.`;
    default:
      return "Ended for good. Messages that arrived stay. A new invitation is needed to connect again.";
  }
}

/** What can go wrong on the way, and what helps; the error itself is the daemon's sentence. */
export function remedyFor({
  initiated,
  error,
  online,
}: Pick<DirectRelation, "initiated" | "error" | "online">): string | null {
  if (error === null) return null;
  if (online)
    return "Let both machines set their clocks by a time server. Messages then go through by themselves.";
  return initiated
    ? "Is the other side’s svc running and listening, and does a router or firewall let its address through? It is dialled again by itself."
    : "The other side dials again by itself. If this stays, ask its person what is shown there.";
}

/** Where the daemon's own remedy names commands, what helps in the dialog. */
const REMEDIES: Readonly<Record<string, string>> = {
  direct_state: "It changed meanwhile; what is shown is new.",
  direct_not_found: "It is gone: somebody removed it, or the Group was cleared.",
  conflict: "Somebody else changed the listener meanwhile. Look at it again before you change it.",
};

/** By the first word of the field that a wrong value stands in. */
const FIELDS: Readonly<Record<string, string>> = {
  listener: "An address is IP:PORT here and NAME:PORT or IP:PORT for the other side; ports go to 65535.",
  display_name:
    "The name is one short line. Something in it can’t be seen or turns text around: type it anew.",
  invitation:
    "This isn’t a whole invitation. Copy all of it, from svc-direct: to its end, or ask for a new one.",
};

/** What helps when a change was refused; null where the daemon's own sentence says it. */
export function remedyForChange({ code, details }: Pick<HostError, "code" | "details">): string | null {
  if (code !== "invalid_args") return REMEDIES[code] ?? null;
  const field = typeof details["field"] === "string" ? details["field"].split(".")[0]! : "";
  return FIELDS[field] ?? null;
}

/** What ends the connection where it stands. */
export function endingOf(relation: DirectRelation): Ending {
  const { state, initiated, remote } = relation;
  const who = peerName(relation);
  if (isPast(relation)) {
    return {
      operation: "connect_direct_remove",
      ask: "Remove…",
      act: "Remove it",
      consequences:
        "The connection goes from this list, with the names and keys of the other side. Messages that arrived stay in the Group; they can’t be answered any more.",
    };
  }
  const revoke = { operation: "connect_direct_revoke" } as const;
  if (state === "invited" || remote === null) {
    return {
      ...revoke,
      ask: "Withdraw…",
      act: "Withdraw the invitation",
      consequences: "Whoever has the invitation can’t use it any more. Another one can be made at any time.",
    };
  }
  if (state === "pending" && !initiated) {
    return {
      ...revoke,
      ask: "Refuse…",
      act: "Refuse for good",
      consequences: `${who} isn’t connected, and the invitation can’t be used again.`,
    };
  }
  const there = initiated
    ? "The other side isn’t told: there it looks as if you were offline, until its person revokes it too."
    : "The other side learns it as soon as it dials.";
  return {
    ...revoke,
    ask: state === "pending" ? "Withdraw…" : "Revoke…",
    act: state === "pending" ? "Stop asking" : "Revoke for good",
    consequences: `Ends the connection with ${who} for good. What waits to be sent fails, what is under way may stay unconfirmed, and what arrived stays. ${there} To connect again needs a new invitation.`,
  };
}

/** A Group's connections in a word for its header; null when there is none that lives or is to come. */
export function connectionsInBrief(relations: readonly DirectRelation[]): ConnectionWords | null {
  const living = relations.filter((relation) => !isPast(relation));
  if (living.length === 0) return null;
  const came = living.find(awaitsApproval);
  if (came !== undefined) {
    const sentence = `${peerName(came)} asks to be connected: compare the words and approve, or refuse.`;
    return { icon: "bell-dot", tone: "attention", word: "approve", sentence };
  }
  const approved = living.filter(({ state }) => state === "active");
  if (approved.length === 0) {
    return { icon: "clock", tone: "quiet", word: "pending", sentence: "A connection waits to be approved." };
  }
  const names = approved.map((relation) => `${peerName(relation)}: ${directStateWords(relation)}`).join("\n");
  const offline = approved.filter(({ online }) => !online).length;
  const refused = approved.filter(({ online, error }) => online && error !== null).length;
  const only = approved.length === 1 ? shownName(approved[0]!.remote?.name ?? "") : null;
  if (offline === 0 && refused > 0) {
    const word = only === null ? `${refused} of ${approved.length} refused` : `${only} refuses`;
    return { icon: "warning", tone: "attention", word, sentence: names };
  }
  if (offline === 0) {
    const word = only === null ? `${approved.length} online` : `${only} online`;
    return { icon: "plug", tone: "good", word, sentence: names };
  }
  const word = only === null ? `${offline} of ${approved.length} offline` : `${only} offline`;
  return { icon: "warning", tone: "attention", word, sentence: names };
}
