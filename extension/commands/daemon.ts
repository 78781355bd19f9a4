/** Starting, stopping and looking after the daemon. */
import { existsSync } from "node:fs";
import * as vscode from "vscode";
import { homePaths } from "../../client/paths.ts";
import { PRODUCT_VERSION } from "../../shared/version.ts";
import { bundledProgram } from "../daemon/bundled.ts";
import { findProgram, type Program } from "../daemon/program.ts";
import { runningActors } from "../daemon/running-actors.ts";
import { startDaemon, stopDaemon } from "../daemon/starting.ts";
import { compareVersions } from "../daemon/versions.ts";
import type { Parts } from "../parts.ts";
import { type Handlers, needDaemon, needTrust, Over } from "./handling.ts";

/** The program that starts the daemon. Throws what to do when there is none. */
export async function daemonProgram({ context }: Parts): Promise<Program> {
  const setting = vscode.workspace.getConfiguration("svc").get<string>("command", "");
  const bundled = bundledProgram(context);
  const found = await findProgram({ setting, bundled, environment: process.env, execPath: process.execPath });
  if (found !== null) return found;
  throw new Error(
    "There is no svc program on this machine. Install svc so that its command is on PATH, or name it in the setting svc.command.",
  );
}

function withProgress<Result>(title: string, work: () => Promise<Result>): Thenable<Result> {
  return vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title }, work);
}

/** Asks before running agents end. Throws Over. */
async function confirmEnd(parts: Parts, action: string): Promise<void> {
  const running = await runningActors(parts.link.client);
  if (running.length === 0) return;
  const detail = `These agents run in the daemon's terminals and will end: ${running.join(", ")}. Their conversations continue when you start them again.`;
  if ((await vscode.window.showWarningMessage(`${action}?`, { modal: true, detail }, action)) !== action)
    throw new Over();
}

async function start(parts: Parts): Promise<boolean> {
  needTrust();
  const found = await daemonProgram(parts);
  await withProgress("Starting svc's daemon…", () => startDaemon(parts.link, found));
  return true;
}

/** Stops the daemon if the person agrees, and starts it again. Throws Over. */
async function restart(parts: Parts, action: string): Promise<void> {
  const { link } = parts;
  needTrust();
  if (link.state === "online") {
    // Found first: a daemon that can't be started again isn't stopped.
    await daemonProgram(parts);
    await confirmEnd(parts, action);
    await withProgress("Stopping svc's daemon…", () => stopDaemon(link));
  }
  await start(parts);
}

export function daemonCommands(parts: Parts) {
  const { link, instance } = parts;
  return {
    startDaemon: () => (link.state === "online" ? true : start(parts)),
    async stopDaemon() {
      needTrust();
      if (link.state !== "online") throw new Error("svc's daemon isn't running.");
      await confirmEnd(parts, "Stop the Daemon");
      await withProgress("Stopping svc's daemon…", () => stopDaemon(link));
    },
    restartDaemon: () => restart(parts, "Restart the Daemon"),
    async upgradeDaemon() {
      await restart(parts, "Restart to Upgrade");
      const { version } = link.status ?? {};
      if (version !== undefined && compareVersions(version, PRODUCT_VERSION) < 0)
        throw new Error(
          `The daemon is still version ${version}, because the svc program on this machine is. Update that program.`,
        );
    },
    async showLog() {
      const path = homePaths(link.home).daemon.log;
      if (!existsSync(path)) throw new Error(`There is no log yet at ${path}.`);
      await vscode.window.showTextDocument(vscode.Uri.file(path));
    },
    async refresh() {
      link.retry();
      await needDaemon(parts);
      await instance.refresh();
    },
  } satisfies Handlers;
}
