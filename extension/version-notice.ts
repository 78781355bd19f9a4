/** Says once per person that the running daemon has another version than this extension. */
import * as vscode from "vscode";
import { PRODUCT_VERSION } from "../shared/version.ts";
import { commandId } from "./contributions/commands.ts";
import { compareVersions } from "./daemon/versions.ts";
import type { Parts } from "./parts.ts";
import { plain } from "./plain.ts";

/** Begins to compare each daemon that answers. */
export function noticeVersions({ link, claims }: Parts): void {
  let told = "";
  link.on("state", () => {
    const { version } = link.status ?? {};
    if (version === undefined || version === PRODUCT_VERSION || version === told) return;
    told = version;
    if (claims.claim(`version ${link.home} ${version} ${PRODUCT_VERSION}`)) void tell(version);
  });
}

async function tell(version: string): Promise<void> {
  const upgrade = "Restart to Upgrade";
  const is = `The running daemon of svc has version ${plain(version)}, this extension ${PRODUCT_VERSION}.`;
  if (compareVersions(version, PRODUCT_VERSION) > 0) {
    void vscode.window.showInformationMessage(`${is} Update the extension.`);
    return;
  }
  if ((await vscode.window.showInformationMessage(is, upgrade)) === upgrade)
    await vscode.commands.executeCommand(commandId("upgradeDaemon"));
}
