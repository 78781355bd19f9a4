/**
 * The editor's own agent joins the Groups of the open folders: the editor lists an MCP server for
 * each. Its Actor is added when the server is first started, after asking.
 */

import * as vscode from "vscode";
import { PRODUCT_VERSION } from "../../shared/version.ts";
import { labelled } from "../../shared/voice.ts";
import { DEFINITION_PROVIDER, EDITOR_ACTOR } from "../contributions/agents.ts";
import { openFolders } from "../folders.ts";
import type { Parts } from "../parts.ts";
import { plain } from "../plain.ts";
import type { Known } from "./joining.ts";

/** The Groups of the servers that the editor was given. */
const known = new WeakMap<vscode.McpStdioServerDefinition, Known>();

function serverOf({ groupId, title }: Known, home: string): vscode.McpStdioServerDefinition {
  const args = ["mcp", "--as", EDITOR_ACTOR, "--group", groupId, "--home", home];
  const server = new vscode.McpStdioServerDefinition(`svc: ${title}`, "svc", args, {}, PRODUCT_VERSION);
  known.set(server, { groupId, title });
  return server;
}

/** Nothing where the editor is too old for it. */
export function registerDefinitions(parts: Parts): vscode.Disposable[] {
  // Editors made of an earlier VS Code don't have it.
  const lm = vscode.lm as Partial<typeof vscode.lm> | undefined;
  if (lm?.registerMcpServerDefinitionProvider === undefined) return [];
  const { instance, link } = parts;
  const changed = new vscode.EventEmitter<void>();
  const groups = () => {
    const folders = openFolders();
    return instance.groups.filter(({ scopes }) => (scopes ?? []).some(({ path }) => folders.includes(path)));
  };
  let last = "";
  const look = () => {
    const now = groups()
      .map(({ summary }) => `${summary.group_id} ${summary.title}`)
      .join("\n");
    // While the daemon is away the servers stay listed: their tools say what is wrong.
    if (now === last || (now === "" && link.state !== "online")) return;
    last = now;
    changed.fire();
  };
  instance.on("change", look);
  return [
    changed,
    vscode.workspace.onDidChangeWorkspaceFolders(look),
    vscode.workspace.onDidGrantWorkspaceTrust(() => changed.fire()),
    lm.registerMcpServerDefinitionProvider(DEFINITION_PROVIDER, {
      onDidChangeMcpServerDefinitions: changed.event,
      provideMcpServerDefinitions: () =>
        vscode.workspace.isTrusted
          ? groups().map(({ summary }) =>
              serverOf({ groupId: summary.group_id, title: plain(labelled(summary.title)) }, link.home),
            )
          : [],
      async resolveMcpServerDefinition(server: vscode.McpStdioServerDefinition) {
        const { resolveServer } = await import("./joining.ts");
        return resolveServer(parts, server, known.get(server)!);
      },
    }),
  ];
}
