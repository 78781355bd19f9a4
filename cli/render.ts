/** Events, times and Actors as people read them. */
import type { LedgerEvent, MessageEvent } from "../shared/events.ts";
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

const MODES = { send: "", mail: "mail", request_reply: "wants a reply" } as const;

/** One event: a message with its text indented, anything else on one line. */
export function printEvent(out: Output, event: LedgerEvent): void {
  if (event.kind === "chat.message") {
    printMessage(out, event);
    return;
  }
  const { title, message }: Readonly<Record<string, unknown>> = event.data;
  const told = [title, message].filter((part) => typeof part === "string").map((part) => oneLine(part));
  const words = told.length > 0 ? `  ${told.join(": ")}` : "";
  out.line(`${headOf(out, event, event.by)}  ${oneLine(event.kind)}${words}  ${out.style("dim", event.id)}`);
}

function headOf(out: Output, { ts }: LedgerEvent, by: string): string {
  return `${out.style("dim", moment(ts))}  ${out.style("bold", oneLine(by))}`;
}

function printMessage(out: Output, event: MessageEvent): void {
  const { data } = event;
  const parties = partiesOf(event, oneLine);
  // Local Actors and people are shown by their ids. An instance's id means nothing to a reader.
  const by =
    parties.from !== null && isFromElsewhere(data) ? `${parties.sender} of ${parties.from}` : event.by;
  const mode = MODES[data.message_mode];
  const to = addressOf(parties);
  const head = headOf(out, event, by);
  out.line(`${head} → ${to}${mode === "" ? "" : `  [${mode}]`}  ${out.style("dim", event.id)}`);
  if (data.reply_to) out.line(`    ${out.style("dim", `reply to ${data.reply_to}`)}`);
  for (const line of plain(data.text).split("\n")) out.line(`    ${line}`);
  if (data.insight) out.line(`    ${out.style("yellow", `insight: ${oneLine(data.insight)}`)}`);
  for (const file of data.attachments)
    out.line(
      `    ${out.style("dim", `file: ${oneLine(file.name)} (${sizeWords(file.bytes)}) ${file.sha256}`)}`,
    );
}
