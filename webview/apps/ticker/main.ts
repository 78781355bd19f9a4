/** The ticker as a view of an editor's side bar. */
import "./ticker.css";
import "./ticker.ts";
import { html, render } from "lit";
import { openInEditor } from "../../hosts/vscode/editor-document.ts";

const root = document.getElementById("root")!;

async function begin(): Promise<void> {
  const { host } = await openInEditor(() => {});
  render(
    html`<svc-ticker
      .host=${host}
      @open-actor=${({ detail }: CustomEvent<{ groupId: string; actorId: string }>) => host.openActor(detail.groupId, detail.actorId)}
    ></svc-ticker>`,
    root,
  );
}

void begin();
