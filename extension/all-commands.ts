/** What every command does. */
import { agentCommands } from "./agents/connecting.ts";
import { actorCommands } from "./commands/actors.ts";
import { daemonCommands } from "./commands/daemon.ts";
import { groupCommands } from "./commands/groups.ts";
import { type Handler, tell } from "./commands/handling.ts";
import { instanceCommands } from "./commands/instances.ts";
import { questionCommands } from "./commands/questions.ts";
import { sendingCommands } from "./commands/sending.ts";
import { webviewCommands } from "./commands/webviews.ts";
import type { CommandName } from "./contributions/commands.ts";
import type { Parts } from "./parts.ts";

export type RunCommand = (name: CommandName, given: readonly unknown[]) => Promise<unknown>;

/** Runs a command, and says what went wrong. */
export function createCommands(parts: Parts): RunCommand {
  const handlers: Record<CommandName, Handler> = {
    ...daemonCommands(parts),
    ...groupCommands(parts),
    ...actorCommands(parts),
    ...instanceCommands(parts),
    ...questionCommands(parts),
    ...sendingCommands(parts),
    ...webviewCommands(parts),
    ...agentCommands(parts),
  };
  return async (name, given) => {
    try {
      return await handlers[name](...given);
    } catch (error) {
      tell(error);
      return undefined;
    }
  };
}
