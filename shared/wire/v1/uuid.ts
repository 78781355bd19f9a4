/** UUIDs in one form. */

/** One form for a UUID with or without dashes and in any case, for comparing and indexing. */
export function uuidKey(uuid: string): string {
  return uuid.replaceAll("-", "").toLowerCase();
}
