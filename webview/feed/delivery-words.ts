/**
 * What happened to a message, in words: for each recipient an icon, a word, and the reason
 * (docs/interface.md#delivery-in-words).
 */

import type { ChatMessage } from "../../shared/events.ts";
import { shownText } from "../../shared/foreign-text.ts";
import { placeOf, remoteName } from "../../shared/message-parties.ts";
import { COMES_AGAIN, WAITS_IN_INBOX, WITHDRAWN } from "../../shared/names.ts";
import type { MessageStatus } from "../../shared/operations/messages.ts";
import type { Tone } from "../controls/controls.ts";
import type { IconName } from "../controls/icons.ts";

export interface DeliveryWord {
  icon: IconName;
  word: string;
  tone: Tone;
  /** One sentence for the tooltip. */
  fact: string;
  /** Since when; null when it wasn't recorded. */
  ts: string | null;
}

export interface RecipientDelivery {
  recipient: string;
  /** The name that is shown. */
  who: string;
  words: DeliveryWord[];
  /** May be delivered again on purpose. `ambiguous`: it may have arrived already. */
  again: "no" | "failed" | "ambiguous";
  /** It hasn't got the message yet, which can be withdrawn. */
  waits: boolean;
}

type Delivery = NonNullable<MessageStatus["delivery_status"][string]>;
type Obligation = NonNullable<MessageStatus["obligation_status"][string]>;

function because(reason: string): string {
  return reason === "" ? "" : ` (${reason.replaceAll("_", " ")})`;
}

function deliveryWord(who: string, status: Delivery, mail: boolean): DeliveryWord {
  const { ts } = status;
  switch (status.state) {
    case "pending":
      if (status.reason.includes(WAITS_IN_INBOX))
        return {
          icon: "inbox",
          word: "waits in the Inbox",
          tone: "quiet",
          fact: `svc types nothing into ${who}’s program, because it isn’t marked as reading prompts. The message waits in the Inbox until ${who} reads it.`,
          ts,
        };
      return mail
        ? { icon: "mail", word: "in the Inbox", tone: "quiet", fact: `${who} hasn't read this Mail yet.`, ts }
        : {
            icon: "clock",
            word: "pending",
            tone: "quiet",
            fact: `Waiting for ${who} to take it${because(status.reason)}.`,
            ts,
          };
    case "claimed":
      return {
        icon: "sync",
        word: status.reason === "session_ended" ? "claimed, to be redelivered" : "claimed",
        tone: "quiet",
        fact:
          status.reason === "session_ended"
            ? `Handed to ${who}, which left without confirming it. It will be delivered again.`
            : `Handed to ${who}, which hasn't confirmed it yet.`,
        ts,
      };
    case "queued":
      return {
        icon: "clock",
        word: "queued",
        tone: "quiet",
        fact: `${who} is busy and has it queued. It is delivered again if ${who} stops before reading it.`,
        ts,
      };
    case "accepted":
      return { icon: "check", word: "accepted", tone: "good", fact: `${who} confirmed that it arrived.`, ts };
    case "failed":
      if (status.reason === WITHDRAWN)
        return {
          icon: "circle-slash",
          word: "withdrawn",
          tone: "quiet",
          fact: `It was withdrawn before ${who} got it.`,
          ts,
        };
      return {
        icon: "error",
        word: `failed${because(status.reason)}`,
        tone: "bad",
        fact: `It didn't reach ${who}${because(status.reason)}.`,
        ts,
      };
    case "ambiguous":
      return {
        icon: "question",
        word: "not confirmed",
        tone: "attention",
        fact: `It may have reached ${who}: it was handed over, but never confirmed${because(status.reason)}.`,
        ts,
      };
    case "read":
      return { icon: "eye", word: "read", tone: "good", fact: `${who} read it.`, ts };
  }
}

