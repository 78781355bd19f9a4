/** Events, times and Actors as people read them. */
import type { LedgerEvent } from "../shared/events.ts";
import { addressOf, isFromElsewhere, partiesOf } from "../shared/message-parties.ts";
import { sizeWords } from "../shared/size-words.ts";
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

const MODES: Readonly<Record<string, string>> = { send: "", mail: "mail", request_reply: "wants a reply" };

interface MessageData {
  message_mode?: string;
  text?: string;
  insight?: string;
  reply_to?: string;
  attachments?: { name: string; bytes: number; sha256: string }[];
}

/** One event: a message with its text indented, anything else on one line. */
export function printEvent(out: Output, event: LedgerEvent): void {
  const parties = event.kind === "chat.message" ? partiesOf(event, oneLine) : null;
  // Local Actors and people are shown by their ids. An instance's id means nothing to a reader.
  const by =
    parties?.from && isFromElsewhere(event) ? `${parties.sender} of ${parties.from}` : oneLine(event.by);
  const head = `${out.style("dim", moment(event.ts))}  ${out.style("bold", by)}`;
  if (parties === null) {
    const { title, message } = event.data as { title?: unknown; message?: unknown };
    const told = [title, message].filter((part) => typeof part === "string").map((part) => oneLine(part));
    out.line(
      `${head}  ${event.kind}${told.length > 0 ? `  ${told.join(": ")}` : ""}  ${out.style("dim", event.id)}`,
    );
    return;
  }
  const data = event.data as MessageData;
  const mode = MODES[data.message_mode ?? ""] ?? "";
  const to = addressOf(parties);
  out.line(`${head} → ${to}${mode === "" ? "" : `  [${mode}]`}  ${out.style("dim", event.id)}`);
  if (data.reply_to) out.line(`    ${out.style("dim", `reply to ${data.reply_to}`)}`);
  for (const line of plain(data.text ?? "").split("\n")) out.line(`    ${line}`);
  if (data.insight) out.line(`    ${out.style("yellow", `insight: ${oneLine(data.insight)}`)}`);
  for (const file of data.attachments ?? [])
    out.line(
      `    ${out.style("dim", `file: ${oneLine(file.name)} (${sizeWords(file.bytes)}) ${file.sha256}`)}`,
    );
}
