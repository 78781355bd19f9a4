/** Everything that is drawn by a webview: Workbenches, Direct connections, and the ticker. */
import * as vscode from "vscode";
import type { Shown } from "../../shared/webview-protocol.ts";
import { chooseGroup, needDaemon, needTrust, rowOf, tell } from "../commands/handling.ts";
import { type CommandName, commandId } from "../contributions/commands.ts";
import { VIEWS } from "../contributions/views.ts";
import type { Parts } from "../parts.ts";
import { editorPort } from "./editor-port.ts";
import { GroupPanels } from "./group-panels.ts";
import { hostWebview, webviewFolder } from "./hosted-webview.ts";
import { ViewMemory } from "./view-memory.ts";

const MEMORY_KEY = "svc.views";
const WORKBENCH = { viewType: "svc.workbench", page: { name: "workbench", title: "Workbench" } } as const;
const DIRECT = { viewType: "svc.direct", page: { name: "direct", title: "Connections" } } as const;
const TICKER = { name: "ticker", title: "Ticker" } as const;

const shownGroup = (groupId: string): Shown => ({ group_id: groupId, text: null, to: [], page: "list" });

/** Registers the webviews. Nothing is opened or loaded before one of them is shown. */
export function registerWebviews(parts: Parts): vscode.Disposable[] {
  const { context } = parts;
  const link = parts.link.window;
  const memory = new ViewMemory({
    get: () => context.workspaceState.get(MEMORY_KEY),
    set: (values) => void context.workspaceState.update(MEMORY_KEY, values),
  });
  const openGroup = (shown: Shown) => workbenches.show(shown);
  const workbenches: GroupPanels = new GroupPanels(context, link, memory, WORKBENCH, openGroup);
  const connections = new GroupPanels(context, link, memory, DIRECT, openGroup);
  const connect = (page: Shown["page"]) => async (given: unknown) => {
    needTrust();
    await needDaemon(parts);
    const { groupId } = await chooseGroup(parts, given);
    connections.show({ ...shownGroup(groupId), page });
  };
  const command = (name: CommandName, run: (given: unknown) => unknown) =>
    vscode.commands.registerCommand(commandId(name), async (given: unknown) => {
      try {
        await run(given);
      } catch (error) {
        tell(error);
      }
    });
  return [
    workbenches,
    connections,
    vscode.window.registerWebviewViewProvider(VIEWS.ticker.id, {
      resolveWebviewView(view) {
        const hosted = hostWebview(
          view.webview,
          webviewFolder(context),
          TICKER,
          link,
          editorPort(memory, { openGroup }),
        );
        view.onDidChangeVisibility(() => {
          if (!view.visible) hosted.relay.end();
        });
        view.onDidDispose(() => hosted.dispose());
      },
    }),
    // From a row of a tree, or with a text to add to the draft.
    command("openWorkbench", (given) => {
      const row = rowOf(given);
      const { text } = (given ?? {}) as { text?: unknown };
      if (row === null) workbenches.show(null);
      else
        workbenches.show({
          ...shownGroup(row.groupId),
          text: typeof text === "string" ? text : null,
          to: row.kind === "actor" ? [row.actorId] : [],
        });
    }),
    command("showConnections", connect("list")),
    command("inviteGroup", connect("invite")),
    command("acceptInvitation", connect("join")),
  ];
}
