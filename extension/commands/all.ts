/** What every command does. */
import { agentCommands } from "../agents/connecting.ts";
import type { CommandName } from "../contributions/commands.ts";
import type { Parts } from "../parts.ts";
import { actorCommands } from "./actors.ts";
import { daemonCommands } from "./daemon.ts";
import { groupCommands } from "./groups.ts";
import { type Handler, tell } from "./handling.ts";
import { instanceCommands } from "./instances.ts";
import { questionCommands } from "./questions.ts";
import { sendingCommands } from "./sending.ts";
import { webviewCommands } from "./webviews.ts";

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
