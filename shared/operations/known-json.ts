/**
 * Results whose JSON is known before a port asks for it: an event that was just recorded has been text already. The text lies beside the
 * members, where copies, comparisons and JSON.stringify don't see it. Such a result must not be changed afterwards.
 */
const TEXT = Symbol("json");

interface Known {
  json: string;
  isAscii: boolean;
}

/** `isAscii`: each character of `json` is known to be one byte. */
export function withJson<Result extends object>(result: Result, json: string, isAscii = false): Result {
  const value: Known = { json, isAscii };
  return Object.defineProperty(result, TEXT, { value });
}

function known(result: unknown): Known | undefined {
  return (result as { [TEXT]?: Known } | null | undefined)?.[TEXT];
}

export function jsonOf(result: unknown): string {
  return known(result)?.json ?? JSON.stringify(result);
}

/** Whether the JSON is known to be ASCII; false says nothing. */
export function hasAsciiJson(result: unknown): boolean {
  return known(result)?.isAscii === true;
}
