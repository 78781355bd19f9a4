/** Ledgers as the rows need them: on the real disk, with events of 600 bytes. */
import { Ledger } from "../../daemon/ledger/ledger.ts";
import type { EventHead, NewEvent } from "../../daemon/ledger/types.ts";
import { RealClock } from "../../daemon/platform/real-clock.ts";
import { RealFiles } from "../../daemon/platform/real-files.ts";
import { RealRandom } from "../../daemon/platform/real-random.ts";

export const LINE_BYTES = 600;
/** What is left for the text of such a line. */
const TEXT_BYTES = 197;
const BATCH_EVENTS = 1000;
const WORDS =
  "amber basin cedar delta ember fjord grove haven inlet jetty knoll lagoon meadow north ocean prairie".split(
    " ",
  );

function keyOf(event: EventHead): string | undefined {
  const clientId = event.kind === "chat.message" ? event.string("client_id") : undefined;
  return clientId === undefined ? undefined : `${event.by}\n${clientId}`;
}

/** A message whose line has `LINE_BYTES` bytes; every twentieth of them also says "harbour". */
export function message(number: number): NewEvent {
  const clientId = `client-${String(number).padStart(9, "0")}`;
  let text = number % 20 === 0 ? "harbour" : "harvest";
  for (let at = number; text.length < TEXT_BYTES; at += 7) text += ` ${WORDS[at % WORDS.length]!}`;
  const data = {
    message_mode: "send",
    to: ["builder"],
    to_generations: { builder: "0b6cf1b5-7c0c-4b64-9c0f-3a54c0a1c0de" },
    client_id: clientId,
    sender_title: "Reviewer",
    text: text.slice(0, TEXT_BYTES),
    format: "plain",
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

/** A closed ledger of so many events in `directory`. */
export async function fill(directory: string, events: number): Promise<void> {
  const ledger = await openLedger(directory);
  for (let from = 0; from < events; from += BATCH_EVENTS) {
    const count = Math.min(BATCH_EVENTS, events - from);
    await ledger.appendAll(Array.from({ length: count }, (_, at) => message(from + at)));
  }
  await ledger.compact();
  await ledger.close();
}
