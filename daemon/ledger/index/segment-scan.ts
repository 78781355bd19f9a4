/**
 * Reads the lines of a ledger file into columns for the index: the part of a rebuild that needs
 * only the bytes.
 */

import { isEventId, wordsOfId } from "../format/event-id.ts";
import { KeyHash } from "../format/key-hash.ts";
import { decodeLine, SPACE } from "../format/line.ts";
import { LineHead } from "../format/line-head.ts";
import { NO_KEY, OWN_KEYS, type ShapeKey } from "../format/line-shapes.ts";
import { ParsedHead } from "../format/parsed-head.ts";
import { type EventHead, type KeyOf, type KeyRule, keyIn } from "../types.ts";
import type { EventColumns } from "./event-columns.ts";

/** Which member of an event's data names the event that it refers to. */
export const REFERENCE_MEMBERS: Readonly<Record<string, string>> = {
  "chat.message": "reply_to",
  "runtime.delivery": "source_event_id",
  "chat.reply_request.cancelled": "source_event_id",
  "chat.cross_group_receipt": "source_event_id",
  "system.notify": "related_event_id",
};

function shapeKey(key: string | KeyRule | undefined): ShapeKey {
  if (key === undefined) return NO_KEY;
  return typeof key === "string" ? OWN_KEYS : { prefix: new KeyHash().add(key.prefix), member: key.member };
}

export class SegmentScan {
  readonly #keyOf: KeyOf;
  readonly #head: LineHead;
  readonly #id = new Uint32Array(4);
  readonly #key = new Uint32Array(2);
  readonly #reference = new Uint32Array(4);
  readonly #hash = new KeyHash();
  /** What follows from the kind of the last event: the next one is often of the same. */
  #columns: EventColumns | null = null;
  #kind: string | null = null;
  #code = 0;
  #member: string | undefined;

  constructor(groupId: string, keyOf: KeyOf) {
    this.#keyOf = keyOf;
    this.#head = new LineHead(groupId);
  }

  /** The event on a line, null when it isn't one. The head serves until the next call. */
  read(bytes: Buffer, start: number, end: number): EventHead | null {
    let to = end;
    while (to > start && bytes[to - 1] === SPACE) to -= 1;
    const head = this.#head;
    if (head.place(bytes, start, to) && head.idWords(this.#id)) return head;
    const event = decodeLine(bytes.toString("utf8", start, end));
    return event === null ? null : new ParsedHead(event);
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
    const hasKey = isPlaced ? this.#placedKey(this.#head) : this.#ownKey(head);
    columns.add(this.#id, position, this.#code, hasKey ? this.#key : null, refers ? this.#reference : null);
  }

  #parsedReference(head: EventHead): boolean {
    const id = head.string(this.#member!);
    if (!isEventId(id)) return false;
    wordsOfId(id, this.#reference);
    return true;
  }

  /** The key's fingerprint into `#key`; false when it has none. */
  #placedKey(head: LineHead): boolean {
    const { shape } = head;
    if (shape !== null) {
      shape.key ??= shapeKey(this.#keyOf(head));
      const { key } = shape;
      if (key === NO_KEY) return false;
      if (key !== OWN_KEYS && head.hashMember(key.member, this.#hash.beginWith(key.prefix))) {
        this.#hash.finish(this.#key);
        return true;
      }
    }
    return this.#ownKey(head);
  }

  #ownKey(head: EventHead): boolean {
    const key = keyIn(head, this.#keyOf(head));
    if (key === undefined) return false;
    this.#hash.begin().add(key).finish(this.#key);
    return true;
  }
}
