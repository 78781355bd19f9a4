/**
 * What services write to the daemon's log: only names, ids, codes and counts. Never a secret and
 * never a message's text.
 */
export type LogFields = Record<string, string | number | boolean | null | undefined>;

export interface Log {
  debug(event: string, fields?: LogFields): void;
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
}

/** What a person may be told of an unexpected error: its kind. Its message may quote anything. */
export function errorKind(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}

/**
 * What may be logged about an unexpected error: its kind and where it came from. A message may
 * quote input, so only a system error's message is kept.
 */
export function errorFields(error: unknown): LogFields {
  if (!(error instanceof Error)) return { error: errorKind(error) };
  const system = error as NodeJS.ErrnoException;
  return {
    error: errorKind(error),
    code: typeof system.code === "string" ? system.code : undefined,
    reason: typeof system.syscall === "string" ? `${system.syscall} ${String(system.code)}` : undefined,
    stack: error.stack
      ?.split("\n")
      .filter((line) => line.startsWith("    at "))
      .join("\n"),
  };
}
