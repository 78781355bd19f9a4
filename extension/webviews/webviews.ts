/**
 * The webviews of a window. The editor knows them from the start; their code is loaded when the
 * first of them is shown.
 */
import * as vscode from "vscode";
import type { Shown } from "../../shared/webview-protocol.ts";
import { TABS, VIEWS } from "../contributions/views.ts";
import type { RelayedLink } from "./relayed-link.ts";
import type { ShownWebviews } from "./shown-webviews.ts";

type Tab = keyof typeof TABS;

export class Webviews implements vscode.Disposable {
  readonly #context: vscode.ExtensionContext;
  readonly #link: RelayedLink;
  readonly #registered: vscode.Disposable[];
  #loading: Promise<ShownWebviews> | null = null;

  constructor(context: vscode.ExtensionContext, link: RelayedLink) {
    this.#context = context;
    this.#link = link;
    this.#registered = [
      vscode.window.registerWebviewViewProvider(VIEWS.ticker.id, {
        resolveWebviewView: async (view) => (await this.#load()).showTicker(view),
      }),
      ...(Object.keys(TABS) as Tab[]).map((tab) =>
        vscode.window.registerWebviewPanelSerializer(TABS[tab], {
          deserializeWebviewPanel: async (panel, state) => (await this.#load())[tab].restore(panel, state),
        }),
      ),
    ];
  }

  /** Shows a Group in a tab of this kind, or the last one for null. */
  async show(tab: Tab, shown: Shown | null): Promise<void> {
    (await this.#load())[tab].show(shown);
  }

  dispose(): void {
    for (const one of this.#registered) one.dispose();
    void this.#loading?.then((webviews) => webviews.dispose());
  }

  #load(): Promise<ShownWebviews> {
    this.#loading ??= import("./shown-webviews.ts").then(
      ({ ShownWebviews }) => new ShownWebviews(this.#context, this.#link),
    );
    return this.#loading;
  }
}