function obligationWord(who: string, status: Obligation, isPerson: boolean): DeliveryWord {
  const ts = status.ts ?? null;
  switch (status.state) {
    case "open":
      return {
        icon: "reply",
        word: isPerson ? "awaiting your reply" : "awaiting reply",
        tone: "attention",
        fact: isPerson ? "You haven't replied yet." : `${who} hasn't replied yet.`,
        ts,
      };
    case "replied":
      return { icon: "reply", word: "replied", tone: "good", fact: `${who} replied.`, ts };
    case "cancelled":
      return {
        icon: "circle-slash",
        word: "request cancelled",
        tone: "quiet",
        fact: `The reply request to ${who} was cancelled.`,
        ts,
      };
  }
}

type Propagation = NonNullable<MessageStatus["connect_delivery"]>;

/** The delivery status of a message to another instance (docs/interface.md#delivery-in-words). */
function connectWord(who: string, { state, error }: Propagation): DeliveryWord {
  const why = error === undefined ? "" : shownText(error.message);
  switch (state) {
    case "queued":
      return {
        icon: "clock",
        word: "queued",
        tone: "quiet",
        fact: `Queued here until ${who} can be reached, for up to 15 minutes after it was written.`,
        ts: null,
      };
    case "sent":
      return { icon: "check", word: "delivered", tone: "good", fact: `Delivered to ${who}.`, ts: null };
    case "failed":
      return {
        icon: "error",
        word: `failed${briefly(why)}`,
        tone: "bad",
        fact: `It didn't reach ${who} and never will. ${why}`.trim(),
        ts: null,
      };
    case "unconfirmed":
      return {
        icon: "question",
        word: `not confirmed${briefly(why)}`,
        tone: "attention",
        fact: `It may have reached ${who}: it was sent, but no receipt came in time. ${why}`.trim(),
        ts: null,
      };
  }
}

/** The same for a withdrawn request, which the other side has to learn about. */
function withdrawalWord(who: string, { state, error }: Propagation): DeliveryWord | null {
  const why = error === undefined ? "" : ` ${shownText(error.message)}`;
  switch (state) {
    case "queued":
      return {
        icon: "clock",
        word: "withdrawal queued",
        tone: "quiet",
        fact: `${who} will be told that the request was withdrawn as soon as it can be reached.`,
        ts: null,
      };
    case "sent":
      return {
        icon: "circle-slash",
        word: "withdrawn there too",
        tone: "quiet",
        fact: `The request is withdrawn in ${who} as well.`,
        ts: null,
      };
    case "failed":
    case "unconfirmed":
      return {
        icon: "warning",
        word: state === "failed" ? "withdrawal failed" : "withdrawal not confirmed",
        tone: "attention",
        fact: `${who} may still see the request as open.${why}`,
        ts: null,
      };
  }
}

/** The first sentence, for places with room for only one. */
function briefly(why: string): string {
  return why === "" ? "" : `: ${why.split(/(?<=\.)\s/u, 1)[0]!.replace(/\.$/, "")}`;
}

/** Whose states these are: recipients here, or the other Group and the recipients there. */
function addressees(message: ChatMessage, name: (recipient: string) => string): Map<string, string> {
  const named = new Map<string, string>();
  const { dst_instance_id: dstInstanceId, dst_group_id: dstGroupId, dst_to: dstTo = [] } = message;
  if (dstInstanceId !== undefined) {
    for (const to of dstTo)
      named.set(`connect:${dstInstanceId}::${to}`, remoteName(to, message.dst_actor_titles));
  } else if (dstGroupId !== undefined) {
    named.set(dstGroupId, message.dst_group_title ?? "the other Group");
    for (const to of dstTo) named.set(`${dstGroupId}::${to}`, to);
  }
  for (const to of message.to) named.set(to, to === "user" ? "You" : name(to));
  return named;
}

/**
 * The words for each recipient of a message, in the order of `to`. `name` gives a recipient's name
 * as it is shown. Messages to the person only say what they still owe.
 */
export function deliveries(
  status: MessageStatus,
  message: ChatMessage,
  name: (recipient: string) => string,
): RecipientDelivery[] {
  const mail = message.message_mode === "mail";
  return [...propagation(status, message), ...recipientsOf(status, message, name, mail)];
}

