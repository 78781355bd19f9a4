/** What a command is: one row of the table from which parsing, help and completion come. */
import type { OperationName } from "../shared/operations/registry.ts";
import type { CommandContext } from "./context.ts";

export interface Option {
  /** Long name without dashes. */
  name: string;
  /** One letter. */
  short?: string;
  /** What the value is, in capitals; absent for a switch. */
  value?: string;
  /** May be given several times. */
  many?: true;
  /** Its value is a whole number between these. */
  integer?: readonly [minimum: number, maximum: number];
  choices?: readonly string[];
  text: string;
}

export interface Command {
  /** Words that name it, such as `group create`. */
  words: string;
  /** Positional arguments: `<required>` and `[optional]`, in order. */
  args?: string;
  /** Takes what stands behind `--` apart, such as a command line; its name in help. */
  rest?: string;
  /** Help comes from the first one's contract. */
  operations?: readonly OperationName[];
  /** Help where no operation has it, or more than its summary. */
  summary?: string;
  options?: readonly Option[];
  examples?: readonly string[];
  /** Ends by its own rules after Ctrl-C instead of at once. */
  handlesInterrupt?: true;
  /** Only the person runs it, never an Actor. */
  personOnly?: true;
  /** Answers the exit code; nothing means 0. `commands` is the whole table. */
  run(context: CommandContext, commands: readonly Command[]): Promise<number | void>;
}

/** Names of the positional arguments, and whether each must be there. */
export function positionals(command: Command): { name: string; required: boolean }[] {
  return (command.args ?? "")
    .split(" ")
    .filter((part) => part !== "")
    .map((part) => ({ name: part.slice(1, -1), required: part.startsWith("<") }));
}
