/** A dispatcher with handlers of a test's own; operations it doesn't name answer with a refusal. */

import { Dispatcher } from "../../daemon/operations/dispatcher.ts";
import type { Log, LogFields } from "../../platform/log.ts";
import { Mutex } from "../../platform/mutex.ts";
import { Refusal } from "../../shared/errors.ts";
import type { HandlersOf } from "../../shared/operations/handlers.ts";
import { OPERATIONS, type OperationName } from "../../shared/operations/registry.ts";

export class MemoryLog implements Log {
  readonly lines: { level: string; event: string; fields: LogFields }[] = [];
  debug(event: string, fields: LogFields = {}): void {
    this.lines.push({ level: "debug", event, fields });
  }
  info(event: string, fields: LogFields = {}): void {
    this.lines.push({ level: "info", event, fields });
  }
  warn(event: string, fields: LogFields = {}): void {
    this.lines.push({ level: "warn", event, fields });
  }
  error(event: string, fields: LogFields = {}): void {
    this.lines.push({ level: "error", event, fields });
  }
}

export type FakeHandlers = { [Name in OperationName]?: (input: never, context: never) => unknown };

export function fakeHandlers(handlers: FakeHandlers = {}): HandlersOf<OperationName> {
  const all: Record<string, unknown> = {};
  for (const name of OPERATIONS.keys()) {
    all[name] = () => {
      throw new Refusal("not_pending");
    };
  }
  return { ...all, ...handlers } as unknown as HandlersOf<OperationName>;
}

export function fakeDispatcher(
  handlers: FakeHandlers = {},
  options: { log?: Log; permits?: Map<string, Mutex>; checkOutputs?: boolean } = {},
): Dispatcher {
  const permits = options.permits ?? new Map<string, Mutex>();
  return new Dispatcher({
    handlers: fakeHandlers(handlers),
    log: options.log ?? new MemoryLog(),
    checkOutputs: options.checkOutputs ?? false,
    permitOf(groupId) {
      let permit = permits.get(groupId);
      if (permit === undefined) permits.set(groupId, (permit = new Mutex()));
      return permit;
    },
  });
}
