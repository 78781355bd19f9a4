/**
 * Turns arguments into a command with checked options. sade parses; the code around it works around
 * what sade does to ids and switches. Words come first, every value is joined to its option
 * (`--to=0123` stays text), and positional arguments come after `--`.
 */
import sade from "sade";
import { didYouMean } from "../shared/closest.ts";
import { DIRECT } from "../shared/names.ts";
import type { Arguments } from "./arguments.ts";
import { type Command, type Option, positionals } from "./command.ts";
import { COMMANDS } from "./table.ts";
import { GLOBAL_OPTIONS } from "./tables/options.ts";
import { UsageError } from "./usage-error.ts";

export interface Invocation extends Arguments {
  command: Command;
}
/** Help for these words: a command, a command group, or everything (""). */
export interface HelpRequest {
  help: string;
}

/** An empty one, as from an unset variable, would mean another place than the person thinks. */
const PLACES = /^(DIR|GROUP|HOST)$/;

interface Split {
  words: string;
  flags: string[];
  args: string[];
  rest: string[];
  help: boolean;
}

function optionsOf(command: Command | undefined): readonly Option[] {
  return command ? [...(command.options ?? []), ...GLOBAL_OPTIONS] : GLOBAL_OPTIONS;
}

/** The longest command, or command group, that the leading words name. */
function findWords(words: readonly string[]): { name: string; used: number; command: Command | undefined } {
  for (const used of [2, 1]) {
    const name = words.slice(0, used).join(" ");
    const command = used <= words.length ? COMMANDS.find((entry) => entry.words === name) : undefined;
    if (command) return { name, used, command };
  }
  const group = words[0] ?? "";
  if (COMMANDS.some((entry) => entry.words.startsWith(`${group} `)))
    return { name: group, used: 1, command: undefined };
  return { name: "", used: 0, command: undefined };
}

function isFlag(argument: string): boolean {
  return argument.length > 1 && argument.startsWith("-");
}

/** Leading words of the command. Global options may come before and between them. */
function leadingWords(argv: readonly string[]): string[] {
  const words: string[] = [];
  for (let at = 0; at < argv.length && words.length < 2; at++) {
    const argument = argv[at] ?? "";
    if (argument === "--") break;
    if (!isFlag(argument)) {
      words.push(argument);
      continue;
    }
    const global = GLOBAL_OPTIONS.find(({ name }) => `--${name}` === argument.split("=", 1)[0]);
    // After the first word, an option of the command may follow. Its value isn't a word of the
    // command.
    if (!global && words.length === 1) break;
    if (global?.value !== undefined && !argument.includes("=")) at++;
  }
  return words;
}

/**
 * Sorts the arguments into options in sade's canonical form, positional arguments, and those after
 * `--`.
 */
function split(argv: readonly string[]): Split & { command: Command | undefined } {
  const leading = leadingWords(argv);
  const { name, used, command } = findWords(leading);
  const known = optionsOf(command);
  const result: Split = { words: name, flags: [], args: [], rest: [], help: false };
  let wordsLeft = used;
  for (let at = 0; at < argv.length; at++) {
    const argument = argv[at] ?? "";
    if (argument === "--") {
      result.rest = argv.slice(at + 1);
      break;
    }
    if (!isFlag(argument)) {
      if (wordsLeft > 0) wordsLeft--;
      else result.args.push(argument);
      continue;
    }
    const equals = argument.indexOf("=");
    const flag = equals < 0 ? argument : argument.slice(0, equals);
    if (flag === "--help" || flag === "-h") {
      result.help = true;
      continue;
    }
    const option = known.find(
      (candidate) =>
        flag === `--${candidate.name}` || (candidate.short !== undefined && flag === `-${candidate.short}`),
    );
    if (!option) {
      // A known short option with its value attached, such as -n20. sade refuses anything else.
      const attached = known.find(
        (candidate) =>
          candidate.short && candidate.value && /^-[a-z]./.test(argument) && argument[1] === candidate.short,
      );
      result.flags.push(attached ? `--${attached.name}=${argument.slice(2)}` : argument);
    } else if (option.value === undefined) {
      if (equals >= 0) throw new UsageError(`--${option.name} takes no value.`, name);
      result.flags.push(`--${option.name}`);
    } else {
      const value = equals < 0 ? argv[++at] : argument.slice(equals + 1);
      if (
        value === undefined ||
        (equals < 0 && value.startsWith("--")) ||
        (value === "" && (option.integer || PLACES.test(option.value)))
      )
        throw new UsageError(`--${option.name} needs a value: ${option.value}.`, name);
      result.flags.push(`--${option.name}=${value}`);
    }
  }
  return { ...result, command };
}

