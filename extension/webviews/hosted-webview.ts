/** A webview of ours, wherever the editor shows it: its page, and its relay while it has one. */
import * as vscode from "vscode";
import { webviewPage } from "./page.ts";
import type { EditorPort } from "./relay.ts";
import { Relay } from "./relay.ts";
import type { RelayedLink } from "./relayed-link.ts";

export interface Page {
  /** Of its script and style. */
  name: string;
  title: string;
}

/** The folder of the extension with the webviews' files. */
export function webviewFolder({ extensionUri }: vscode.ExtensionContext): vscode.Uri {
  return vscode.Uri.joinPath(extensionUri, "dist", "webview");
}

/** Fills the webview. Whoever shows it says when it is hidden: its document is gone then. */
export function hostWebview(
  webview: vscode.Webview,
  folder: vscode.Uri,
  { name, title }: Page,
  link: RelayedLink,
  editor: EditorPort,
): { relay: Relay; dispose(): void } {
  const relay = new Relay((message) => void webview.postMessage(message), link, editor);
  const receiving = webview.onDidReceiveMessage((posted) => relay.receive(posted));
  webview.options = { enableScripts: true, localResourceRoots: [folder] };
  webview.html = webviewPage(
    {
      cspSource: webview.cspSource,
      addressOf: (file) => webview.asWebviewUri(vscode.Uri.joinPath(folder, file)).toString(),
    },
    name,
    title,
  );
  return {
    relay,
    dispose: () => {
      receiving.dispose();
      relay.end();
    },
  };
}
