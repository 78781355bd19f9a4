/** What happens when the editor starts the server of its own agent. */
import * as vscode from "vscode";
import { PRODUCT_VERSION } from "../../shared/version.ts";
import { daemonProgram } from "../commands/daemon.ts";
import { needDaemon, needTrust, tell } from "../commands/handling.ts";
import { EDITOR_ACTOR } from "../contributions/agents.ts";
import type { Parts } from "../parts.ts";
import { plain } from "../plain.ts";

const TITLE_CHARACTERS = 40;

/** The Group of a server. */
export interface Known {
  groupId: string;
  title: string;
}

/** As `resolve`; says what went wrong. */
export async function resolveServer(
  parts: Parts,
  server: vscode.McpStdioServerDefinition,
  of: Known,
): Promise<vscode.McpStdioServerDefinition | undefined> {
  try {
    return await resolve(parts, server, of);
  } catch (error) {
    tell(error);
    return undefined;
  }
}

/** The server as it is started; nothing if the person doesn't want its Actor. */
async function resolve(
  parts: Parts,
  server: vscode.McpStdioServerDefinition,
  { groupId, title }: Known,
): Promise<vscode.McpStdioServerDefinition | undefined> {
  needTrust();
  await needDaemon(parts);
  const { client } = parts.link;
  const { command, args, environment } = await daemonProgram(parts);
  const { actors } = await client.result("actor_list", { group_id: groupId });
  if (!actors.some(({ id }) => id === EDITOR_ACTOR)) {
    const add = "Add the Actor";
    const question = `Let this editor's agent join ${title}?`;
    const detail = `It becomes the Actor ${EDITOR_ACTOR}: it reads and writes messages of this Group.`;
    if ((await vscode.window.showInformationMessage(question, { modal: true, detail }, add)) !== add)
      return undefined;
    await client.result("actor_add", {
      group_id: groupId,
      actor_id: EDITOR_ACTOR,
      title: plain(vscode.env.appName).slice(0, TITLE_CHARACTERS),
      runtime: "custom",
      runner: "external",
    });
    await parts.instance.refresh();
  }
  const asNode = environment["ELECTRON_RUN_AS_NODE"];
  const env = asNode === undefined ? {} : { ELECTRON_RUN_AS_NODE: asNode };
  return new vscode.McpStdioServerDefinition(
    server.label,
    command,
    [...args, ...server.args],
    env,
    PRODUCT_VERSION,
  );
}
