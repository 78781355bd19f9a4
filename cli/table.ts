/** All commands. Parsing, help and completion come from this table (cli.md). */
import type { Command, Option } from "./command.ts";
import { accessCommands } from "./tables/access.ts";
import { actorCommands } from "./tables/actors.ts";
import { daemonCommands } from "./tables/daemon.ts";
import { groupCommands } from "./tables/groups.ts";
import { messageCommands } from "./tables/messages.ts";

/** Taken by every command. */
export const GLOBAL_OPTIONS: readonly Option[] = [
  { name: "home", value: "DIR", text: "The Home; else SVC_HOME, else ~/.svc" },
  { name: "json", text: "Print the operation's envelope as one JSON document" },
];

/** In the order of help. */
export const COMMANDS: readonly Command[] = [
  ...daemonCommands,
  ...groupCommands,
  ...actorCommands,
  ...messageCommands,
  ...accessCommands,
];

/** What the groups of commands are for. */
export const GROUPS: Readonly<Record<string, string>> = {
  daemon: "The background process that owns the Home",
  group: "Groups: conversations of agents and people",
  actor: "Actors: the agents of a Group",
  ledger: "Keep a Group's ledger",
  token: "Access tokens for browsers and scripts",
  origin: "The address under which this instance is reached from elsewhere",
  exhibit: "The read-only listener for named Groups",
};
