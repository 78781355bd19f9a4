/**
 * JSON as every port accepts it (docs/protocol.md#json-bytes): what `JSON.parse` accepts, without
 * duplicate members, halves of surrogate pairs, invalid UTF-8, excessive depth or a member named
 * `__proto__`. `JSON.parse` does the work. What it tolerates is found by counting: if a text has as
 * many colons outside strings as the value has members, no member is duplicated.
 */
import { LIMITS } from "./limits.ts";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A text that isn't accepted as JSON. The message gives the reason and never quotes the text. */
export class StrictJsonError extends Error {
  override readonly name = "StrictJsonError";
}

/**
 * Parses UTF-8 bytes with at most `values` values, which are counted before anything is built.
 * Throws StrictJsonError.
 */
export function parseStrictJsonBytes(
  bytes: Uint8Array,
  depth: number = LIMITS.body.jsonDepth,
  values: number = Number.POSITIVE_INFINITY,
): unknown {
  if (bytes.length > values && hasMoreValues(bytes, values)) {
    throw new StrictJsonError("The JSON holds too many values.");
  }
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    throw new StrictJsonError("The JSON isn't valid UTF-8.");
  }
  return parseStrictJson(text, depth);
}

/** Parses a text. `depth` is the maximum nesting of arrays and objects. Throws StrictJsonError. */
export function parseStrictJson(text: string, depth: number = LIMITS.body.jsonDepth): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new StrictJsonError("The text isn't JSON.");
  }
  // Without a \u escape, half a pair could come only from the text itself.
  const escapes = text.includes("\\u");
  if (!escapes && !text.isWellFormed()) throw new StrictJsonError("The JSON has half of a surrogate pair.");
  if (countMembers(value, depth, escapes) !== countColons(text)) {
    throw new StrictJsonError("The JSON has a duplicate member.");
  }
  return value;
}

/**
 * Counts the members of all objects inside `value`, and refuses values that are too deep,
 * ill-formed or named `__proto__`.
 */
function countMembers(value: unknown, depth: number, escapes: boolean): number {
  if (typeof value === "string") {
    if (escapes && !value.isWellFormed()) throw new StrictJsonError("The JSON has half of a surrogate pair.");
    return 0;
  }
  if (typeof value !== "object" || value === null) return 0;
  if (depth === 0) throw new StrictJsonError("The JSON is nested too deeply.");
  let members = 0;
  if (Array.isArray(value)) {
    for (const item of value) members += countMembers(item, depth - 1, escapes);
    return members;
  }
  const object = value as Record<string, unknown>;
  for (const name of Object.keys(object)) {
    if (name === "__proto__") throw new StrictJsonError("The JSON has a member that isn't accepted.");
    if (escapes && !name.isWellFormed()) throw new StrictJsonError("The JSON has half of a surrogate pair.");
    members += 1 + countMembers(object[name], depth - 1, escapes);
  }
  return members;
}

const [QUOTE, COMMA, COLON, BACKSLASH, OPEN_ARRAY, OPEN_OBJECT] = [0x22, 0x2c, 0x3a, 0x5c, 0x5b, 0x7b];

/**
 * A few MiB of `{},` become gigabytes of objects. For bytes that aren't JSON the count means
 * nothing.
 */
function hasMoreValues(bytes: Uint8Array, max: number): boolean {
  let values = 1;
  let isText = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) isText = !isText;
    else if (isText) at += byte === BACKSLASH ? 1 : 0;
    else if (byte === COMMA || byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      values += 1;
      if (values > max) return true;
    }
  }
  return false;
}

/** Colons outside the strings of a text that is known to be JSON. Jumps from quote to quote. */
function countColons(text: string): number {
  let colons = 0;
  let position = 0;
  for (;;) {
    const opening = text.indexOf('"', position);
    const end = opening === -1 ? text.length : opening;
    for (let index = position; index < end; index++) if (text.charCodeAt(index) === COLON) colons++;
    if (opening === -1) return colons;
    let closing = text.indexOf('"', opening + 1);
    while (isEscaped(text, closing)) closing = text.indexOf('"', closing + 1);
    position = closing + 1;
  }
}

/** Whether an odd number of backslashes comes before `index`. */
function isEscaped(text: string, index: number): boolean {
  let before = index - 1;
  while (text.charCodeAt(before) === BACKSLASH) before--;
  return (index - before) % 2 === 0;
}

/** The value in `bytes` that a schema accepts; null for anything else. */
export function parsedJsonBytes<Value>(
  schema: { safeParse(value: unknown): { data?: Value } },
  bytes: Uint8Array,
): Value | null {
  try {
    return schema.safeParse(parseStrictJsonBytes(bytes)).data ?? null;
  } catch {
    return null;
  }
}
