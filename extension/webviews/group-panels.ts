/** Webviews as editor tabs: several at once, one for each Group, restored with the window. */
import * as vscode from "vscode";
import type { Shown } from "../../shared/webview-protocol.ts";
import { editorPort } from "./editor-port.ts";
import { hostWebview, type Page, webviewFolder } from "./hosted-webview.ts";
import type { Relay } from "./relay.ts";
import type { RelayedLink } from "./relayed-link.ts";
import type { ViewMemory } from "./view-memory.ts";

/** What the tabs show, and the editor's name for their kind. */
export interface Kind {
  viewType: string;
  page: Page;
}

interface Open {
  panel: vscode.WebviewPanel;
  relay: Relay;
  groupId: string | null;
}

export class GroupPanels implements vscode.Disposable {
  readonly #context: vscode.ExtensionContext;
  readonly #link: RelayedLink;
  readonly #memory: ViewMemory;
  readonly #kind: Kind;
  readonly #openGroup: (shown: Shown) => void;
  readonly #open = new Set<Open>();

  /** `openGroup` opens a Group's Workbench. */
  constructor(
    context: vscode.ExtensionContext,
    link: RelayedLink,
    memory: ViewMemory,
    kind: Kind,
    openGroup: (shown: Shown) => void,
  ) {
    this.#context = context;
    this.#link = link;
    this.#memory = memory;
    this.#kind = kind;
    this.#openGroup = openGroup;
  }

  /** Shows a Group, in the tab that it has or in a new one. Null: the last one. */
  show(shown: Shown | null): void {
    const found = [...this.#open].find(({ groupId, panel }) =>
      shown === null ? panel.active : groupId === shown.group_id,
    );
    const open = found ?? (shown === null ? [...this.#open].at(-1) : undefined);
    if (open !== undefined) {
      if (shown !== null) open.relay.show(shown);
      open.panel.reveal();
      return;
    }
    const panel = vscode.window.createWebviewPanel(
      this.#kind.viewType,
      this.#kind.page.title,
      vscode.ViewColumn.Active,
    );
    const { relay } = this.#take(panel, shown?.group_id ?? null);
    if (shown !== null) relay.show(shown);
  }

  /** Takes a tab of an earlier window. The document restores itself from its own state. */
  restore(panel: vscode.WebviewPanel, state: unknown): void {
    const { group } = (typeof state === "object" && state !== null ? state : {}) as {
      group?: { value?: unknown };
    };
    this.#take(panel, typeof group?.value === "string" ? group.value : null);
  }

  dispose(): void {
    for (const { panel } of this.#open) panel.dispose();
  }

  #take(panel: vscode.WebviewPanel, groupId: string | null): Open {
    const editor = editorPort(this.#memory, {
      title: (title) => {
        panel.title = title;
      },
      group: (shown) => {
        open.groupId = shown;
      },
      openGroup: this.#openGroup,
    });
    const hosted = hostWebview(
      panel.webview,
      webviewFolder(this.#context),
      this.#kind.page,
      this.#link,
      editor,
    );
    const open: Open = { panel, relay: hosted.relay, groupId };
    const picture = (theme: string) =>
      vscode.Uri.joinPath(this.#context.extensionUri, "media", `tab-${theme}.svg`);
    panel.iconPath = { light: picture("light"), dark: picture("dark") };
    panel.onDidChangeViewState(() => {
      if (!panel.visible) hosted.relay.end();
    });
    panel.onDidDispose(() => {
      hosted.dispose();
      this.#open.delete(open);
    });
    this.#open.add(open);
    return open;
  }
}
