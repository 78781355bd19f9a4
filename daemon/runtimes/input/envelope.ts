/**
 * Messages as a runtime reads them, with a short envelope around each. Our lines begin with
 * `[svc]`, and what someone else chose is in “quotation marks” there. Every line of someone's text
 * begins with `> `, so that no text can imitate an envelope.
 * The text contains no control sequence that could end the paste. Anything that would reverse or
 * hide text is visible, as in the Workbench.
 */

import type { ChatMessage, EventOf, InboxEvent, MessageEvent } from "../../../shared/events.ts";
import { shownText } from "../../../shared/foreign-text.ts";
import { noticeWords, quoted, senderWords } from "../../../shared/voice.ts";

const BULLET = "[svc]";
const QUOTE = "> ";
const NAME_CHARACTERS = 120;
const NOTICE_CHARACTERS = 400;

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
function quotation(text: string, { markdown }: Reader): string[] {
  const lines = neutralised(text)
    .split("\n")
    .map((line) => QUOTE + line);
  return markdown ? [...lines, ""] : lines;
}

/** How this runtime answers: with our MCP tools, or with the command line. */
export type AnswerWith = "mcp" | "command";

export interface Reader {
  answerWith: AnswerWith;
  /** Its screen shows prompts as Markdown. */
  markdown: boolean;
}

export interface Parcel {
  event: InboxEvent;
  /** It may have reached the runtime before. */
  redelivered: boolean;
}

function howToAnswer(id: string, asked: boolean, answerWith: AnswerWith): string {
  const way =
    answerWith === "mcp" ? `svc_message_reply with event_id ${id}` : `svc reply ${id} "your answer"`;
  return asked ? `${BULLET} A reply is requested: ${way}` : `${BULLET} To answer: ${way}`;
}

function attachmentLines({ attachments }: ChatMessage): string[] {
  return attachments.map(
    ({ name, bytes }) => `${BULLET} attached: ${quoted(name, NAME_CHARACTERS)} (${bytes} bytes)`,
  );
}

function messageLines(event: MessageEvent, redelivered: boolean, reader: Reader): string[] {
  const { id, data } = event;
  const { insight, quote_text: quote } = data;
  const again = redelivered ? ", sent again" : "";
  const text = data.text === "" ? [] : quotation(data.text, reader);
  const about = quote === undefined ? [] : [`${BULLET} about:`, ...quotation(quote, reader)];
  return [
    `${BULLET} message ${id} from ${senderWords(event)}${again}`,
    ...about,
    ...(about.length > 0 && text.length > 0 ? [`${BULLET} says:`] : []),
    ...text,
    ...(insight === undefined ? [] : [`${BULLET} remark:`, ...quotation(insight, reader)]),
    ...attachmentLines(data),
    howToAnswer(id, data.message_mode === "request_reply", reader.answerWith),
  ];
}

function noticeLine({ id, data: { title, message } }: EventOf<"system.notify">): string {
  return `${BULLET} notice ${id}: ${noticeWords(title, NOTICE_CHARACTERS)}. ${noticeWords(message, NOTICE_CHARACTERS)}`;
}

/** The lines of one message or notice. */
export function parcelText({ event, redelivered }: Parcel, reader: Reader): string {
  if (event.kind === "system.notify") return noticeLine(event);
  return messageLines(event, redelivered, reader).join("\n");
}

/** One bracketed paste of `text`, which must be neutralised. */
export function asPaste(text: string): string {
  return `\u001b[200~${text}\u001b[201~`;
}
