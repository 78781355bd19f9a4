/**
 * Answering what agents ask, from the side bar or a notification. A person sees the whole question
 * before they allow anything; one that is too long for a dialog is shown in the Workbench.
 */

import * as vscode from "vscode";
import { actorName, hasTerminal } from "../../shared/actor-words.ts";
import { shownName, shownText } from "../../shared/foreign-text.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { Question } from "../../shared/operations/questions.ts";
import { detailName, detailText, questionWords } from "../../shared/question-words.ts";
import { labelled, quoted } from "../../shared/voice.ts";
import { commandId } from "../contributions/commands.ts";
import type { Parts } from "../parts.ts";
import { plain } from "../plain.ts";
import { ask } from "./actors.ts";
import { type Handlers, needDaemon, needTrust, Over, rowOf } from "./handling.ts";

/** What a dialog shows without scrolling. */
const DIALOG_LINES = 16;
const DIALOG_CHARACTERS = 1200;
const OWN_WORDS = "In your own words…";

/** What the command was called on: a row of Needs You, or an Actor that asks something. */
interface Asked {
  groupId: string;
  actorId: string;
  /** Null: the Actor's oldest one. */
  questionId: string | null;
}

/** Throws for anything else. */
function askedOf(given: unknown): Asked {
  const row = rowOf(given);
  const { question } = (given ?? {}) as { question?: Partial<Question> };
  const actorId = question?.actor_id ?? (row?.kind === "actor" ? row.actorId : undefined);
  if (row === null || actorId === undefined) throw new Error("Choose a question in Needs You.");
  return { groupId: row.groupId, actorId, questionId: question?.question_id ?? null };
}

/** The question as it is open now; null if it isn't any more. */
async function openQuestion(
  { link }: Parts,
  { groupId, actorId, questionId }: Asked,
): Promise<Question | null> {
  const { questions } = await link.client.result("actor_questions", { group_id: groupId });
  const isIt = (one: Question) =>
    questionId === null ? one.actor_id === actorId : one.question_id === questionId;
  return questions.find(isIt) ?? null;
}

/** Everything that is decided about, exactly as the agent gave it. */
function wholeText({ directory, details, choices }: Question): string {
  return [
    ...(directory === "" ? [] : [`In ${shownName(directory)}`]),
    ...details.map(({ name, text }) => `${detailName(name)}:\n${detailText(text)}`),
    ...choices.map(({ question }) => shownText(question)),
  ].join("\n\n");
}

/** What the person chooses after reading all of it. Throws Over. */
async function decide(
  name: string,
  question: Question,
): Promise<"allow" | "deny" | "terminal" | "workbench"> {
  const text = wholeText(question);
  const isShort = text.length <= DIALOG_CHARACTERS && text.split("\n").length <= DIALOG_LINES;
  const isPermission = question.kind === "permission";
  const allow = isPermission ? "Allow Once" : "Answer";
  const deny = isPermission ? "Deny" : "Decline";
  const workbench = "Show It in the Workbench";
  const terminal = question.in_terminal ? "Open Its Terminal" : "Ask in Its Terminal";
  const detail = isShort ? text : "What it asks is too long for this dialog.";
  const said = `${name} ${questionWords(question)}`;
  for (;;) {
    const begin = performance.now();
    const buttons = [isShort ? allow : workbench, deny, terminal];
    const chosen = await vscode.window.showWarningMessage(said, { modal: true, detail }, ...buttons);
    if (chosen === undefined) throw new Over();
    if (chosen === terminal) return "terminal";
    if (chosen === workbench) return "workbench";
    if (chosen === deny) return "deny";
    if (performance.now() - begin >= LIMITS.questions.settlesMs) return "allow";
  }
}

/** One answer or several. Throws Over. */
async function choose(name: string, choice: Question["choices"][number]): Promise<string[]> {
  const { header, question, multiple, options } = choice;
  const prompt = plain(shownText(question));
  const title = header === "" ? name : `${name}: ${plain(header)}`;
  const inWords = async () => {
    const words = await ask({ title, prompt });
    if (words === "") throw new Over();
    return words;
  };
  if (options.length === 0) return [await inWords()];
  const items = [
    ...options.map(({ label, description }) => ({
      label: plain(label),
      detail: plain(shownText(description)),
      answer: label as string | null,
    })),
    { label: OWN_WORDS, detail: "", answer: null },
  ];
  const shown = { title, placeHolder: prompt, ignoreFocusOut: true };
  const chosen = multiple
    ? await vscode.window.showQuickPick(items, { ...shown, canPickMany: true })
    : await vscode.window.showQuickPick(items, shown);
  const picked = Array.isArray(chosen) ? chosen : chosen === undefined ? [] : [chosen];
  if (picked.length === 0) throw new Over();
  const answers: string[] = [];
  for (const { answer } of picked) answers.push(answer ?? (await inWords()));
  return answers;
}

async function answer(parts: Parts, given: unknown): Promise<void> {
  const asked = askedOf(given);
  const { groupId, actorId } = asked;
  const question = await openQuestion(parts, asked);
  const actor = parts.instance.actor(groupId, actorId);
  if (question === null) {
    // What only its terminal asks is answered there.
    if (asked.questionId === null && actor?.presence.attention === true && hasTerminal(actor)) {
      await vscode.commands.executeCommand(commandId("openTerminal"), { kind: "actor", groupId, actorId });
      return;
    }
    throw new Error("This question isn't open any more. Someone has answered it, or its turn has ended.");
  }
  const { question_id: questionId, choices } = question;
  const title = parts.instance.find(groupId)?.summary.title ?? groupId;
  const name = `${plain(labelled(actor === undefined ? actorId : actorName(actor)))} in ${plain(quoted(title))}`;
  const decision = await decide(name, question);
  if (decision === "workbench") {
    await vscode.commands.executeCommand(commandId("openWorkbench"), { kind: "group", groupId });
    return;
  }
  if (decision !== "terminal" || !question.in_terminal) {
    const answers: string[][] = [];
    if (decision === "allow") for (const choice of choices) answers.push(await choose(name, choice));
    const input = { group_id: groupId, actor_id: actorId, question_id: questionId, decision };
    try {
      await parts.link.client.result("actor_answer", answers.length === 0 ? input : { ...input, answers });
    } finally {
      parts.instance.actors(groupId);
    }
  }
  if (decision === "terminal" && actor !== undefined && hasTerminal(actor))
    await vscode.commands.executeCommand(commandId("openTerminal"), { kind: "actor", groupId, actorId });
}

export function questionCommands(parts: Parts) {
  return {
    // From its row in Needs You, or the notification that an Actor waits.
    async answerQuestion(given: unknown) {
      needTrust();
      await needDaemon(parts);
      await answer(parts, given);
    },
  } satisfies Handlers;
}