/** One option as sade parsed it, checked. */
function checked(option: Option, value: unknown, words: string): string | boolean | string[] | undefined {
  if (value === undefined || (option.value === undefined && value === false)) return undefined;
  if (option.value === undefined) return true;
  const values = (Array.isArray(value) ? value : [value]).map(String);
  if (values.length > 1 && !option.many) throw new UsageError(`--${option.name} is given twice.`, words);
  for (const one of values) {
    if (option.choices && !option.choices.includes(one))
      throw new UsageError(
        `--${option.name} must be one of ${option.choices.join(", ")}.${didYouMean(one, option.choices)}`,
        words,
      );
    if (option.integer) {
      const [minimum, maximum] = option.integer;
      if (!/^\d{1,15}$/.test(one) || Number(one) < minimum || Number(one) > maximum)
        throw new UsageError(`--${option.name} must be a whole number from ${minimum} to ${maximum}.`, words);
    }
  }
  return option.many ? values : values[0];
}

function unknownCommand(first: string): UsageError {
  const names = new Set(COMMANDS.map(({ words }) => words.split(" ")[0] ?? ""));
  return new UsageError(`There is no command '${first.slice(0, 80)}'.${didYouMean(first, names, "svc ")}`);
}

function unknownOption(flag: string, known: readonly Option[], words: string): UsageError {
  const name = flag.split("=", 1)[0] ?? "";
  const meant = name.startsWith("--")
    ? didYouMean(name.slice(2), ["help", ...known.map((option) => option.name)], "--")
    : "";
  return new UsageError(`Unknown option ${name.slice(0, 80)}.${meant}`, words);
}

/** The words that may follow a command group, or a command. */
function subcommands(group: string): string[] {
  return COMMANDS.filter(({ words }) => words.startsWith(`${group} `)).map(({ words }) =>
    words.slice(group.length + 1),
  );
}

function unknownSubcommand(words: string, word: string): UsageError {
  const meant = didYouMean(word, subcommands(words), `svc ${words} `);
  return new UsageError(`There is no command 'svc ${words} ${word.slice(0, 80)}'.${meant}`, words);
}

const INVITATION = new RegExp(`(^|=)${DIRECT.invitationPrefix}[\\w-]{16}`, "u");

/** Throws UsageError. */
export function parse(argv: readonly string[]): Invocation | HelpRequest {
  const first = argv[0];
  // Not in an error message either (CLI-008).
  if (argv.some((argument) => INVITATION.test(argument)))
    throw new UsageError("An invitation is a secret. Pass it on standard input.", "direct join");
  if (first === "--version" || first === "-v") return parse(["version", ...argv.slice(1)]);
  if (first === "help") return parse([...argv.slice(1), "--help"]);
  const { words, flags, args, rest, help, command } = split(argv);
  if (help || argv.length === 0) {
    if (words === "" && args[0] !== undefined) throw unknownCommand(args[0]);
    return { help: words };
  }
  if (!command) {
    if (words === "") {
      const refused = flags.find(
        (flag) => !GLOBAL_OPTIONS.some((option) => flag.startsWith(`--${option.name}`)),
      );
      if (args[0] === undefined)
        throw refused === undefined
          ? new UsageError("Which command?")
          : unknownOption(refused, GLOBAL_OPTIONS, "");
      throw unknownCommand(args[0]);
    }
    if (args[0] === undefined) throw new UsageError(`Which 'svc ${words}' command?`, words);
    throw unknownSubcommand(words, args[0]);
  }
  const known = optionsOf(command);
  const stranger = flags.find((flag) => !known.some(({ name }) => flag.split("=", 1)[0] === `--${name}`));
  if (stranger !== undefined) throw unknownOption(stranger, known, words);
  const places = positionals(command);
  const positional = command.rest === undefined ? [...args, ...rest] : args;
  for (const [index, place] of places.entries())
    if (place.required && positional[index] === undefined)
      throw new UsageError(`${place.name.toUpperCase()} is missing.`, words);
  if (positional.length > places.length) {
    const extra = positional[places.length] ?? "";
    if (places.length === 0 && subcommands(words).length > 0) throw unknownSubcommand(words, extra);
    throw new UsageError(`Unexpected argument: ${extra.slice(0, 80)}. Quote text that has spaces.`, words);
  }

  const program = sade("svc");
  program.command([command.words, command.args ?? ""].join(" ").trim()).action(() => undefined);
  for (const option of known) program.option(`--${option.name}`);
  const parsed = program.parse(["node", "svc", ...words.split(" "), ...flags, "--", ...positional], {
    lazy: true,
    string: known.filter((option) => option.value !== undefined).map((option) => option.name),
    boolean: known.filter((option) => option.value === undefined).map((option) => option.name),
  }) as { args: unknown[] } | undefined;
  const values = parsed?.args.at(-1) as Record<string, unknown>;
  // sade reads `--no-wait` as the opposite of a switch `--wait`.
  const given = ({ name, value }: Option) =>
    value === undefined ? flags.includes(`--${name}`) : values[name];
  const options = Object.fromEntries(
    known.map((option) => [option.name, checked(option, given(option), words)]),
  );
  return { command, args: positional, rest: command.rest === undefined ? [] : rest, options };
}
