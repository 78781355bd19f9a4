/** Adding, running and talking to Actors. */

import * as vscode from "vscode";
import { actorName, hasTerminal } from "../../shared/actor-words.ts";
import type { MessageEvent } from "../../shared/events.ts";
import { shownName } from "../../shared/foreign-text.ts";
import { partiesOf } from "../../shared/message-parties.ts";
import { openRequests, requestWords } from "../../shared/open-requests.ts";
import type { RuntimeDescription } from "../../shared/operations/actors.ts";
import { missingWords } from "../../shared/start-words.ts";
import { labelled } from "../../shared/voice.ts";
import type { Parts } from "../parts.ts";
import { plain } from "../plain.ts";
import { openActorTerminal } from "../terminals/actor-terminal.ts";
import { chooseActor, chooseGroup, type Handlers, needDaemon, needTrust, Over, rowOf } from "./handling.ts";

interface RuntimeChoice extends vscode.QuickPickItem {
  runtime: RuntimeDescription["runtime"];
  runner: "pty" | "external";
}

export const ACTOR_ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/;

/** The agents found on this machine first, then those that aren't installed. */
function runtimeChoices(runtimes: readonly RuntimeDescription[]): RuntimeChoice[] {
  const known = runtimes.filter(({ runtime }) => runtime !== "custom");
  const choice = (known: RuntimeDescription): RuntimeChoice => {
    const { runtime, title, version, installed, command } = known;
    const notes = installed ? missingWords(known).map(({ what, remedy }) => `${what} ${remedy}`) : [];
    return {
      label: title,
      description: installed ? (version ?? "") : `not installed: ${command ?? runtime} isn't on PATH`,
      ...(notes.length === 0 ? {} : { detail: notes.join(" ") }),
      runtime,
      runner: "pty",
    };
  };
  return [
    ...known.filter(({ installed }) => installed).map(choice),
    {
      label: "Another program",
      description: "svc runs the command you enter in a terminal",
      runtime: "custom",
      runner: "pty",
    },
    {
      label: "An agent that you start yourself",
      description: "it joins over MCP",
      runtime: "custom",
      runner: "external",
    },
    ...known.filter(({ installed }) => !installed).map(choice),
  ];
}

/** A text that the person enters. Throws Over. */
export async function ask(options: vscode.InputBoxOptions): Promise<string> {
  const given = await vscode.window.showInputBox({ ignoreFocusOut: true, ...options });
  if (given === undefined) throw new Over();
  return given.trim();
}

/** A free id that says what the Actor is. */
function proposedId(base: string, taken: ReadonlySet<string>): string {
  for (let number = 1; ; number += 1) {
    const id = number === 1 ? base : `${base}-${number}`;
    if (!taken.has(id)) return id;
  }
}

async function addActor(parts: Parts, given: unknown): Promise<void> {
  const { link, instance } = parts;
  const { client } = link;
  const { groupId } = await chooseGroup(parts, given);
  const listed = client
    .result("runtime_list", { group_id: groupId })
    .then(({ runtimes }) => runtimeChoices(runtimes));
  const choice = await vscode.window.showQuickPick(listed, {
    title: "Add an Actor",
    placeHolder: "Which agent?",
    ignoreFocusOut: true,
  });
  if (choice === undefined) throw new Over();
  const command =
    choice.runtime === "custom" && choice.runner === "pty"
      ? (await ask({ title: "Add an Actor", prompt: "The command, without quotes" })).split(/\s+/)
      : [];
  const taken = new Set((instance.find(groupId)?.actors ?? []).map(({ id }) => id));
  const actorId = await ask({
    title: "Add an Actor",
    prompt: "Its name in the conversation",
    value: proposedId(choice.runtime === "custom" ? "agent" : choice.runtime, taken),
    validateInput: (value) =>
      !ACTOR_ID.test(value.trim())
        ? "1-32 letters, digits, - and _, starting with a letter or digit"
        : taken.has(value.trim())
          ? "This name is taken"
          : null,
  });
  await client.result("actor_add", {
    group_id: groupId,
    actor_id: actorId,
    runtime: choice.runtime,
    runner: choice.runner,
    command,
  });
  if (choice.runner === "pty") await client.result("actor_start", { group_id: groupId, actor_id: actorId });
}

