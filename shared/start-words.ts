/** What an agent still needs before it can work, and what helps, in words. */
import { INSTALL_COMMANDS } from "./agent-clients.ts";
import type { RuntimeDescription } from "./operations/actors.ts";

/** What logs an agent in, typed in a terminal of the daemon's machine. */
const LOGINS: Readonly<Record<string, string>> = { claude: "claude", codex: "codex login" };

/** What is missing, the command that mends it if there is one, and what else to do. */
export interface MissingWords {
  kind: RuntimeDescription["missing"][number];
  what: string;
  command: string | undefined;
  remedy: string;
}

/** One for each thing that is missing. */
export function missingWords({
  title,
  runtime,
  command,
  missing,
}: Pick<RuntimeDescription, "title" | "runtime" | "command" | "missing">): MissingWords[] {
  const words = {
    program: {
      what: `${title} isn't installed: the daemon can't find the program '${command ?? runtime}'.`,
      command: INSTALL_COMMANDS[runtime],
      remedy: "Install it, or give the Actor another command.",
    },
    login: {
      what: `${title} isn't logged in on the daemon's machine.`,
      command: LOGINS[runtime],
      remedy: "Log in there, or start the Actor and log in in its terminal.",
    },
    trust: {
      what: `${title} doesn't trust the Group's folder yet.`,
      command: undefined,
      remedy: "It asks in its terminal after the start. Messages wait until you have answered there.",
    },
  };
  return missing.map((kind) => ({ kind, ...words[kind] }));
}
