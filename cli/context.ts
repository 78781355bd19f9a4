/** What a command works with: its arguments, the daemon, its Group and the output. */
import { resolve } from "node:path";
import { type CallOptions, DaemonClient, type Envelope } from "../client/client.ts";
import { commandLine } from "../client/failures.ts";
import { launchToken } from "../client/identity.ts";
import { resolveHome } from "../client/paths.ts";
import { ENVIRONMENT } from "../shared/names.ts";
import type { ArgumentsOf, OperationName, ResultOf } from "../shared/operations/registry.ts";
import type { Arguments, Options } from "./arguments.ts";
import { actorNamed, eventNamed, groupNamed } from "./lookup.ts";
import type { Output } from "./output.ts";
import { type Naming, spoken } from "./spoken.ts";
import { UsageError } from "./usage-error.ts";

export class CommandContext {
  readonly args: readonly string[];
  readonly rest: readonly string[];
  readonly options: Options;
  readonly out: Output;
  readonly home: string;
  /** The words of the command, for usage errors. */
  readonly words: string;
  readonly #command: Naming;
  readonly #commands: readonly Naming[];
  #client: DaemonClient | null = null;

  /** `commands` is the whole table. */
  constructor(command: Naming, invocation: Arguments, out: Output, commands: readonly Naming[]) {
    this.#command = command;
    this.#commands = commands;
    this.words = command.words;
    this.args = invocation.args;
    this.rest = invocation.rest;
    this.options = invocation.options;
    this.out = out;
    const home = this.text("home");
    this.home = home === undefined ? resolveHome(process.env) : resolve(home);
  }

  /**
   * The daemon of the Home, as the person or, with a launch token, as that Actor. Throws Refusal
   * for a token that can't be used.
   */
  get client(): DaemonClient {
    this.#client ??= new DaemonClient(this.home, launchToken());
    return this.#client;
  }

  usage(message: string): UsageError {
    return new UsageError(message, this.words);
  }

  /** Another command for the same Home, and the same Group if one was named, to be copied. */
  command(...words: string[]): string {
    return commandLine(this.home, ...words, ...this.#again("group"));
  }

  /** An option that was given, as words of another command. */
  #again(name: string): string[] {
    const value = this.text(name);
    return value === undefined ? [] : [`--${name}`, value];
  }

  /**
   * A text whose quoted commands, such as 'svc connect', work as they are for the same Home, and
   * the same Group or folder if one was named.
   */
  suggested(text: string): string {
    // What is to be run on another instance isn't for this Home.
    return text.replaceAll(/(?<!\bthere with )'svc ([^'\n]+)'/gu, (quoted, typed: string) => {
      const command = this.#commands.findLast(({ words }) => `${typed} `.startsWith(`${words} `));
      if (command === undefined) return quoted;
      const places = command.options?.filter(({ name }) => /^(?:group|folder)$/u.test(name)) ?? [];
      const named = places.flatMap(({ name }) => this.#again(name));
      const [front = "", ...rest] = typed.split(/(?= -- )/u);
      return `'${commandLine(this.home, ...front.split(" "), ...named)}${rest.join("")}'`;
    });
  }

  /** A positional argument; "" if it was optional and left out. */
  arg(index: number): string {
    return this.args[index] ?? "";
  }

  text(name: string): string | undefined {
    const value = this.options[name];
    return typeof value === "string" ? value : undefined;
  }

  list(name: string): string[] {
    const value = this.options[name];
    return Array.isArray(value) ? value : [];
  }

  has(name: string): boolean {
    return this.options[name] === true;
  }

  number(name: string): number | undefined {
    const value = this.text(name);
    return value === undefined ? undefined : Number(value);
  }

  /** The named options that were given, as members of an operation's input. */
  given<Name extends string>(...names: Name[]): { [Key in Name]?: string } {
    const members: { [Key in Name]?: string } = {};
    for (const name of names) {
      const value = this.text(name.replaceAll("_", "-"));
      if (value !== undefined) members[name] = value;
    }
    return members;
  }

  /**
   * `--group`, then the environment's Group, then the one bound here (cli/group-selection.ts). A
   * title may replace an id.
   */
  async group(): Promise<string> {
    const named = this.text("group") ?? process.env[ENVIRONMENT.group];
    if (named !== undefined && named !== "") return groupNamed(this.client, named);
    const { selectGroup } = await import("./group-selection.ts");
    return selectGroup(this.client);
  }

  /** The id of the event that an argument or an option names by its beginning. */
  async event(groupId: string, typed: string): Promise<string> {
    return eventNamed(this.client, groupId, typed);
  }

  /** The id of the Group's Actor that an argument or an option names by id or title. */
  async actor(groupId: string, typed: string): Promise<string> {
    return actorNamed(this.client, groupId, typed);
  }

  /** The same for an event of an optional option, as a member of an operation's input. */
  async givenEvent<Name extends string>(
    groupId: string,
    option: string,
    name: Name,
  ): Promise<{ [Key in Name]?: string }> {
    const typed = this.text(option);
    const members: { [Key in Name]?: string } = {};
    if (typed !== undefined) members[name] = await this.event(groupId, typed);
    return members;
  }

  /**
   * Calls an operation and prints its envelope, or its result with `render`. Returns the exit code.
   */
  async print<Name extends OperationName>(
    name: Name,
    input: ArgumentsOf<Name>,
    render: (result: ResultOf<Name>) => void,
    options: CallOptions = {},
  ): Promise<number> {
    return this.show(await this.client.call(name, input, options), render);
  }

  /** A refusal for people: fields of the operation are shown by their names on the command line. */
  told({ message, details }: { message: string; details: Readonly<Record<string, unknown>> }): string {
    return this.suggested(spoken(message, details, this.#command));
  }

  /** Prints an envelope, or its result with `render`. Returns the exit code. */
  show<Result>(envelope: Envelope<Result>, render: (result: Result) => void): number {
    if (this.out.json) this.out.document(envelope);
    if (!envelope.ok) {
      this.out.note(`svc: ${this.told(envelope.error)}`);
      return 1;
    }
    if (!this.out.json) render(envelope.result);
    return 0;
  }

  close(): void {
    this.#client?.close();
  }
}
