/** What all commands share: a daemon that answers, trust, a Group or Actor to act on. */

import * as vscode from "vscode";
import { DaemonUnreachable } from "../../client/failures.ts";
import { actorName, actorWords } from "../../shared/actor-words.ts";
import { labelled } from "../../shared/voice.ts";
import { type CommandName, commandId } from "../contributions/commands.ts";
import { openFolders } from "../folders.ts";
import type { Parts } from "../parts.ts";
import { plain } from "../plain.ts";
import type { ActorRow, GroupRow, Row } from "../views/groups-tree.ts";

export type Handler = (...given: unknown[]) => unknown;
export type Handlers = Partial<Record<CommandName, Handler>>;

/** Ends a command that the person has called off, or that has already said why it can't go on. */
export class Over extends Error {}

/** Says what went wrong, with the one thing that helps. */
export function tell(error: unknown): void {
  if (error instanceof Over) return;
  const message = plain(error instanceof Error ? error.message : String(error));
  if (!(error instanceof DaemonUnreachable)) {
    void vscode.window.showErrorMessage(message);
    return;
  }
  void offerStart(plain(error.problem));
}

/** Whether the person started the daemon and it answers. */
async function offerStart(message: string): Promise<boolean> {
  const start = "Start the Daemon";
  if ((await vscode.window.showWarningMessage(message, start)) !== start) return false;
  return (await vscode.commands.executeCommand(commandId("startDaemon"))) === true;
}

/** Goes on with a daemon that answers, or offers to start it. Throws Over. */
export async function needDaemon({ link }: Parts): Promise<void> {
  if (link.state === "online") return;
  if (link.state !== "absent") {
    await link.online(CONNECT_MS).catch(() => {});
    if (link.status !== null) return;
  }
  if (!(await offerStart("svc's daemon isn't running."))) throw new Over();
}

const CONNECT_MS = 5000;

/** Whoever opens a folder of others doesn't yet let it start programs or send. Throws. */
export function needTrust(): void {
  if (!vscode.workspace.isTrusted)
    throw new Error("Trust this workspace first: in a restricted one, svc only shows what is there.");
}

/** The Group or Actor of the row that a command was called on; null from the palette. */
export function rowOf(given: unknown): Row | null {
  if (typeof given !== "object" || given === null || !("kind" in given)) return null;
  const { kind, groupId, actorId, actor } = given as Partial<ActorRow> & { actor?: { id: string } };
  if (typeof groupId !== "string") return null;
  const id = actorId ?? actor?.id;
  return kind === "actor" && id !== undefined ? { kind, groupId, actorId: id } : { kind: "group", groupId };
}

/** The Group of the row, of the only open folder, or as the person chooses. Throws Over. */
export async function chooseGroup(parts: Parts, given: unknown): Promise<GroupRow> {
  const row = rowOf(given);
  if (row !== null) return { kind: "group", groupId: row.groupId };
  const folders = openFolders();
  const { groups } = parts.instance;
  const open = groups.filter(({ scopes }) => (scopes ?? []).some(({ path }) => folders.includes(path)));
  const [only] = open;
  if (open.length === 1 && only !== undefined) return { kind: "group", groupId: only.summary.group_id };
  if (groups.length === 0) throw new Error("There is no Group yet. Attach a folder first.");
  const chosen = await vscode.window.showQuickPick(
    [...open, ...groups.filter((group) => !open.includes(group))].map(({ summary, scopes }) => ({
      label: plain(labelled(summary.title)),
      description: plain(scopes?.[0]?.path ?? ""),
      groupId: summary.group_id,
    })),
    { title: "Which Group?", placeHolder: "Group", matchOnDescription: true },
  );
  if (chosen === undefined) throw new Over();
  return { kind: "group", groupId: chosen.groupId };
}

/** The Actor of the row, or as the person chooses among those that `fits`. Throws Over. */
export async function chooseActor(
  parts: Parts,
  given: unknown,
  fits: (actor: NonNullable<ReturnType<Parts["instance"]["actor"]>>) => boolean = () => true,
): Promise<ActorRow> {
  const row = rowOf(given);
  if (row?.kind === "actor") return row;
  const { groupId } = await chooseGroup(parts, row);
  const actors = (parts.instance.find(groupId)?.actors ?? []).filter(fits);
  if (actors.length === 0) throw new Error("This Group has no Actor for that.");
  const chosen = await vscode.window.showQuickPick(
    actors.map((actor) => ({
      label: plain(actorName(actor)),
      description: actorWords(actor.presence).word,
      actorId: actor.id,
    })),
    { title: "Which Actor?", placeHolder: "Actor" },
  );
  if (chosen === undefined) throw new Over();
  return { kind: "actor", groupId, actorId: chosen.actorId };
}
