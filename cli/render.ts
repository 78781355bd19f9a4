/** Events, times and Actors as people read them. */

import type { LedgerEvent, MessageEvent } from "../shared/events.ts";
import { addressOf, partiesOf } from "../shared/message-parties.ts";
import { sizeWords } from "../shared/size-words.ts";
import { authorWords, labelled, localId, noticeWords, quoted } from "../shared/voice.ts";
import { type Output, oneLine, plain } from "./output.ts";

/** Local time to the second. Anything that isn't a time stays unchanged. */
export function moment(timestamp: string): string {
  const time = new Date(timestamp);
  if (Number.isNaN(time.getTime())) return oneLine(timestamp);
  const two = (number: number) => String(number).padStart(2, "0");
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())} ${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
}

/** `1 segment`, `2 segments`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** Delivery status of a message to another instance. */
export const DELIVERY_WORDS = {
  queued: "Queued for delivery",
  sent: "Delivered",
  failed: "Not delivered",
  unconfirmed: "Possibly delivered, not confirmed",
};

/** The same for the withdrawal of a request. */
export const WITHDRAWAL_WORDS = {
  queued: "Withdrawn here; queued for the other instance",
  sent: "Withdrawn in both Groups",
  failed: "Withdrawn here; the other instance refused it",
  unconfirmed: "Withdrawn here; not confirmed by the other instance",
};

/** What is quoted of a notice or a remark. */
const NOTICE_CHARACTERS = 400;

const MODES = { send: "", mail: "mail", request_reply: "wants a reply" } as const;

/** One event: a message with its text indented, anything else on one line. */
export function printEvent(out: Output, event: LedgerEvent): void {
  if (event.kind === "chat.message") {
    printMessage(out, event);
    return;
  }
  const { title, message }: Readonly<Record<string, unknown>> = event.data;
  const told = [title, message]
    .filter((part) => typeof part === "string")
    .map((part) => (event.kind === "system.notify" ? noticeWords(part, NOTICE_CHARACTERS) : labelled(part)));
  const words = told.length > 0 ? `  ${told.join(": ")}` : "";
  out.line(`${headOf(out, event)}  ${oneLine(event.kind)}${words}  ${out.style("dim", event.id)}`);
}

function headOf(out: Output, event: LedgerEvent): string {
  return `${out.style("dim", moment(event.ts))}  ${out.style("bold", authorWords(event))}`;
}

function printMessage(out: Output, event: MessageEvent): void {
  const { data } = event;
  const parties = partiesOf(event, localId);
  const mode = MODES[data.message_mode];
  const to = addressOf(parties);
  const head = headOf(out, event);
  out.line(`${head} → ${to}${mode === "" ? "" : `  [${mode}]`}  ${out.style("dim", event.id)}`);
  if (data.reply_to) out.line(`    ${out.style("dim", `reply to ${data.reply_to}`)}`);
  for (const line of plain(data.text).split("\n")) out.line(`    ${out.style("dim", ">")} ${line}`.trimEnd());
  if (data.insight)
    out.line(`    ${out.style("yellow", `insight: ${quoted(data.insight, NOTICE_CHARACTERS)}`)}`);
  for (const file of data.attachments)
    out.line(
      `    ${out.style("dim", `file: ${quoted(file.name)} (${sizeWords(file.bytes)}) ${file.sha256}`)}`,
    );
}