interface RequestChoice extends vscode.QuickPickItem {
  request: MessageEvent | null;
}

/**
 * Which open request the message answers: null for none. Asks only where one waits for the person,
 * of this Actor or of anyone. Throws Over.
 */
async function chooseRequest(
  { link, instance }: Parts,
  groupId: string,
  actorId: string | null,
): Promise<MessageEvent | null> {
  const { client } = link;
  const open = await openRequests((name, input) => client.result(name, input), groupId);
  const those = open.filter(({ by }) => actorId === null || by === actorId);
  if (those.length === 0) return null;
  const nameOf = (id: string): string => {
    const actor = instance.actor(groupId, id);
    return actor === undefined ? shownName(id) : actorName(actor);
  };
  const choices: RequestChoice[] = [
    ...those.map((request) => ({
      label: `$(reply) Answer ${plain(partiesOf(request, nameOf).sender)}`,
      detail: plain(requestWords(request)),
      request,
    })),
    { label: "$(comment) A new message", detail: "Answers nothing", request: null },
  ];
  const title = "Who asks waits for your reply";
  const choice = await vscode.window.showQuickPick(choices, { title, ignoreFocusOut: true });
  if (choice === undefined) throw new Over();
  return choice.request;
}

async function sendMessage(parts: Parts, given: unknown): Promise<void> {
  const { link, instance } = parts;
  const row = rowOf(given) ?? (await chooseGroup(parts, given));
  const { groupId } = row;
  const actor = row.kind === "actor" ? instance.actor(groupId, row.actorId) : undefined;
  const title = plain(labelled(instance.find(groupId)?.summary.title ?? ""));
  const request = await chooseRequest(parts, groupId, row.kind === "actor" ? row.actorId : null);
  const text = await ask({
    title: actor === undefined ? `Send to ${title}` : `Send to ${plain(actorName(actor))} in ${title}`,
    prompt: request === null ? "Your message. Enter sends it." : "Your reply. Enter sends it.",
  });
  if (text === "") throw new Over();
  const to = row.kind === "actor" ? [row.actorId] : [];
  if (request === null) await link.client.result("send", { group_id: groupId, text, to });
  else await link.client.result("reply", { group_id: groupId, event_id: request.id, text });
}

export function actorCommands(parts: Parts) {
  const { client } = parts.link;
  /** A command on one Actor, which changes something. */
  const onActor =
    (
      fits: Parameters<typeof chooseActor>[2],
      act: (input: { group_id: string; actor_id: string }) => unknown,
    ) =>
    async (given: unknown) => {
      needTrust();
      await needDaemon(parts);
      const { groupId, actorId } = await chooseActor(parts, given, fits);
      await act({ group_id: groupId, actor_id: actorId });
    };
  return {
    async addActor(given: unknown) {
      needTrust();
      await needDaemon(parts);
      await addActor(parts, given);
    },
    startActor: onActor(undefined, (input) => client.result("actor_start", input)),
    stopActor: onActor(undefined, (input) => client.result("actor_stop", input)),
    restartActor: onActor(undefined, (input) => client.result("actor_restart", input)),
    interruptActor: onActor(hasTerminal, (input) => client.result("actor_interrupt", input)),
    removeActor: onActor(undefined, async (input) => {
      const remove = "Remove";
      const detail = "Its pending messages, Inbox and token are removed. What it wrote stays.";
      const question = `Remove the Actor ${input.actor_id}?`;
      if ((await vscode.window.showWarningMessage(question, { modal: true, detail }, remove)) === remove)
        await client.result("actor_remove", input);
    }),
    openTerminal: onActor(hasTerminal, (input) => openActorTerminal(parts, input)),
    async sendMessage(given: unknown) {
      needTrust();
      await needDaemon(parts);
      await sendMessage(parts, given);
    },
  } satisfies Handlers;
}
