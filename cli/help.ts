/**
 * Help for a command, a command group, or everything. All of it comes from the table and the
 * operations' contracts.
 */
import { type Command, type Option, positionals } from "./command.ts";
import { OPERATION_TEXTS } from "./contract-data.ts";
import type { Output } from "./output.ts";
import { GLOBAL_OPTIONS, GROUPS } from "./tables/options.ts";

/** A command in one or two sentences. */
export function summaryOf(command: Command): string {
  if (command.summary !== undefined) return command.summary;
  const [operation] = command.operations ?? [];
  return (operation && OPERATION_TEXTS[operation]?.summary) || "";
}

/** A few words for lists: the operation's title, or the first sentence. */
function brief(command: Command): string {
  const [operation] = command.operations ?? [];
  if (command.summary === undefined && operation) return OPERATION_TEXTS[operation]?.title ?? "";
  return summaryOf(command)
    .replace(/([.:;]) .*$/su, "")
    .replace(/\.$/u, "");
}

function usage(command: Command): string {
  const places = positionals(command).map(({ name, required }) => {
    const word = name.toUpperCase();
    return required ? word : `[${word}]`;
  });
  return [
    "svc",
    command.words,
    ...places,
    "[options]",
    ...(command.rest ? [`[-- ${command.rest}]`] : []),
  ].join(" ");
}

function optionRow(option: Option): [string, string] {
  const short = option.short ? `-${option.short}, ` : "    ";
  return [
    `${short}--${option.name}${option.value ? ` ${option.value}` : ""}`,
    `${option.text}${option.many ? " (may be repeated)" : ""}`,
  ];
}

function rows(out: Output, entries: readonly (readonly [string, string])[]): void {
  const longest = Math.max(...entries.map(([name]) => name.length));
  for (const [name, text] of entries) out.line(`  ${name.padEnd(longest)}  ${text}`.trimEnd());
}

/** What may follow `words`, with a few words each. */
function rowsBelow(words: string, commands: readonly Command[]): [string, string][] {
  const below = commands.filter((entry) => entry.words.startsWith(`${words} `));
  return below.map((entry) => [entry.words.slice(words.length + 1), brief(entry)]);
}

function printCommand(out: Output, command: Command, commands: readonly Command[]): void {
  out.line(summaryOf(command));
  out.line();
  out.line(`${out.style("bold", "Usage:")} ${usage(command)}`);
  out.line();
  out.line(out.style("bold", "Options:"));
  rows(out, [
    ...[...(command.options ?? []), ...GLOBAL_OPTIONS].map(optionRow),
    ["-h, --help", "Show this help"],
  ]);
  const below = rowsBelow(command.words, commands);
  if (below.length > 0) {
    out.line();
    out.line(out.style("bold", "Commands:"));
    rows(out, below);
  }
  if (command.examples) {
    out.line();
    out.line(out.style("bold", "Examples:"));
    for (const example of command.examples) out.line(`  ${example}`);
  }
}

/** `words` is what parse() returns: a command, a command group, or "". */
export function printHelp(words: string, commands: readonly Command[], out: Output): void {
  const command = commands.find((entry) => entry.words === words);
  if (command) {
    printCommand(out, command, commands);
    return;
  }
  if (words !== "") {
    out.line(`${GROUPS[words] ?? ""}.`);
    out.line();
    out.line(`${out.style("bold", "Usage:")} svc ${words} COMMAND [options]`);
    out.line();
    rows(out, rowsBelow(words, commands));
    out.line();
    out.line(`For the options of a command: svc ${words} COMMAND --help`);
    return;
  }
  out.line("Durable messages between coding agents and their people.");
  out.line();
  out.line(`${out.style("bold", "Usage:")} svc COMMAND [options]`);
  out.line();
  const single = commands.filter((entry) => !entry.words.includes(" "));
  rows(
    out,
    single.map((entry) => [entry.words, brief(entry)]),
  );
  out.line();
  out.line(out.style("bold", "Command groups:"));
  rows(out, Object.entries(GROUPS));
  out.line();
  out.line(out.style("bold", "Global options:"));
  rows(out, [
    ...GLOBAL_OPTIONS.map(optionRow),
    ["-h, --help", "Show help for a command or command group"],
    ["-v, --version", "Print the version"],
  ]);
  out.line();
  out.line(
    "Exit codes: 0 success, 1 refused by the daemon, 2 usage error, 3 can't reach the daemon, 130 interrupted.",
  );
}
