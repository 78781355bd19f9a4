/**
 * Every command has an answer, also while no daemon runs or the workspace isn't trusted. What they
 * do is loaded with the first that is called.
 */
import * as vscode from "vscode";
import type { RunCommand } from "./all-commands.ts";
import { COMMANDS, type CommandName, commandId } from "./contributions/commands.ts";
import type { Parts } from "./parts.ts";

export function registerCommands(parts: Parts): vscode.Disposable[] {
  let loading: Promise<RunCommand> | undefined;
  const load = () =>
    (loading ??= import("./all-commands.ts").then(({ createCommands }) => createCommands(parts)));
  return (Object.keys(COMMANDS) as CommandName[]).map((name) =>
    vscode.commands.registerCommand(commandId(name), async (...given: unknown[]) =>
      (await load())(name, given),
    ),
  );
}
