/** Everything that is drawn by a webview: the panels of the Workbench. */
import * as vscode from "vscode";
import { WindowLink } from "../../client/link/window-link.ts";
import { commandId } from "../contributions/commands.ts";
import type { Parts } from "../parts.ts";
import { ViewMemory } from "./view-memory.ts";
import { WorkbenchPanels } from "./workbench-panels.ts";

const MEMORY_KEY = "svc.views";

/** Registers the webviews. Nothing is opened or loaded before one of them is shown. */
export function registerWebviews({ context, link: { home } }: Parts): vscode.Disposable[] {
  const link = new WindowLink(home);
  const memory = new ViewMemory({
    get: () => context.workspaceState.get(MEMORY_KEY),
    set: (values) => void context.workspaceState.update(MEMORY_KEY, values),
  });
  const panels = new WorkbenchPanels(context, link, memory);
  return [
    panels,
    { dispose: () => link.close() },
    vscode.commands.registerCommand(commandId("openWorkbench"), (row: unknown) => {
      const groupId = groupOf(row);
      panels.show(groupId === null ? null : { group_id: groupId, text: null, to: [] });
    }),
  ];
}

/** Of a row of a tree; null for a command without one. */
function groupOf(row: unknown): string | null {
  const { groupId } = (typeof row === "object" && row !== null ? row : {}) as { groupId?: unknown };
  return typeof groupId === "string" ? groupId : null;
}
