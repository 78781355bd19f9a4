/**
 * The command line: parses, runs one command, and returns the exit code of docs/cli.md (0 success,
 * 1 refused, 2 usage error, 3 daemon unreachable, 130 interrupted).
 */
import { DaemonUnreachable, RefusedByDaemon } from "../client/failures.ts";
import { launchToken } from "../client/identity.ts";
import { Refusal } from "../shared/errors.ts";
import { CommandContext } from "./context.ts";
import { Output } from "./output.ts";
import { parse } from "./parse.ts";
import { COMMANDS } from "./table.ts";
import { UsageError } from "./usage-error.ts";

const EXIT = { done: 0, refused: 1, usage: 2, unreachable: 3, interrupted: 130 } as const;

/** Shows an error to people on standard error, and to scripts as an envelope if it has one. */
function report(error: unknown, out: Output, context: CommandContext | null): number {
  if (error instanceof UsageError) {
    const words = error.words || (context?.words ?? "");
    out.note(`svc: ${context?.suggested(error.message) ?? error.message}`);
    out.note(`Help: svc ${words === "" ? "" : `${words} `}--help`);
    return EXIT.usage;
  }
  if (error instanceof DaemonUnreachable) {
    out.note(`svc: ${error.message}`);
    return EXIT.unreachable;
  }
  if (error instanceof Refusal || error instanceof RefusedByDaemon) {
    const body = error.body();
    if (out.json) out.document({ ok: false, error: body });
    out.note(`svc: ${context?.told(body) ?? body.message}`);
    return EXIT.refused;
  }
  // A fault of this program or of the machine. The stack helps to find it.
  out.note(`svc: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  return EXIT.refused;
}

/** Runs the command that the arguments name. Returns the exit code. */
async function run(argv: readonly string[]): Promise<number> {
  let out = new Output(argv.includes("--json"));
  let context: CommandContext | null = null;
  try {
    const invocation = parse(argv);
    if ("help" in invocation) {
      const { printHelp } = await import("./help.ts");
      printHelp(invocation.help, COMMANDS, out);
      return EXIT.done;
    }
    const { command } = invocation;
    out = new Output(invocation.options["json"] === true);
    if (!command.handlesInterrupt) process.once("SIGINT", () => process.exit(EXIT.interrupted));
    if (command.personOnly && launchToken() !== null)
      throw new Refusal("permission_denied", {
        specifics: `Only a person may run 'svc ${command.words}', not an Actor.`,
      });
    context = new CommandContext(command, invocation, out, COMMANDS);
    return (await command.run(context, COMMANDS)) ?? EXIT.done;
  } catch (error) {
    return report(error, out, context);
  } finally {
    context?.close();
  }
}

/** The reader of the output may stop at any time (`svc tail | head -1`). That is not an error. */
function endQuietly(error: NodeJS.ErrnoException): void {
  if (error.code === "EPIPE") process.exit(EXIT.done);
  throw error;
}

process.stdout.on("error", endQuietly);
process.stderr.on("error", endQuietly);
void run(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
  // Nothing that a command left open keeps the process running, but its output is written first.
  process.stdout.write("", () => process.exit(code));
});
