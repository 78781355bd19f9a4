/**
 * What producers were told about one Group, and whether the Group's ledger keeps to it. Pure: the
 * same checks serve the real runs and the tests that plant faults.
 */
import { createHash } from "node:crypto";
import type { LedgerEvent } from "../../shared/events.ts";

export interface Content {
  text: string;
  message_mode: string;
  to: readonly string[];
  reply_to?: string | undefined;
  /** SHA-256 of each attachment, in order. */
  blobs: readonly string[];
}

interface Attempt {
  digest: string;
  begun: number;
  /** Count of happenings when the answer came; null while unanswered. */
  answered: number | null;
  event_id: string | null;
  /** An answer said that it was the first. */
  first: boolean;
  /** Missing after a restart and not tried again since. */
  absent: boolean;
}

export class MessageHistory {
  readonly #attempts = new Map<string, Attempt>();
  readonly #digests: string[] = [];
  #happenings = 0;

  /**
   * Before a request with this key leaves. The same key again is a retry and must carry the same
   * content.
   */
  begin(key: string, content: Content): void {
    const known = this.#attempts.get(key);
    if (known !== undefined) {
      known.absent = false;
      return;
    }
    const begun = ++this.#happenings;
    this.#attempts.set(key, {
      digest: digestOf(content),
      begun,
      answered: null,
      event_id: null,
      first: false,
      absent: false,
    });
  }

  /** The answer to a request. Gives what is wrong with it, or null. */
  answer(key: string, eventId: string, duplicate: boolean): string | null {
    const attempt = this.#attempts.get(key);
    if (attempt === undefined) return `an answer for ${key}, which nobody sent`;
    const before = attempt.event_id;
    if ((before !== null && before !== eventId) || (attempt.first && !duplicate)) {
      return `${key} was acknowledged as ${before}, the retry was answered ${eventId}, duplicate ${duplicate}`;
    }
    if (!duplicate) attempt.first = true;
    attempt.event_id = eventId;
    attempt.answered ??= ++this.#happenings;
    return null;
  }

  /** Keys whose request was never answered. */
  unanswered(): string[] {
    return [...this.#attempts].filter(([, attempt]) => attempt.event_id === null).map(([key]) => key);
  }

  /**
   * Problems of the Group's whole history as it is read now, nobody sending. `restarted`: the
   * daemon was killed since the last check.
   */
  check(events: readonly LedgerEvent[], restarted: boolean): string[] {
    const problems: string[] = [];
    this.#checkPrefix(events, problems);
    const present = this.#checkMessages(events, problems);
    for (const [key, attempt] of this.#attempts) {
      if (present.has(key)) {
        if (attempt.absent)
          problems.push(`${key} was missing after a crash and is there now, though nobody sent it again`);
        continue;
      }
      if (attempt.event_id !== null) problems.push(`${key}, acknowledged as ${attempt.event_id}, is lost`);
      else if (restarted) attempt.absent = true;
    }
    return problems;
  }

  /** What was read before must stand there unchanged, in the same places. */
  #checkPrefix(events: readonly LedgerEvent[], problems: string[]): void {
    for (const [ordinal, event] of events.entries()) {
      const digest = sha256(JSON.stringify(event));
      const before = this.#digests[ordinal];
      if (before === undefined) this.#digests.push(digest);
      else if (before !== digest) {
        problems.push(`the event at ${ordinal} was another one before`);
        return;
      }
    }
    if (events.length < this.#digests.length) {
      problems.push(`${this.#digests.length} events were read before, ${events.length} now`);
    }
  }

  /** Every keyed message exactly once, as sent, in an order that the answers allow. */
  #checkMessages(events: readonly LedgerEvent[], problems: string[]): Set<string> {
    const present = new Set<string>();
    const ids = new Set<string>();
    let earliestAnswerAfter = Number.POSITIVE_INFINITY;
    for (const event of events.toReversed()) {
      if (ids.has(event.id)) problems.push(`the event id ${event.id} stands there twice`);
      ids.add(event.id);
      if (event.kind !== "chat.message" || event.data.client_id === undefined) continue;
      const { client_id: key } = event.data;
      const attempt = this.#attempts.get(key);
      if (attempt === undefined) {
        problems.push(`${key} was sent by nobody`);
        continue;
      }
      if (present.has(key)) problems.push(`${key} stands there twice`);
      present.add(key);
      if (attempt.event_id !== null && attempt.event_id !== event.id) {
        problems.push(`${key} was acknowledged as ${attempt.event_id} and stands there as ${event.id}`);
      }
      if (digestOf(contentOf(event)) !== attempt.digest) problems.push(`${key} isn't what was sent`);
      if (attempt.begun > earliestAnswerAfter)
        problems.push(`${key} stands before one that was answered before it was sent`);
      if (attempt.answered !== null && attempt.answered < earliestAnswerAfter)
        earliestAnswerAfter = attempt.answered;
    }
    return present;
  }
}

function contentOf(event: LedgerEvent): Content {
  const {
    text,
    message_mode: messageMode,
    to,
    reply_to: replyTo,
    attachments,
  } = event.data as unknown as Content & {
    attachments: { sha256: string }[];
  };
  return {
    text,
    message_mode: messageMode,
    to,
    reply_to: replyTo,
    blobs: attachments.map(({ sha256 }) => sha256),
  };
}

function digestOf({ text, message_mode: messageMode, to, reply_to: replyTo, blobs }: Content): string {
  return sha256(JSON.stringify([text, messageMode, to, replyTo ?? null, blobs]));
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("base64");
}
