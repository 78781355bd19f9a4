/**
 * Times of the wire (docs/protocol.md#times): RFC 3339 with any offset and up to nine fraction
 * digits, compared as instants and kept byte for byte. Only a registration's issue time has a fixed
 * form.
 */
import * as z from "zod";

const RFC3339 =
  /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/u;
const EMITTED = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/u;

function daysOf(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

/**
 * Nanoseconds since 1970 of an RFC 3339 time, or null if it isn't one. A leap second is the instant
 * after it.
 */
function instantOf(text: string): bigint | null {
  const match = RFC3339.exec(text);
  if (match === null) return null;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const offsetHour = Number(match[9] ?? 0);
  const offsetMinute = Number(match[10] ?? 0);
  if (month < 1 || month > 12 || day < 1 || day > daysOf(year, month)) return null;
  if (hour > 23 || minute > 59 || second > 60 || offsetHour > 23 || offsetMinute > 59) return null;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  const offset = (offsetHour * 60 + offsetMinute) * (match[8] === "-" ? -1 : 1);
  const seconds = date.getTime() / 1000 + (hour * 60 + minute - offset) * 60 + second;
  // RFC 3339, section 5.7: a leap second is the last of a UTC day.
  if (second === 60 && seconds % 86_400 !== 0) return null;
  return BigInt(seconds) * 1_000_000_000n + BigInt((match[7] ?? "").padEnd(9, "0"));
}

/** No accepted time is longer. */
const TIME_CHARACTERS = "2000-01-01T00:00:00.000000000+00:00".length;
const text = () => z.string().max(TIME_CHARACTERS, { error: "is too long for a time", abort: true });

/** Any RFC 3339 time, as written. */
export const Time = text().refine((value) => instantOf(value) !== null, "isn't an RFC 3339 time");

/** UTC with exactly milliseconds and `Z`: what we emit, and the only form in a registration. */
export const EmittedTime = text().refine(
  (value) => EMITTED.test(value) && instantOf(value) !== null,
  "isn't a UTC time with milliseconds and Z",
);

/** Nanoseconds since 1970. Throws RangeError for anything that `Time` refuses. */
export function nanoseconds(time: string): bigint {
  const instant = instantOf(time);
  if (instant === null) throw new RangeError("The text isn't an RFC 3339 time.");
  return instant;
}

/**
 * Milliseconds since 1970, rounded down, for comparison with a clock. Throws RangeError for
 * anything that `Time` refuses.
 */
export function milliseconds(time: string): number {
  return Number(nanoseconds(time) / 1_000_000n);
}
