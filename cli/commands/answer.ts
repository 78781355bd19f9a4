/** What an Actor's agent asks, shown and answered. */
import { createInterface } from "node:readline/promises";
import { shownCode } from "../../shared/foreign-text.ts";
import type { Question } from "../../shared/operations/questions.ts";
import type { ArgumentsOf } from "../../shared/operations/registry.ts";
import type { CommandContext } from "../context.ts";
import { oneLine, plain } from "../output.ts";
import { counted, moment } from "../render.ts";

type Decision = ArgumentsOf<"actor_answer">["decision"];
const DECISIONS: readonly Decision[] = ["allow", "deny", "terminal"];
/** Digits of an id that are shown and are enough. */
const SHOWN_DIGITS = 8;
const TYPED_ID = /^[0-9a-f]{4}[0-9a-f-]*$/i;
/** Options by their numbers, as in `1,3`. */
const NUMBERS = /^\d{1,2}(?:,\d{1,2})*$/;

interface Target {
  group_id: string;
  actor_id: string;
}

/**
 * With a decision, answers the question that `--question` names, because another one may have come
 * since a person looked. Without one, shows the open questions and, in a terminal, asks about each.
 */
export async function answer(context: CommandContext): Promise<number> {
  const groupId = await context.group();
  const target = { group_id: groupId, actor_id: await context.actor(groupId, context.arg(0)) };
  const chosen = context.list("choose");
  const named = DECISIONS.filter((decision) => context.has(decision));
  const [decision = chosen.length > 0 ? "allow" : undefined] = named;
  if (named.length > 1) throw context.usage("Choose one of --allow, --deny and --terminal.");
  if (decision === undefined) return show(context, target);
  const typed = context.text("question");
  if (typed === undefined) {
    throw context.usage(
      "Name the question that you have seen with --question. Without a decision, this command lists them.",
    );
  }
  if (!TYPED_ID.test(typed)) throw context.usage("--question takes the beginning of a question's id.");
  const listed = await context.client.call("actor_questions", { group_id: groupId });
  if (!listed.ok) return context.show(listed, () => undefined);
  const found = listed.result.questions.filter(
    ({ actor_id: id, question_id: question }) =>
      id === target.actor_id && question.startsWith(typed.toLowerCase()),
  );
  if (found.length !== 1) {
    const many = found.length > 1;
    context.out.note(
      many
        ? `svc: ${counted(found.length, "open question")} of ${target.actor_id} have an id that begins so. Type more of it.`
        : `svc: ${target.actor_id} has no open question with that id. It may have been answered. List them with: ${context.command("actor", "answer", target.actor_id)}`,
    );
    return 1;
  }
  const answers = chosen.length === 0 ? {} : { answers: answersOf(context, found[0]!, chosen) };
  return give(context, found[0]!, target, { decision, ...answers, ...context.given("message") });
}

/** What was chosen for each of the agent's questions: an option's number, or words of one's own. */
function answersOf(context: CommandContext, { choices }: Question, chosen: readonly string[]): string[][] {
  return chosen.map((text, index) => {
    const options = choices[index]?.options ?? [];
    if (!NUMBERS.test(text)) return [text];
    return text.split(",").map((number) => {
      const option = options[Number(number) - 1];
      if (option === undefined) throw context.usage(`Question ${index + 1} has no option ${number}.`);
      return option.label;
    });
  });
}

async function give(
  context: CommandContext,
  { question_id: questionId, tool_name: tool }: Question,
  target: Target,
  how: Pick<ArgumentsOf<"actor_answer">, "decision" | "answers" | "message">,
): Promise<number> {
  const { actor_id: actor } = target;
  const done = {
    allow: how.answers === undefined ? `${actor} may use ${tool} once.` : `${actor} has your answers.`,
    deny: `${actor} may not use ${tool}.`,
    terminal: `The question is left to ${actor}'s terminal: ${context.command("actor", "attach", actor)}`,
  };
  return context.print("actor_answer", { ...target, question_id: questionId, ...how }, ({ decision }) =>
    context.out.line(done[decision]),
  );
}

async function show(
  context: CommandContext,
  { group_id: groupId, actor_id: actor }: Target,
): Promise<number> {
  const { out } = context;
  const listed = await context.client.call("actor_questions", { group_id: groupId });
  if (!listed.ok) return context.show(listed, () => undefined);
  const questions = listed.result.questions.filter(({ actor_id: id }) => id === actor);
  if (out.json) return context.show({ ok: true, result: { questions } }, () => undefined);
  if (questions.length === 0) {
    out.line(`${actor} has no open question that can be answered here.`);
    return 0;
  }
  const asks = process.stdin.isTTY && out.isTerminal;
  for (const question of questions) {
    print(context, question);
    if (!asks) continue;
    const how = question.kind === "permission" ? await askPerson(context) : null;
    if (how === null) continue;
    const code = await give(context, question, { group_id: groupId, actor_id: actor }, { decision: how });
    if (code !== 0) return code;
  }
  return 0;
}

/** Null leaves it open. */
async function askPerson({ out }: CommandContext): Promise<Decision | null> {
  const asked = createInterface({ input: process.stdin, output: process.stderr });
  // Ctrl+C and Ctrl+D decide nothing.
  const typed = await asked.question("Allow it once? [yes/no/terminal, Enter leaves it open] ").catch(() => {
    out.note("");
    return "";
  });
  asked.close();
  const word = typed.trim().toLowerCase();
  if (word === "yes" || word === "y") return "allow";
  if (word === "no" || word === "n") return "deny";
  return word === "terminal" || word === "t" ? "terminal" : null;
}

function print({ out }: CommandContext, question: Question): void {
  const { question_id: id, actor_id: actor, tool_name: tool, directory, expires_at: expiresAt } = question;
  const what = question.kind === "permission" ? `asks to use ${tool} once` : "asks you";
  const where = directory === "" ? "" : ` in ${safe(directory)}`;
  out.line(`${out.style("bold", `${actor} ${what}`)}${where}`);
  for (const { name, text } of question.details) {
    out.line(`  ${out.style("dim", oneLine(shownCode(name)))}`);
    for (const line of text.split("\n")) out.line(`    ${safe(line)}`);
  }
  for (const [index, { question: text, multiple, options }] of question.choices.entries()) {
    out.line(`  ${index + 1}. ${safe(text)}${multiple ? " (one or more)" : ""}`);
    for (const [number, { label, description }] of options.entries()) {
      const more = description === "" ? "" : `  ${out.style("dim", safe(description))}`;
      out.line(`     ${number + 1} ${safe(label)}${more}`);
    }
  }
  const shortId = id.slice(0, SHOWN_DIGITS);
  const how = question.kind === "permission" ? "--allow or --deny" : "--choose ANSWER, or --deny";
  out.line(out.style("dim", `  Answer with --question ${shortId} ${how}, until ${moment(expiresAt)}.`));
}

/** An agent's text on one line, nothing of it hidden. */
function safe(text: string): string {
  return plain(shownCode(text)).replaceAll("\n", "\u240a");
}
