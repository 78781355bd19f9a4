/**
 * Reads the lines of a ledger file into columns for the index: the part of a rebuild that needs
 * only the bytes.
 */

import type { EventData, EventKind } from "../../../shared/events.ts";
import { isEventId, wordsOfId } from "../format/event-id.ts";
import { hashKey } from "../format/key-hash.ts";
import { decodeLine, SPACE } from "../format/line.ts";
import { LineHead } from "../format/line-head.ts";
import { ParsedHead } from "../parsed-head.ts";
import type { EventHead, KeyOf } from "../types.ts";
import type { EventColumns } from "./event-columns.ts";

/** Which member of an event's data names the event that it refers to. */
const REFERENCES = {
  "chat.message": "reply_to",
  "runtime.delivery": "source_event_id",
  "chat.reply_request.cancelled": "source_event_id",
  "chat.cross_group_receipt": "source_event_id",
  "system.notify": "related_event_id",
} as const satisfies { [Kind in EventKind]?: keyof EventData<Kind> };
export const REFERENCE_MEMBERS: Readonly<Record<string, string>> = REFERENCES;

export class SegmentScan {
  readonly #groupId: string;
  readonly #keyOf: KeyOf;
  readonly #head: LineHead;
  readonly #id = new Uint32Array(4);
  readonly #key = new Uint32Array(2);
  readonly #reference = new Uint32Array(4);
  /** What follows from the kind of the last event: the next one is often of the same. */
  #columns: EventColumns | null = null;
  #kind: string | null = null;
  #code = 0;
  #member: string | undefined;

  constructor(groupId: string, keyOf: KeyOf) {
    this.#groupId = groupId;
    this.#keyOf = keyOf;
    this.#head = new LineHead(groupId);
  }

  /**
   * The event on a line, null when it isn't one of this Group. The head serves until the next call.
   */
  read(bytes: Buffer, start: number, end: number): EventHead | null {
    let to = end;
    while (to > start && bytes[to - 1] === SPACE) to -= 1;
    const head = this.#head;
    if (head.place(bytes, start, to) && head.idWords(this.#id)) return head;
    const event = decodeLine(bytes.toString("utf8", start, end));
    return event === null || event.group_id !== this.#groupId ? null : new ParsedHead(event);
  }

  /** Adds the event that was read last, or one of another line that was parsed. */
  enter(head: EventHead, position: number, columns: EventColumns): void {
    if (head.kind !== this.#kind || columns !== this.#columns) {
      this.#columns = columns;
      this.#kind = head.kind;
      this.#code = columns.codeOf(head.kind);
      this.#member = REFERENCE_MEMBERS[head.kind];
    }
    const isPlaced = head === this.#head;
    if (!isPlaced) wordsOfId(head.id, this.#id);
    const refers =
      this.#member !== undefined &&
      (isPlaced ? this.#head.memberWords(this.#member, this.#reference) : this.#parsedReference(head));
    const key = this.#keyOf(head);
    if (key !== undefined) hashKey(key, this.#key);
    columns.add(
      this.#id,
      position,
      this.#code,
      key === undefined ? null : this.#key,
      refers ? this.#reference : null,
    );
  }

  #parsedReference(head: EventHead): boolean {
    const id = head.string(this.#member!);
    if (!isEventId(id)) return false;
    wordsOfId(id, this.#reference);
    return true;
  }
}
