/** Starting, stopping and looking after the daemon. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import * as vscode from "vscode";
import { homePaths } from "../../client/paths.ts";
import { actorName, hasTerminal } from "../../shared/actor-words.ts";
import { findProgram, type Program } from "../daemon/program.ts";
import { startDaemon, stopDaemon } from "../daemon/starting.ts";
import type { Parts } from "../parts.ts";
import { plain } from "../plain.ts";
import { type Handlers, needDaemon, needTrust, Over } from "./handling.ts";

/** The program that starts the daemon. Throws what to do when there is none. */
async function program({ context }: Parts): Promise<Program> {
  const setting = vscode.workspace.getConfiguration("svc").get<string>("command", "");
  const bundled = join(context.extensionPath, "daemon", "dist", "svc.cjs");
  const found = await findProgram({ setting, bundled, environment: process.env, execPath: process.execPath });
  if (found !== null) return found;
  throw new Error(
    "There is no svc program on this machine. Install svc so that its command is on PATH, or name it in the setting svc.command.",
  );
}

function withProgress<Result>(title: string, work: () => Promise<Result>): Thenable<Result> {
  return vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title }, work);
}

/** Names of the Actors whose processes end with the daemon. */
function runningActors({ instance }: Parts): string[] {
  return instance.groups.flatMap(({ actors }) =>
    (actors ?? [])
      .filter((actor) => hasTerminal(actor) && !["stopped", "failed"].includes(actor.presence.state))
      .map((actor) => plain(actorName(actor))),
  );
}

/** Asks before running agents end. Throws Over. */
async function confirmEnd(parts: Parts, action: string): Promise<void> {
  const running = runningActors(parts);
  if (running.length === 0) return;
  const detail = `These agents run in the daemon's terminals and will end: ${running.join(", ")}. Their conversations continue when you start them again.`;
  if ((await vscode.window.showWarningMessage(`${action}?`, { modal: true, detail }, action)) !== action)
    throw new Over();
}

async function start(parts: Parts): Promise<boolean> {
  needTrust();
  const found = await program(parts);
  await withProgress("Starting svc's daemon…", () => startDaemon(parts.link, found));
  return true;
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
    async restartDaemon() {
      needTrust();
      if (link.state === "online") {
        // Found first: a daemon that can't be started again isn't stopped.
        await program(parts);
        await confirmEnd(parts, "Restart the Daemon");
        await withProgress("Stopping svc's daemon…", () => stopDaemon(link));
      }
      await start(parts);
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
