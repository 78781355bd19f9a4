/**
 * Times as people say them. All take epoch milliseconds or an ISO string, and the present as a
 * number so that tests can choose it.
 */
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Made when it is first needed: the first one of a process takes tens of milliseconds. */
function lazily(options: Intl.DateTimeFormatOptions): { format(time: number | Date): string } {
  let made: Intl.DateTimeFormat | undefined;
  return {
    format(time) {
      made ??= new Intl.DateTimeFormat(undefined, options);
      return made.format(time);
    },
  };
}

const CLOCK = lazily({ hour: "2-digit", minute: "2-digit", hour12: false });
const DATE = lazily({ day: "numeric", month: "short" });
const DATE_AND_YEAR = lazily({ day: "numeric", month: "short", year: "numeric" });
const WEEKDAY = lazily({ weekday: "long", day: "numeric", month: "long" });
const EXACT = lazily({ dateStyle: "full", timeStyle: "medium" });

function instant(time: string | number): number {
  return typeof time === "number" ? time : Date.parse(time);
}

/** "now", "4 min", "3 h", and after a day the date with the time. */
export function ago(time: string | number, now: number): string {
  const then = instant(time);
  const passed = now - then;
  if (passed < MINUTE) return "now";
  if (passed < HOUR) return `${Math.floor(passed / MINUTE)} min`;
  if (passed < DAY) return `${Math.floor(passed / HOUR)} h`;
  const sameYear = new Date(then).getFullYear() === new Date(now).getFullYear();
  return `${(sameYear ? DATE : DATE_AND_YEAR).format(then)}, ${CLOCK.format(then)}`;
}

/** When something was: "just now", "4 min ago", "on 3 Mar, 10:02". */
export function past(time: string | number, now: number): string {
  const words = ago(time, now);
  if (words === "now") return "just now";
  return now - instant(time) < DAY ? `${words} ago` : `on ${words}`;
}

/** How long something has lasted: "0:42", "12:05", "3 h 10", "2 d 4 h". */
export function lasting(since: string | number, now: number): string {
  const seconds = Math.max(0, Math.floor((now - instant(since)) / 1000));
  if (seconds < 3600) return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  const hours = Math.floor(seconds / 3600);
  if (hours < 24) return `${hours} h ${String(Math.floor((seconds % 3600) / 60)).padStart(2, "0")}`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** The age of what is shown: "12 s", "4 min". */
export function age(since: number, now: number): string {
  const seconds = Math.max(0, Math.floor((now - since) / 1000));
  return seconds < 60 ? `${seconds} s` : ago(since, now);
}

export function clock(time: string | number): string {
  return CLOCK.format(instant(time));
}

/** The complete time, for tooltips. */
export function exact(time: string | number): string {
  return EXACT.format(instant(time));
}

/** "Today", "Yesterday", else the weekday and date; the year if it isn't this one. */
export function day(time: string | number, now: number): string {
  const then = new Date(instant(time));
  const days = Math.round((startOfDay(now) - startOfDay(then.getTime())) / DAY);
  if (days === 0) return "Today";
  if (days === 1) return "Yesterday";
  return then.getFullYear() === new Date(now).getFullYear()
    ? WEEKDAY.format(then)
    : DATE_AND_YEAR.format(then);
}

const UNIT_SECONDS = { seconds: 1, minutes: 60 } as const;
type Unit = keyof typeof UNIT_SECONDS;

/** A time as a person sets it: "30", or "1.5" if it isn't a whole number. */
export function timeIn(unit: Unit, seconds: number): string {
  return String(Number((seconds / UNIT_SECONDS[unit]).toFixed(4)));
}

/** What a person typed, in whole seconds; null if it isn't a time. */
export function secondsFrom(unit: Unit, text: string): number | null {
  const trimmed = text.trim().replace(",", ".");
  return /^\d{1,9}(\.\d+)?$/.test(trimmed) ? Math.round(Number(trimmed) * UNIT_SECONDS[unit]) : null;
}

export function sameDay(a: string, b: string): boolean {
  return startOfDay(instant(a)) === startOfDay(instant(b));
}

function startOfDay(time: number): number {
  return new Date(time).setHours(0, 0, 0, 0);
}
