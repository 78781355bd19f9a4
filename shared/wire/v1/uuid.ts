/** UUIDs in one form. */

/** One form for a UUID with and without dashes, in capitals or not: what to compare and to index by. */
export function uuidKey(uuid: string): string {
  return uuid.replaceAll("-", "").toLowerCase();
}
