/** What the webviews of a window share, once one of them is shown. */
import type * as vscode from "vscode";
import type { Shown } from "../../shared/webview-protocol.ts";
import { TABS } from "../contributions/views.ts";
import { editorPort } from "./editor-port.ts";
import { GroupPanels } from "./group-panels.ts";
import { hostWebview, webviewFolder } from "./hosted-webview.ts";
import type { RelayedLink } from "./relayed-link.ts";
import { ViewMemory } from "./view-memory.ts";

const MEMORY_KEY = "svc.views";
const TICKER = { name: "ticker", title: "Ticker" } as const;

export class ShownWebviews implements vscode.Disposable {
  readonly workbench: GroupPanels;
  readonly connections: GroupPanels;
  readonly account: GroupPanels;
  readonly #context: vscode.ExtensionContext;
  readonly #link: RelayedLink;
  readonly #memory: ViewMemory;
  readonly #openGroup = (shown: Shown): void => this.workbench.show(shown);

  constructor(context: vscode.ExtensionContext, link: RelayedLink) {
    this.#context = context;
    this.#link = link;
    this.#memory = new ViewMemory({
      get: () => context.workspaceState.get(MEMORY_KEY),
      set: (values) => void context.workspaceState.update(MEMORY_KEY, values),
    });
    const panels = (viewType: string, name: string, title: string) =>
      new GroupPanels(context, link, this.#memory, { viewType, page: { name, title } }, this.#openGroup);
    this.workbench = panels(TABS.workbench, "workbench", "Workbench");
    this.connections = panels(TABS.connections, "direct", "Connections");
    this.account = panels(TABS.account, "account", "Account");
  }

  /** Fills the view of the ticker. */
  showTicker(view: vscode.WebviewView): void {
    const hosted = hostWebview(
      view.webview,
      webviewFolder(this.#context),
      TICKER,
      this.#link,
      editorPort(this.#memory, { openGroup: this.#openGroup }),
    );
    view.onDidChangeVisibility(() => {
      if (!view.visible) hosted.relay.end();
    });
    view.onDidDispose(() => hosted.dispose());
  }

  dispose(): void {
    this.workbench.dispose();
    this.connections.dispose();
    this.account.dispose();
  }
}
