/**
 * "Connect an Agent": an agent that the person starts joins the folder's Group. Its configuration
 * is shown as a change before it is written, names no secret, and can be taken back.
 */
import { relative } from "node:path";
import * as vscode from "vscode";
import { groupsOfFolder } from "../../client/folder-groups.ts";
import { programsOnPath, svcCommand } from "../../client/programs.ts";
import {
  AGENT_CLIENTS,
  type AgentClient,
  agentSteps,
  otherClient,
  type ServerCommand,
  serverFor,
} from "../../shared/agent-clients.ts";
import { NOT_CONNECTED } from "../../shared/names.ts";
import { ACTOR_ID, ask } from "../commands/actors.ts";
import { daemonProgram } from "../commands/daemon.ts";
import { chooseFolder } from "../commands/groups.ts";
import { needDaemon, needTrust, Over } from "../commands/handling.ts";
import { checkInside, configPath, readConfig, removeConfig, writeConfig } from "../config-file.ts";
import type { Parts } from "../parts.ts";
import { plain } from "../plain.ts";
import { confirmChange, proposalCommands, registerProposals } from "./proposal.ts";

/** Loaded when it is needed: the editor's window opens without it. */
const configText = () => import("./config-text.ts");

/** The one Group of the folder, which the person may attach first. Throws Over. */
async function groupOf({ link, instance }: Parts, folder: string): Promise<string> {
  const find = async () => {
    const { groups } = await link.client.result("group_list", {});
    return groupsOfFolder(link.client, groups, folder);
  };
  const [first, second] = await find();
  if (second !== undefined)
    throw new Error("This folder belongs to several Groups, so an agent here can't know its own. Keep one.");
  if (first !== undefined) return first;
  const attach = "Attach the Folder";
  const detail = "An agent joins the Group of its folder, and this one has none yet.";
  if ((await vscode.window.showInformationMessage(`${attach}?`, { modal: true, detail }, attach)) !== attach)
    throw new Over();
  const { group_id: groupId } = await link.client.result("attach", { path: folder });
  await instance.refresh();
  return groupId;
}

interface ClientChoice extends vscode.QuickPickItem {
  client: AgentClient;
}

async function chooseClient(folder: string, only: "all" | "connected"): Promise<AgentClient> {
  const { readEntry } = await configText();
  const isConnected = (client: AgentClient): boolean => {
    try {
      return readEntry(readConfig(configPath(client, folder)) ?? "", client) !== undefined;
    } catch {
      return false;
    }
  };
  const choices = AGENT_CLIENTS.map((client): ClientChoice & { connected: boolean } => {
    const connected = isConnected(client);
    return {
      label: client.title,
      description: `${client.owner === "person" ? "~/" : ""}${client.path}${connected ? ", configured" : ""}`,
      client,
      connected,
    };
  });
  const other: ClientChoice = {
    label: "Another agent",
    description: "copies its MCP configuration",
    client: otherClient(folder),
  };
  const offered = only === "all" ? [...choices, other] : choices.filter(({ connected }) => connected);
  if (offered.length === 0) throw new Error("No agent's configuration names svc for this folder.");
  const chosen = await vscode.window.showQuickPick(offered, {
    title: only === "all" ? "Connect an Agent" : "Disconnect an Agent",
    placeHolder: "Which agent?",
    matchOnDescription: true,
    ignoreFocusOut: true,
  });
  if (chosen === undefined) throw new Over();
  return chosen.client;
}

/** The Actor that the agent becomes: a new one, or one that nobody but the person starts. */
async function chooseActorId({ link }: Parts, groupId: string, client: AgentClient) {
  const { actors } = await link.client.result("actor_list", { group_id: groupId });
  const run = new Set(actors.filter(({ runner }) => runner === "pty").map(({ id }) => id));
  let proposed = client.actorId;
  for (let number = 2; run.has(proposed); number += 1) proposed = `${client.actorId}-${number}`;
  const actorId = await ask({
    title: `Connect ${client.title}`,
    prompt: "Its name in the conversation",
    value: proposed,
    validateInput: (value) =>
      !ACTOR_ID.test(value.trim())
        ? "1-32 letters, digits, - and _, starting with a letter or digit"
        : run.has(value.trim())
          ? "svc itself runs the Actor of this name"
          : null,
  });
  return { actorId, isNew: !actors.some(({ id }) => id === actorId) };
}

/** What starts svc from a person's own configuration: `svc` itself, or else this extension's. */
async function programFor(parts: Parts): Promise<ServerCommand | undefined> {
  const { command, args, source, environment } = await daemonProgram(parts);
  if (source !== "setting" && programsOnPath(process.env, svcCommand()).length > 0) return undefined;
  const asNode = environment["ELECTRON_RUN_AS_NODE"];
  return { command, args, ...(asNode === undefined ? {} : { env: { ELECTRON_RUN_AS_NODE: asNode } }) };
}

