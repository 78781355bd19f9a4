/** Option values by long name: text, a flag, or several texts. */
export type Options = Readonly<Record<string, string | boolean | string[] | undefined>>;

/** The checked arguments of a command. */
export interface Arguments {
  /** The positional arguments. */
  args: string[];
  /** The words after `--`, for commands that treat them separately. */
  rest: string[];
  options: Options;
}
