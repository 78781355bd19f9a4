/** A Group's connections in a tab of an editor: invitation, words, approval, state. */
import { labelled } from "../../../shared/voice.ts";
import "./direct.css";
import "../../connections/account-dialog.ts";
import "../../connections/connections-dialog.ts";
import "../../connections/sharing-dialog.ts";
import "../workbench/offline-banner.ts";
import { html, render } from "lit";
import type { Shown } from "../../../shared/webview-protocol.ts";
import { skeleton } from "../../controls/controls.ts";
import { openInEditor } from "../../hosts/vscode/editor-document.ts";
import type { VsCodeHost } from "../../hosts/vscode/vscode-host.ts";
import { GroupConnections } from "../../state/group-connections.ts";
import { OpenGroup } from "../../state/open-group.ts";

const EVERY_MS = 10_000;
const root = document.getElementById("root")!;
/** The Group that is shown. */
let current: OpenGroup | null = null;

function show(
  host: VsCodeHost,
  { group_id: groupId, page, text }: Pick<Shown, "group_id" | "page" | "text">,
): void {
  host.remember("group", groupId);
  const group = new OpenGroup(host, groupId);
  const connections = new GroupConnections(host, groupId, EVERY_MS, () => !document.hidden);
  current = group;
  void group.refresh().then(() => {
    if (current !== group) return;
    const title = group.group?.title ?? "a Group";
    document.title = `Connections of ${labelled(title)}`;
    if (page === "answer") openDialog(host, "sharing", { groupId, groupTitle: title, invitation: text });
  });
  // Another Group has another element, and nothing of the earlier one.
  render(html``, root);
  render(
    html`<svc-offline .host=${host}></svc-offline>
      <svc-connections-dialog
      ?embedded=${true}
      .host=${host}
      .conversation=${{ groupId, group, connections }}
      .first=${page === "answer" ? "list" : page}
      .pasted=${page === "join" ? (text ?? "") : ""}
    ></svc-connections-dialog>`,
    root,
  );
}

/** The account and other accounts have dialogs of their own here. */
function openDialog(host: VsCodeHost, name: string, fields: Record<string, unknown>): void {
  const element = `svc-${name}-dialog`;
  document.querySelector(element)?.remove();
  document.body.append(Object.assign(document.createElement(element), { host, ...fields }));
}

async function begin(): Promise<void> {
  render(skeleton(4, "list"), root);
  const { host, welcome } = await openInEditor((shown) => show(host, shown));
  document.addEventListener("open-dialog", (event) => {
    const { name, ...fields } = (event as CustomEvent<{ name: string }>).detail;
    openDialog(host, name, fields);
  });
  const kept = host.recall("group");
  if (welcome.shown !== null) show(host, welcome.shown);
  else if (typeof kept === "string") show(host, { group_id: kept, page: "list", text: null });
}

void begin();
