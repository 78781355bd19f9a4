/**
 * What an agent reads of a result: text as its person sees it, and beside each message who wrote
 * it, in svc's own words.
 */

import type { MessageEvent } from "../shared/events.ts";
import { shownText } from "../shared/foreign-text.ts";
import { senderWords } from "../shared/voice.ts";

function isMessage(value: object): value is MessageEvent {
  const { kind, by, data } = value as Record<string, unknown>;
  return kind === "chat.message" && typeof by === "string" && typeof data === "object" && data !== null;
}

/** The same value, with `_from` in each message and without characters that hide or turn text. */
export function told(value: unknown): unknown {
  if (typeof value === "string") return shownText(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(told);
  const members = Object.entries(value).map(([name, member]) => [shownText(name), told(member)] as const);
  return Object.fromEntries(isMessage(value) ? [["_from", senderWords(value)], ...members] : members);
}
