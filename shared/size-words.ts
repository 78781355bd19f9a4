/** Sizes as people read them. */
const UNITS = ["KiB", "MiB", "GiB"] as const;

/** `512 bytes`, `1.5 KiB`, `191 MiB`. */
export function sizeWords(bytes: number): string {
  if (bytes < 1024) return `${bytes} ${bytes === 1 ? "byte" : "bytes"}`;
  let size = bytes / 1024;
  let unit = 0;
  // What would be rounded to 1024 is 1 of the next.
  while (size >= 1023.95 && unit < UNITS.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${size.toFixed(1).replace(/\.0$/, "")} ${UNITS[unit]}`;
}

/** `The file is 191 MiB; the limit is 100 MiB.` */
export function overSize(what: string, bytes: number, limit: number): string {
  const [is, most] = [sizeWords(bytes), sizeWords(limit)];
  return is === most
    ? `${what} is ${bytes} bytes; the limit is ${limit} bytes.`
    : `${what} is ${is}; the limit is ${most}.`;
}