async function addActor({ link, instance }: Parts, groupId: string, actorId: string, client: AgentClient) {
  await link.client.result("actor_add", {
    group_id: groupId,
    actor_id: actorId,
    title: client.id === "other" ? "" : client.title,
    runtime: client.runtime,
    runner: "external",
  });
  await instance.refresh();
}

/** Removes the Actor again unless something has come to it, or it has come itself. */
async function removeUnused({ link, instance }: Parts, groupId: string, actorId: string) {
  const address = { group_id: groupId, actor_id: actorId };
  const { actor } = await link.client.result("actor_show", address);
  const { pending, unread_mail: unread, reason } = actor.presence;
  if (pending + unread > 0 || reason !== NOT_CONNECTED) return;
  await link.client.result("actor_remove", address);
  await instance.refresh();
}

/** The file as it was read. Throws if it isn't as it should be. */
function readSafely(path: string, client: AgentClient, folder: string): string | null {
  if (client.owner === "project") checkInside(path, folder);
  const isDirty = vscode.workspace.textDocuments.some(
    ({ uri, isDirty: changed }) => changed && uri.scheme === "file" && uri.fsPath === path,
  );
  if (isDirty) throw new Error(`Save ${path} first. It has changes that aren't saved.`);
  return readConfig(path);
}

/** Shows the change and writes it if the person wants it. Throws Over. */
async function change(
  client: AgentClient,
  folder: string,
  title: string,
  edit: (text: string) => string,
  first: () => Promise<void> = async () => {},
): Promise<{ path: string; before: string | null; after: string }> {
  const path = configPath(client, folder);
  const before = readSafely(path, client, folder);
  let after: string;
  try {
    after = edit(before ?? "");
  } catch (error) {
    throw new Error(`${path} can't be changed. ${(error as Error).message}`, { cause: error });
  }
  const name = client.owner === "project" ? relative(folder, path) : path;
  if (after !== before && !(await confirmChange({ path, name, title, before, after }))) throw new Over();
  await first();
  if (readSafely(path, client, folder) !== before)
    throw new Error(`${path} has changed in the meantime. Try again.`);
  const { isBlank } = await configText();
  if (before !== null && after !== before && isBlank(after, client)) removeConfig(path, folder);
  else if (after !== before) writeConfig(path, after);
  return { path, before, after };
}

async function connectAgent(parts: Parts): Promise<void> {
  const folder = await chooseFolder();
  const groupId = await groupOf(parts, folder);
  const client = await chooseClient(folder, "all");
  const { actorId, isNew } = await chooseActorId(parts, groupId, client);
  const program = await programFor(parts);
  const choices = { actorId, home: parts.link.home, ...(program === undefined ? {} : { program }) };
  const add = () => (isNew ? addActor(parts, groupId, actorId, client) : Promise.resolve());
  if (client.id === "other") {
    await add();
    await vscode.env.clipboard.writeText(agentSteps(client, choices).snippet);
    void vscode.window.showInformationMessage(`The configuration of ${actorId} is copied. ${client.next}`);
    return;
  }
  const { withEntry, readEntry } = await configText();
  const entry = client.entry(serverFor(client, choices));
  const { path, before, after } = await change(
    client,
    folder,
    `Connect ${client.title} as ${actorId}`,
    (text) => withEntry(text, client, entry),
    add,
  );
  const hasCommand = client.owner === "person" || program === undefined;
  const needs = hasCommand ? "" : " It finds svc only when the program svc is on PATH: install it.";
  const [undo, open] = ["Undo", "Open the File"];
  const words = `${client.title} can join as ${actorId}. ${client.next}${needs}`;
  const answer = await vscode.window.showInformationMessage(
    words,
    ...(after === before ? [open] : [undo, open]),
  );
  if (answer === open) await vscode.window.showTextDocument(vscode.Uri.file(path));
  if (answer !== undo) return;
  if (readSafely(path, client, folder) !== after)
    throw new Error(`${path} has changed since. Use the command Disconnect an Agent.`);
  if (before === null) removeConfig(path, folder);
  else writeConfig(path, before);
  if (isNew && readEntry(before ?? "", client) === undefined) await removeUnused(parts, groupId, actorId);
  void vscode.window.showInformationMessage(`${plain(path)} is as it was before.`);
}

async function disconnectAgent(): Promise<void> {
  const folder = await chooseFolder();
  const client = await chooseClient(folder, "connected");
  const { withoutEntry } = await configText();
  const { path } = await change(client, folder, `Disconnect ${client.title}`, (text) =>
    withoutEntry(text, client),
  );
  void vscode.window.showInformationMessage(
    `${client.title} no longer finds svc through ${plain(path)}. Its Actor and messages stay.`,
  );
}

export function agentCommands(parts: Parts) {
  parts.context.subscriptions.push(...registerProposals());
  return {
    ...proposalCommands(),
    async connectAgent() {
      needTrust();
      await needDaemon(parts);
      await connectAgent(parts);
    },
    async disconnectAgent() {
      needTrust();
      await disconnectAgent();
    },
  };
}
