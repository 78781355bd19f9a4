/**
 * Results whose JSON is known before a port asks for it: an event that was just recorded has been text already. The text lies beside the
 * members, where copies, comparisons and JSON.stringify don't see it. Such a result must not be changed afterwards.
 */
const TEXT = Symbol("json");

export function withJson<Result extends object>(result: Result, json: string): Result {
  return Object.defineProperty(result, TEXT, { value: json });
}

export function jsonOf(result: unknown): string {
  const known = (result as { [TEXT]?: string } | null | undefined)?.[TEXT];
  return known ?? JSON.stringify(result);
}
