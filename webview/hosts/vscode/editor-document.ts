/** A webview's document in an editor: how it talks, its title, and its links. */
import { LIMITS } from "../../../shared/limits.ts";
import type { Shown } from "../../../shared/webview-protocol.ts";
import type { WebviewApi, Welcome } from "./channel.ts";
import { VsCodeHost } from "./vscode-host.ts";

declare function acquireVsCodeApi(): WebviewApi;

/** Resolves with the host once the extension host has answered. Call it once. */
export async function openInEditor(
  show: (shown: Shown) => void,
): Promise<{ host: VsCodeHost; welcome: Welcome }> {
  const host = new VsCodeHost(acquireVsCodeApi(), show);
  addEventListener("message", ({ origin, data }: MessageEvent<unknown>) => {
    // What another frame or window posts comes from elsewhere.
    if (origin === window.origin) host.receive(data);
  });
  const welcome = await host.open();
  addEventListener("pagehide", () => host.tellMemory());
  document.addEventListener("click", claimLinks);
  followTitle(host);
  return { host, welcome };
}

/** The tab has the document's title. */
function followTitle(host: VsCodeHost): void {
  new MutationObserver(() => host.setTitle(document.title.slice(0, LIMITS.group.titleBytes))).observe(
    document.head,
    { subtree: true, childList: true, characterData: true },
  );
}

/** The editor opens links itself, except those that an element already handles. */
function claimLinks(event: Event): void {
  if (event.defaultPrevented && event.target instanceof Element && event.target.closest("a") !== null)
    event.stopPropagation();
}
