/** What webviews may ask of the editor: files, links, and what it remembers for them. */
import { randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, isAbsolute } from "node:path";
import { pipeline } from "node:stream/promises";
import * as vscode from "vscode";
import { LIMITS } from "../../shared/limits.ts";
import type { Shown } from "../../shared/webview-protocol.ts";
import { commandId } from "../contributions/commands.ts";
import { openFolders } from "../folders.ts";
import { plain } from "../plain.ts";
import { type Reference, readReference } from "./references.ts";
import type { EditorPort } from "./relay.ts";
import type { ViewMemory } from "./view-memory.ts";

const OPENED_SCHEMES = new Set(["http", "https", "mailto"]);

/** One webview's editor. `changed` is told what the webview shows. */
export function editorPort(
  memory: ViewMemory,
  changed: {
    title?(title: string): void;
    group?(groupId: string | null): void;
    openGroup(shown: Shown): void;
  },
): EditorPort {
  return {
    mayWrite: () => vscode.workspace.isTrusted,
    memory: () => memory.all(),
    remember: (key, value) => memory.remember(key, value),
    readDropped,
    chooseFile,
    writeFile,
    openLink,
    openInBrowser: (query) => void vscode.commands.executeCommand(commandId("openInBrowser"), { query }),
    openReference: (reference) => void openReference(reference),
    setTitle: (title) => changed.title?.(plain(title)),
    showing: (groupId) => changed.group?.(groupId),
    openActor: (groupId, actorId) =>
      changed.openGroup({ group_id: groupId, text: null, to: [actorId], page: "list" }),
  };
}

/** Only files of the open folders: a document asks for them, not the person. */
async function readDropped(address: string): Promise<{ name: string; bytes: Uint8Array }> {
  const uri = vscode.Uri.parse(address, true);
  const name = basename(uri.path);
  if (vscode.workspace.getWorkspaceFolder(uri) === undefined)
    throw new Error(`${plain(name)} isn’t in an open folder. Add it with the button instead.`);
  const { type, size } = await vscode.workspace.fs.stat(uri);
  if ((type & vscode.FileType.File) === 0) throw new Error(`${plain(name)} isn’t a file.`);
  if (size > LIMITS.attachment.uploadBytes) throw new Error(`${plain(name)} is too large.`);
  return { name, bytes: await vscode.workspace.fs.readFile(uri) };
}

async function chooseFile(name: string): Promise<string | null> {
  const folder = vscode.Uri.file(openFolders()[0] ?? homedir());
  const proposed = basename(name.replaceAll("\\", "/")).replace(/^\.+/, "");
  const chosen = await vscode.window.showSaveDialog({
    defaultUri: vscode.Uri.joinPath(folder, proposed === "" ? "file" : proposed),
    title: "Save the file of the message",
  });
  return chosen?.fsPath ?? null;
}

async function writeFile(path: string, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  const partial = `${path}.${randomUUID()}.part`;
  try {
    await pipeline(chunks, createWriteStream(partial, { flags: "wx" }));
    await rename(partial, path);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}

function openLink(url: string): void {
  let uri: vscode.Uri;
  try {
    uri = vscode.Uri.parse(url, true);
  } catch {
    return;
  }
  if (OPENED_SCHEMES.has(uri.scheme)) void vscode.env.openExternal(uri);
}

async function openReference(text: string): Promise<void> {
  const reference = readReference(text);
  const uri = reference === null ? null : await find(reference);
  if (reference === null || uri === null) {
    void vscode.window.showInformationMessage(`There is no file ${plain(text)} in the open folders.`);
    return;
  }
  const line = (reference.line ?? 1) - 1;
  const place = new vscode.Position(line, (reference.column ?? 1) - 1);
  const { activeTabGroup, all } = vscode.window.tabGroups;
  const beside = all.find((group) => group !== activeTabGroup)?.viewColumn ?? vscode.ViewColumn.Beside;
  await vscode.window.showTextDocument(uri, {
    viewColumn: beside,
    preview: true,
    ...(reference.line === null ? {} : { selection: new vscode.Range(place, place) }),
  });
}

async function find({ path }: Reference): Promise<vscode.Uri | null> {
  const places = isAbsolute(path)
    ? [vscode.Uri.file(path)]
    : (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => vscode.Uri.joinPath(uri, path));
  for (const place of places) {
    try {
      const { type } = await vscode.workspace.fs.stat(place);
      if ((type & vscode.FileType.File) !== 0) return place;
    } catch {
      // Not in this folder.
    }
  }
  return null;
}
