/** Every command has an answer, also while no daemon runs or the workspace isn't trusted. */
import * as vscode from "vscode";
import { actorCommands } from "./commands/actors.ts";
import { daemonCommands } from "./commands/daemon.ts";
import { groupCommands } from "./commands/groups.ts";
import { type Handlers, tell } from "./commands/handling.ts";
import { sendingCommands } from "./commands/sending.ts";
import { type CommandName, commandId } from "./contributions/commands.ts";
import type { Parts } from "./parts.ts";

/** Registers all commands but those of webviews. */
export function registerCommands(parts: Parts): vscode.Disposable[] {
  const handlers: Handlers = {
    ...daemonCommands(parts),
    ...groupCommands(parts),
    ...actorCommands(parts),
    ...sendingCommands(parts),
  };
  return Object.entries(handlers).map(([name, handle]) =>
    vscode.commands.registerCommand(commandId(name as CommandName), async (...given: unknown[]) => {
      try {
        return await handle(...given);
      } catch (error) {
        tell(error);
        return undefined;
      }
    }),
  );
}
