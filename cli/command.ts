/** A command is one row of a table. Parsing, help and completion all come from that table. */
import type { OperationName } from "../shared/operations/registry.ts";
import type { CommandContext } from "./context.ts";

export interface Option {
  /** Long name without dashes. */
  name: string;
  /** One letter. */
  short?: string;
  /** What the value is, in capitals. A switch has none. */
  value?: string;
  /** May be given several times. */
  many?: true;
  /** Its value is a whole number in this range. */
  integer?: readonly [minimum: number, maximum: number];
  choices?: readonly string[];
  text: string;
}

export interface Command {
  /** The words that name it, such as `group create`. */
  words: string;
  /** Positional arguments: `<required>` and `[optional]`, in order. */
  args?: string;
  /** Treats the words after `--` separately, such as a command line. This is their name in help. */
  rest?: string;
  /** Help comes from the contract of the first one. */
  operations?: readonly OperationName[];
  /** Help text for a command without an operation, or with more to say than its summary. */
  summary?: string;
  options?: readonly Option[];
  examples?: readonly string[];
  /** After Ctrl-C, ends by its own rules instead of at once. */
  handlesInterrupt?: true;
  /** Only a person may run it, never an Actor. */
  personOnly?: true;
  /** Returns the exit code; nothing means 0. `commands` is the whole table. */
  run(context: CommandContext, commands: readonly Command[]): Promise<number | void>;
}

/** Names of the positional arguments, and whether each is required. */
export function positionals(command: Command): { name: string; required: boolean }[] {
  return (command.args ?? "")
    .split(" ")
    .filter((part) => part !== "")
    .map((part) => ({ name: part.slice(1, -1), required: part.startsWith("<") }));
}
