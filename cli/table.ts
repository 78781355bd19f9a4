/** All commands. Parsing, help and completion come from this table (docs/cli.md). */
import type { Command } from "./command.ts";
import { accessCommands } from "./tables/access.ts";
import { accountCommands } from "./tables/account.ts";
import { accountServiceCommands } from "./tables/account-service.ts";
import { actorCommands } from "./tables/actors.ts";
import { daemonCommands, programCommands } from "./tables/daemon.ts";
import { directCommands } from "./tables/direct.ts";
import { groupCommands } from "./tables/groups.ts";
import { messageCommands } from "./tables/messages.ts";
import { presentationCommands } from "./tables/presentations.ts";

/** In the order of the help. */
export const COMMANDS: readonly Command[] = [
  ...daemonCommands,
  ...groupCommands,
  ...actorCommands,
  ...messageCommands,
  ...presentationCommands,
  ...directCommands,
  ...accountCommands,
  ...accessCommands,
  ...accountServiceCommands,
  ...programCommands,
];
