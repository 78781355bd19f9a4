/** Ledgers for the rows: on the real disk, with events of 600 bytes. */
import { Ledger } from "../../daemon/ledger/ledger.ts";
import type { EventHead, NewEvent } from "../../daemon/ledger/types.ts";
import { RealClock } from "../../platform/real-clock.ts";
import { RealFiles } from "../../platform/real-files.ts";
import { RealRandom } from "../../platform/real-random.ts";

export const LINE_BYTES = 600;
/** What is left for the text of such a line. */
const TEXT_BYTES = 197;
export const BATCH_EVENTS = 1000;
const WORDS =
  "amber basin cedar delta ember fjord grove haven inlet jetty knoll lagoon meadow north ocean prairie".split(
    " ",
  );

function keyOf(event: EventHead): string | undefined {
  const clientId = event.kind === "chat.message" ? event.string("client_id") : undefined;
  return clientId === undefined ? undefined : `${event.by}\n${clientId}`;
}

/** One event in this many contains this. */
export const RARE = { word: "kalimora", every: 100_000, first: 500 };
/** No event contains this, but its parts are in many words. */
export const ABSENT = "morakali";

/**
 * A word of four syllables out of a hundred, another one for each number: a history has many
 * different words made of the same parts.
 */
function coined(number: number): string {
  let word = "";
  let rest = Math.imul(number + 1, 0x9e3779b1) >>> 0;
  for (let syllable = 0; syllable < 4; syllable += 1) {
    word += "bcdfghjklmnpqrstvwyz"[rest % 20]! + "aeiou"[(rest >>> 5) % 5]!;
    rest = Math.imul(rest ^ (rest >>> 13), 0x85ebca77) >>> 0;
  }
  return word === ABSENT || word === RARE.word ? "" : word;
}

/** Every twentieth text says "harbour". */
export function textOf(number: number): string {
  let text = number % 20 === 0 ? "harbour" : "harvest";
  if (number % RARE.every === RARE.first) text += ` ${RARE.word}`;
  for (let at = 0; at < 4; at += 1) text += ` ${coined(number * 4 + at)}`;
  return text;
}

function wordsFrom(number: number, beginning: string): string {
  let text = beginning;
  for (let at = number; text.length < TEXT_BYTES; at += 7) text += ` ${WORDS[at % WORDS.length]!}`;
  return text.slice(0, TEXT_BYTES);
}

const plainTexts = WORDS.map((_, number) => wordsFrom(number, ""));

/** A message whose line has `LINE_BYTES` bytes. Its text begins with `beginning`. */
export function message(number: number, beginning = ""): NewEvent {
  const clientId = `client-${String(number).padStart(9, "0")}`;
  const text = beginning === "" ? plainTexts[number % WORDS.length]! : wordsFrom(number, beginning);
  const data = {
    message_mode: "send" as const,
    to: ["builder"],
    to_generations: { builder: "0b6cf1b5-7c0c-4b64-9c0f-3a54c0a1c0de" },
    client_id: clientId,
    sender_title: "Reviewer",
    text,
    format: "plain" as const,
    attachments: [],
    refs: [],
  };
  return {
    kind: "chat.message",
    scope_key: "s_0123456789ab",
    by: "reviewer",
    data,
    key: `reviewer\n${clientId}`,
  };
}

export function openLedger(directory: string): Promise<Ledger> {
  const deps = { files: new RealFiles(), clock: new RealClock(), random: new RealRandom() };
  return Ledger.open(deps, directory, { group_id: "g_0123456789ab", projections: [], keyOf });
}

/** A closed ledger of this many events in `directory`. */
export async function fill(directory: string, events: number): Promise<void> {
  const ledger = await openLedger(directory);
  for (let from = 0; from < events; from += BATCH_EVENTS) {
    const count = Math.min(BATCH_EVENTS, events - from);
    await ledger.appendAll(Array.from({ length: count }, (_, at) => message(from + at, textOf(from + at))));
  }
  await ledger.compact();
  await ledger.close();
}
