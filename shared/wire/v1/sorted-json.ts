/**
 * JSON whose members are in ascending order of their UTF-8 bytes at every depth, whatever their
 * original order (docs/protocol.md#signatures).
 */

/** A UTF-16 unit's place among UTF-8 bytes. Halves of pairs represent characters after U+FFFF. */
function place(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}

/** Order of two well-formed texts by their UTF-8 bytes. */
export function compareUtf8(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let index = 0; index < length; index++) {
    const difference = place(one.charCodeAt(index)) - place(other.charCodeAt(index));
    if (difference !== 0) return difference;
  }
  return one.length - other.length;
}

/** For a value that came from JSON. Undefined members are left out. */
export function sortedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sortedJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value ?? null);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  members.sort(([one], [other]) => compareUtf8(one, other));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${sortedJson(member)}`).join(",")}}`;
}
