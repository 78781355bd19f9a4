/** Says once per person that the running daemon has another version than this extension. */
import * as vscode from "vscode";
import { PRODUCT_VERSION } from "../shared/version.ts";
import { commandId } from "./contributions/commands.ts";
import { runningActors } from "./daemon/running-actors.ts";
import { compareVersions, versionNotice } from "./daemon/versions.ts";
import type { Parts } from "./parts.ts";

/** Begins to compare each daemon that answers. */
export function noticeVersions(parts: Parts): void {
  const { link, claims } = parts;
  let told = "";
  link.on("state", () => {
    const { version } = link.status ?? {};
    if (version === undefined || version === PRODUCT_VERSION || version === told) return;
    told = version;
    if (claims.claim(`version ${link.home} ${version} ${PRODUCT_VERSION}`)) void tell(parts, version);
  });
}

async function tell({ link }: Parts, version: string): Promise<void> {
  if (compareVersions(version, PRODUCT_VERSION) > 0) {
    void vscode.window.showInformationMessage(versionNotice(version, []));
    return;
  }
  // A daemon of another version may not say it. It is asked again before anything ends.
  const running = await runningActors(link.client).catch(() => []);
  if (link.status?.version !== version) return;
  const upgrade = "Restart to Upgrade";
  const said = versionNotice(version, running);
  if ((await vscode.window.showInformationMessage(said, upgrade)) === upgrade)
    await vscode.commands.executeCommand(commandId("upgradeDaemon"));
}
