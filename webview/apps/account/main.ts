/** The link to an account in a tab of an editor. */
import "./account.css";
import "../../connections/account-dialog.ts";
import "../workbench/offline-banner.ts";
import { html, render } from "lit";
import { skeleton } from "../../controls/controls.ts";
import { openInEditor } from "../../hosts/vscode/editor-document.ts";

async function begin(): Promise<void> {
  const root = document.getElementById("root")!;
  render(skeleton(4, "list"), root);
  const { host } = await openInEditor(() => {});
  document.title = "Account";
  render(html``, root);
  render(
    html`<svc-offline .host=${host}></svc-offline>
      <svc-account-dialog ?embedded=${true} .host=${host}></svc-account-dialog>`,
    root,
  );
}

void begin();