/** The delivery between the instances, which is the same for all recipients. */
function propagation(status: MessageStatus, message: ChatMessage): RecipientDelivery[] {
  const { connect_delivery: connectDelivery, connect_cancellation: connectCancellation } = status;
  const there =
    message.dst_instance_id !== undefined
      ? placeOf(message.dst_group_title, message.dst_instance_name)
      : placeOf(message.src_group_title, message.src_instance_name);
  // Their request was withdrawn there first, as its own status already says.
  const isKnown = message.src_instance_id !== undefined && connectCancellation?.state === "sent";
  const words = [
    connectDelivery === null ? null : connectWord(there, connectDelivery),
    connectCancellation === null || isKnown ? null : withdrawalWord(there, connectCancellation),
  ].filter((word) => word !== null);
  return words.length === 0 ? [] : [{ recipient: "", who: there, words, again: "no", waits: false }];
}

function recipientsOf(
  status: MessageStatus,
  message: ChatMessage,
  name: (recipient: string) => string,
  mail: boolean,
): RecipientDelivery[] {
  return [...addressees(message, name)].map(([recipient, who]) => {
    const words: DeliveryWord[] = [];
    const delivery = status.delivery_status[recipient];
    const obligation = status.obligation_status[recipient];
    const read = status.read_status[recipient];
    if (recipient !== "user" && obligation?.state !== "replied") {
      if (delivery !== undefined) words.push(deliveryWord(who, delivery, false));
      else if (read !== undefined)
        words.push(deliveryWord(who, { state: read ? "read" : "pending", reason: "", ts: null }, mail));
    }
    // No one owes a reply to a message that never arrived there.
    const isVain =
      (obligation?.state === "open" && status.connect_delivery?.state === "failed") ||
      delivery?.reason === WITHDRAWN;
    if (obligation !== undefined && !isVain)
      words.push(obligationWord(who, obligation, recipient === "user"));
    const isHere = message.to.includes(recipient);
    return {
      recipient,
      who,
      words,
      again: isHere ? againOf(delivery) : "no",
      waits: isHere && !isAcross(message) && isNew(delivery),
    };
  });
}

function isAcross({ src_group_id, src_instance_id, dst_group_id, dst_instance_id }: ChatMessage): boolean {
  return (src_group_id ?? src_instance_id ?? dst_group_id ?? dst_instance_id) !== undefined;
}

/** Nobody has had it. What comes again may be known already. */
function isNew(delivery: Delivery | undefined): boolean {
  return delivery?.state === "pending" && !delivery.reason.startsWith(COMES_AGAIN);
}

/** After an Actor's removal its messages can't be delivered, and an import delivers nothing. */
function againOf(delivery: Delivery | undefined): RecipientDelivery["again"] {
  if (delivery === undefined || ["actor_removed", "imported", WITHDRAWN].includes(delivery.reason))
    return "no";
  if (delivery.state === "failed") return "failed";
  // A queued message is delivered again automatically if necessary.
  return delivery.state === "ambiguous" || delivery.state === "claimed" ? "ambiguous" : "no";
}

/**
 * For a message that needs nothing more: its words if they are the same for all, with every reason;
 * null while something is open.
 */
export function settled(list: readonly RecipientDelivery[]): DeliveryWord[] | null {
  const told = list.filter(({ words }) => words.length > 0);
  if (told.length === 0 || !alike(told)) return null;
  if (told.some(({ words }) => words.some(({ tone }) => tone !== "good"))) return null;
  return told[0]!.words.map((word, at) => ({
    ...word,
    fact: told.map(({ words }) => words[at]!.fact).join("\n"),
  }));
}

/** True when every recipient's words are the same, so that one line says it for all. */
export function alike(list: readonly RecipientDelivery[]): boolean {
  const say = (entry: RecipientDelivery) => entry.words.map((word) => word.word).join("|");
  return list.every((entry) => say(entry) === say(list[0] ?? entry));
}
