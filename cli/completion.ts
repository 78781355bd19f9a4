/** Completion scripts for bash, zsh and fish, from the command table. */
import type { Command } from "./command.ts";
import type { CommandContext } from "./context.ts";
import { summaryOf } from "./help.ts";
import { GLOBAL_OPTIONS, GROUPS } from "./tables/options.ts";
import { UsageError } from "./usage-error.ts";

const SHELLS = ["bash", "zsh", "fish"];

/** Long options of a command, including the global ones. */
function flags(command: Command): string[] {
  return [...(command.options ?? []), ...GLOBAL_OPTIONS, { name: "help" }].map(({ name }) => `--${name}`);
}

/** Words that may follow `words` ("" for the first one). */
function nextWords(commands: readonly Command[], words: string): string[] {
  const prefix = words === "" ? "" : `${words} `;
  const next = commands
    .filter((command) => command.words.startsWith(prefix))
    .map((command) => command.words.slice(prefix.length).split(" ")[0] ?? "");
  return [...new Set(next)];
}

/**
 * `case` lines with the values of options that have only a few, for commands of one or two words.
 */
function choices(commands: readonly Command[], words: number): string[] {
  return commands
    .filter((command) => command.words.split(" ").length === words)
    .flatMap((command) =>
      (command.options ?? []).flatMap((option) =>
        option.choices
          ? [`    "${command.words} --${option.name}") echo "${option.choices.join(" ")}"; return ;;`]
          : [],
      ),
    );
}

/** The body that bash and zsh share: what may come after the words so far. */
function candidates(commands: readonly Command[]): string {
  const options = commands.map((command) => `    "${command.words}") echo "${flags(command).join(" ")}" ;;`);
  return `__svc_candidates() {
  local first="$1" second="$2" current="$3" previous="$4"
  case "$first $second $previous" in
${choices(commands, 2).join("\n")}
  esac
  case "$first $previous" in
${choices(commands, 1).join("\n")}
  esac
  case "$current" in
    -*) ;;
    *)
      if [ -z "$first" ]; then echo "${nextWords(commands, "").join(" ")}"; return; fi
      if [ -z "$second" ]; then
        case "$first" in
${nextWords(commands, "")
  .map((first) => [first, nextWords(commands, first).join(" ")])
  .filter(([, next]) => next !== "")
  .map(([first, next]) => `          ${first}) echo "${next}"; return ;;`)
  .join("\n")}
          completion) echo "${SHELLS.join(" ")}"; return ;;
        esac
      fi
      return ;;
  esac
  case "$first \${second}" in
${commands
  .filter(({ words }) => words.includes(" "))
  .map((command) => `    "${command.words}") echo "${flags(command).join(" ")}"; return ;;`)
  .join("\n")}
  esac
  case "$first" in
${options.filter((line) => !/"[^"]+ [^"]+"\)/.test(line)).join("\n")}
    *) echo "${GLOBAL_OPTIONS.map(({ name }) => `--${name}`).join(" ")} --help --version" ;;
  esac
}`;
}

function bash(commands: readonly Command[]): string {
  return `# Completion of svc for bash: svc completion bash > ~/.local/share/bash-completion/completions/svc
${candidates(commands)}
_svc() {
  local word first="" second="" at
  for ((at = 1; at < COMP_CWORD; at++)); do
    word="\${COMP_WORDS[at]}"
    case "$word" in -*) continue ;; esac
    if [ -z "$first" ]; then first="$word"; elif [ -z "$second" ]; then second="$word"; fi
  done
  local current="\${COMP_WORDS[COMP_CWORD]}" list
  list="$(__svc_candidates "$first" "$second" "$current" "\${COMP_WORDS[COMP_CWORD - 1]}")"
  COMPREPLY=($(compgen -W "$list" -- "$current"))
}
complete -o default -F _svc svc
`;
}

function zsh(commands: readonly Command[]): string {
  return `#compdef svc
# Completion of svc for zsh: svc completion zsh > a folder of your fpath, as _svc
${candidates(commands)}
_svc() {
  local word first="" second="" at
  for ((at = 2; at < CURRENT; at++)); do
    word="\${words[at]}"
    case "$word" in -*) continue ;; esac
    if [ -z "$first" ]; then first="$word"; elif [ -z "$second" ]; then second="$word"; fi
  done
  local -a list
  list=(\${=$(__svc_candidates "$first" "$second" "\${words[CURRENT]}" "\${words[CURRENT - 1]}")})
  if ((\${#list})); then compadd -a list; else _files; fi
}
if [ "\${funcstack[1]}" = "_svc" ]; then _svc "$@"; else compdef _svc svc; fi
`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

function fish(commands: readonly Command[]): string {
  const lines = ["# Completion of svc for fish: svc completion fish > ~/.config/fish/completions/svc.fish"];
  const top = nextWords(commands, "").join(" ");
  for (const word of nextWords(commands, "")) {
    const command = commands.find(({ words }) => words === word);
    const text = command ? summaryOf(command) : (GROUPS[word] ?? "");
    lines.push(
      `complete -c svc -n "not __fish_seen_subcommand_from ${top}" -f -a ${word} -d ${quoted(text)}`,
    );
  }
  for (const command of commands) {
    const [first = "", second] = command.words.split(" ");
    let condition = `__fish_seen_subcommand_from ${first}`;
    if (second !== undefined) {
      const siblings = nextWords(commands, first).join(" ");
      lines.push(
        `complete -c svc -n "${condition}; and not __fish_seen_subcommand_from ${siblings}" -f -a ${second} -d ${quoted(summaryOf(command))}`,
      );
      condition += `; and __fish_seen_subcommand_from ${second}`;
    }
    for (const option of command.options ?? [])
      lines.push(
        `complete -c svc -n "${condition}" -l ${option.name}${option.short ? ` -s ${option.short}` : ""}${option.value ? " -r" : ""}${option.choices ? ` -f -a ${quoted(option.choices.join(" "))}` : ""} -d ${quoted(option.text)}`,
      );
  }
  for (const option of GLOBAL_OPTIONS)
    lines.push(`complete -c svc -l ${option.name}${option.value ? " -r" : ""} -d ${quoted(option.text)}`);
  return `${lines.join("\n")}\n`;
}

const SCRIPTS: ReadonlyMap<string, (commands: readonly Command[]) => string> = new Map([
  ["bash", bash],
  ["zsh", zsh],
  ["fish", fish],
]);

export async function completion(context: CommandContext, commands: readonly Command[]): Promise<void> {
  const script = SCRIPTS.get(context.arg(0));
  if (!script) throw new UsageError(`SHELL must be one of ${SHELLS.join(", ")}.`, context.words);
  process.stdout.write(script(commands));
}
