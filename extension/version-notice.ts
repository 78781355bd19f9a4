/** Says once per person that the running daemon has another version than this extension. */
import * as vscode from "vscode";
import { RefusedByDaemon } from "../client/failures.ts";
import { PRODUCT_VERSION } from "../shared/version.ts";
import { commandId } from "./contributions/commands.ts";
import { runningActors } from "./daemon/running-actors.ts";
import { compareVersions, versionNotice } from "./daemon/versions.ts";
import type { Parts } from "./parts.ts";

/** Begins to compare each daemon that answers. */
export function noticeVersions(parts: Parts): void {
  const { link } = parts;
  let asked = "";
  link.on("state", () => {
    const { version } = link.status ?? {};
    if (version === undefined || version === PRODUCT_VERSION || version === asked) return;
    asked = version;
    void tell(parts, version).then((isTold) => {
      // The connection that comes next asks again.
      if (!isTold) asked = "";
    });
  });
}

/** False when the daemon was lost before it could say what its end would end. */
async function tell({ link, claims }: Parts, version: string): Promise<boolean> {
  const isNewer = compareVersions(version, PRODUCT_VERSION) > 0;
  const running = isNewer ? [] : await endingWith(link);
  if (running === null || link.status?.version !== version) return false;
  // Only who can say it claims that it does.
  if (!claims.claim(`version ${link.home} ${version} ${PRODUCT_VERSION}`)) return true;
  void show(versionNotice(version, running), isNewer);
  return true;
}

async function show(notice: string, isNewer: boolean): Promise<void> {
  const upgrade = "Restart to Upgrade";
  const actions = isNewer ? [] : [upgrade];
  if ((await vscode.window.showInformationMessage(notice, ...actions)) === upgrade)
    await vscode.commands.executeCommand(commandId("upgradeDaemon"));
}

/**
 * The agents that end with the daemon. None when a daemon of another version refuses to say it: it
 * is asked again before anything ends. Null when no answer came.
 */
async function endingWith({ client }: Parts["link"]): Promise<string[] | null> {
  try {
    return await runningActors(client);
  } catch (error) {
    return error instanceof RefusedByDaemon ? [] : null;
  }
}
