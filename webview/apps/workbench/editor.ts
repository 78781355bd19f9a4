/** The Workbench in a tab of an editor. The editor has the theme and vouches for the person. */
import "./workbench.css";
// Here and not only in the Workbench: the toolkit takes the theme when the page's load event comes.
import "../../controls/toolkit.ts";
import { html, render } from "lit";
import type { Shown } from "../../../shared/webview-protocol.ts";
import { skeleton } from "../../controls/controls.ts";
import { openInEditor } from "../../hosts/vscode/editor-document.ts";

const workbench = import("./workbench.ts");
const root = document.getElementById("root")!;

/** The elements have the same events for what a person does in them. */
function show({ group_id: groupId, text, to }: Shown): void {
  const element = root.querySelector("svc-workbench");
  const tell = (name: string, detail: unknown) => element?.dispatchEvent(new CustomEvent(name, { detail }));
  tell("open-group", groupId);
  for (const actorId of to) tell("write-to", actorId);
  if (text !== null) tell("add-text", text);
}

async function begin(): Promise<void> {
  render(html`<div class="beginning">${skeleton(6, "list")}</div>`, root);
  const [{ host, welcome }] = await Promise.all([openInEditor(show), workbench]);
  render(
    html`<svc-workbench .host=${host} .viewer=${{ kind: "administrator" }} .theme=${""}></svc-workbench>`,
    root,
  );
  if (welcome.shown !== null) show(welcome.shown);
}

void begin();
