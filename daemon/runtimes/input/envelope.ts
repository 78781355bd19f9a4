/**
 * Messages as a runtime reads them, with a short envelope around each. Our lines begin with
 * `[svc]`. Every line of someone's text begins with `> `, so that no text can imitate an envelope.
 * The text contains no control sequence that could end the paste. Anything that would reverse or
 * hide text is visible, as in the Workbench.
 */
import type { LedgerEvent } from "../../../shared/events.ts";
import { shownName, shownText } from "../../../shared/foreign-text.ts";

const BULLET = "[svc]";
const QUOTE = "> ";

/** Every character that starts a new line somewhere, as a line feed. */
const LINE_ENDS = /\r\n|[\r\n\v\f\u0085\u2028\u2029]/g;

/** Text whose control characters and hidden ones are shown as signs. Lines end with a line feed. */
export function neutralised(text: string): string {
  return shownText(text.replaceAll(LINE_ENDS, "\n"));
}

/**
 * Its lines. For a Markdown reader, an extra empty one, or the line after a quotation would count
 * as its last one.
 */
function quoted(text: string, { markdown }: Reader): string[] {
  const lines = neutralised(text)
    .split("\n")
    .map((line) => QUOTE + line);
  return markdown ? [...lines, ""] : lines;
}

/** In one line. */
function inline(text: string, characters = 120): string {
  const line = shownName(text).trim();
  return line.length > characters ? `${line.slice(0, characters)}…` : line;
}

/** How this runtime answers: with our MCP tools, or with the command line. */
export type AnswerWith = "mcp" | "command";

export interface Reader {
  answerWith: AnswerWith;
  /** Its screen shows prompts as Markdown. */
  markdown: boolean;
}

export interface Parcel {
  event: LedgerEvent;
  /** It may have reached the runtime before. */
  redelivered: boolean;
}

/**
 * The sender by id and title, with Group and instance if it is elsewhere. Anything from another
 * instance is on one line.
 */
function senderOf({ by, data }: LedgerEvent): string {
  const said = (name: string): string => (typeof data[name] === "string" ? inline(data[name]) : "");
  const isElsewhere = typeof data.src_instance_id === "string";
  const id = isElsewhere ? said("source_user_id") : by;
  const title = said(isElsewhere ? "source_user_name" : "sender_title");
  const group = said("src_group_title");
  const instance = said("src_instance_name") || said("src_instance_id");
  return [
    id,
    ...(title === "" || title === id ? [] : [`(${title})`]),
    ...(group === "" ? [] : [`in ${group}`]),
    ...(instance === "" ? [] : [`on ${instance}`]),
  ].join(" ");
}

function howToAnswer(id: string, asked: boolean, answerWith: AnswerWith): string {
  const way =
    answerWith === "mcp" ? `svc_message_reply with event_id ${id}` : `svc reply ${id} "your answer"`;
  return asked ? `${BULLET} A reply is requested: ${way}` : `${BULLET} To answer: ${way}`;
}

function attachmentLines(data: LedgerEvent["data"]): string[] {
  if (!Array.isArray(data.attachments)) return [];
  return (data.attachments as { name?: unknown; bytes?: unknown }[]).map(
    ({ name, bytes }) => `${BULLET} attached: ${inline(String(name))} (${Number(bytes)} bytes)`,
  );
}

function messageLines({ event, redelivered }: Parcel, reader: Reader): string[] {
  const { id, data } = event;
  const again = redelivered ? ", sent again" : "";
  const text = typeof data.text === "string" && data.text !== "" ? quoted(data.text, reader) : [];
  const about =
    typeof data.quote_text === "string" ? [`${BULLET} about:`, ...quoted(data.quote_text, reader)] : [];
  return [
    `${BULLET} message ${id} from ${senderOf(event)}${again}`,
    ...about,
    ...(about.length > 0 && text.length > 0 ? [`${BULLET} says:`] : []),
    ...text,
    ...(typeof data.insight === "string" ? [`${BULLET} remark:`, ...quoted(data.insight, reader)] : []),
    ...attachmentLines(data),
    howToAnswer(id, data.message_mode === "request_reply", reader.answerWith),
  ];
}

function noticeLines({ id, data }: LedgerEvent): string[] {
  const words = (value: unknown): string => (typeof value === "string" ? inline(value, 400) : "");
  return [`${BULLET} notice ${id}: ${words(data.title)}. ${words(data.message)}`];
}

/** The lines of one message or notice. */
export function parcelText(parcel: Parcel, reader: Reader): string {
  const lines =
    parcel.event.kind === "system.notify" ? noticeLines(parcel.event) : messageLines(parcel, reader);
  return lines.join("\n");
}

/** One bracketed paste of `text`, which must be neutralised. */
export function asPaste(text: string): string {
  return `\u001b[200~${text}\u001b[201~`;
}
