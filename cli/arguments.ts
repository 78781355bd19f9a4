/** Values of options by long name: text, given or not, or several. */
export type Options = Readonly<Record<string, string | boolean | string[] | undefined>>;

/** What was given to a command, checked. */
export interface Arguments {
  /** Positional ones. */
  args: string[];
  /** What stood behind `--`, for commands that take it apart. */
  rest: string[];
  options: Options;
}
