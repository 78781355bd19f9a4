/**
 * `svc` as a command of the editor's own terminals, for people who have installed only the
 * extension. A small program in the extension's own folder starts the one that it brings; a `svc`
 * that is on PATH already goes first. Nothing else on the machine changes.
 */
import { delimiter, join } from "node:path";
import * as vscode from "vscode";
import { isFile, svcCommand } from "../../client/programs.ts";
import { ENVIRONMENT } from "../../shared/names.ts";
import { readConfig, writeConfig } from "../config-file.ts";
import { bundledProgram } from "../daemon/bundled.ts";
import { findProgram, launcherText } from "../daemon/program.ts";
import type { Parts } from "../parts.ts";

const EXECUTABLE = 0o755;

/** Offers the command to terminals that are opened from now on. */
export async function putCommandOnPath({ context, link }: Parts): Promise<void> {
  const collection = context.environmentVariableCollection;
  const bundled = bundledProgram(context);
  const folder = join(context.globalStorageUri.fsPath, "bin");
  const launcher = join(folder, svcCommand());
  if (!isFile(bundled)) {
    collection.clear();
    return;
  }
  // The program that another version of the extension brought is gone with it.
  if (readConfig(launcher)?.includes(bundled) !== true) {
    const program = await findProgram({
      setting: "",
      bundled,
      environment: process.env,
      execPath: process.execPath,
    });
    if (program === null) return;
    writeConfig(launcher, launcherText(program, process.platform === "win32"), EXECUTABLE);
  }
  collection.description = "Adds the command `svc`";
  collection.append("PATH", `${delimiter}${folder}`, {
    applyAtProcessCreation: true,
    applyAtShellIntegration: true,
  });
  const isNamed = vscode.workspace.getConfiguration("svc").get<string>("home", "") !== "";
  // The command speaks to the daemon that the side bar shows.
  if (isNamed) collection.replace(ENVIRONMENT.home, link.home);
  else collection.delete(ENVIRONMENT.home);
}
