/**
 * What a runtime asks a person, from the payload of its PermissionRequest, and the answer in the
 * form that the runtime takes. Only what can be shown whole can be answered.
 */
import { createHash } from "node:crypto";
import * as z from "zod";
import { toolLabel } from "../../../shared/activity/event.ts";
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { HookDecision, Question } from "../../../shared/operations/questions.ts";
import type { InputOf } from "../../../shared/operations/registry.ts";

/** What can be shown of it, and what is needed for the answer. */
export interface Asked {
  shown: Pick<Question, "kind" | "tool_name" | "details" | "choices" | "directory">;
  /** As the runtime gave it. */
  input: Readonly<Record<string, unknown>>;
  /** SHA-256 of its JSON, in hex. */
  input_sha256: string;
}

type Answer = Pick<InputOf<"actor_answer">, "decision" | "answers" | "message">;

const { shownBytes, details: most, asked: mostAsked, choices: mostChoices } = LIMITS.questions;

/** Nothing is printed: the runtime does what it does without the hook. */
export const UNDECIDED: HookDecision = {};

/** Claude asks its person with it. */
const CLAUDE_ASKS = "AskUserQuestion";
/** Claude ignores a hook that allows it, and doesn't say what the plan is (docs/runtimes.md). */
const ONLY_IN_TERMINAL: ReadonlySet<string> = new Set(["ExitPlanMode", "EnterPlanMode"]);

/** The input of Claude's tool, as far as it is known. Other members stay as they are. */
const ClaudeAsks = z.looseObject({
  questions: z
    .array(
      z.looseObject({
        question: z.string().min(1),
        header: z.string().default(""),
        multiSelect: z.boolean().default(false),
        options: z
          .array(z.looseObject({ label: z.string().min(1), description: z.string().default("") }))
          .max(mostChoices),
      }),
    )
    .min(1)
    .max(mostAsked)
    .refine((all) => new Set(all.map(({ question }) => question)).size === all.length, "asks the same twice"),
});

/** Null if it can't be shown whole, or can only be answered in the terminal. */
export function readAsked(payload: Readonly<Record<string, unknown>>): Asked | null {
  const { tool_name: name, tool_input: input, cwd } = payload;
  if (typeof name !== "string" || name === "" || ONLY_IN_TERMINAL.has(name)) return null;
  // A label drops what it can't show. Then it isn't the tool's name any more.
  if (toolLabel(name) !== name) return null;
  if (typeof input !== "object" || input === null || Array.isArray(input)) return null;
  const json = JSON.stringify(input);
  if (Buffer.byteLength(json) > shownBytes) return null;
  const directory = typeof cwd === "string" && cwd.length <= LIMITS.activity.hook.pathBytes ? cwd : "";
  const common = {
    input: input as Readonly<Record<string, unknown>>,
    input_sha256: createHash("sha256").update(json).digest("hex"),
  };
  if (name === CLAUDE_ASKS) {
    const known = ClaudeAsks.safeParse(input);
    if (!known.success) return null;
    const choices = known.data.questions.map(({ question, header, multiSelect, options }) => ({
      header,
      question,
      multiple: multiSelect,
      options: options.map(({ label, description }) => ({ label, description })),
    }));
    return { shown: { kind: "choices", tool_name: name, details: [], choices, directory }, ...common };
  }
  const details = Object.entries(input).map(([member, value]: [string, unknown]) => ({
    name: member,
    text: typeof value === "string" ? value : JSON.stringify(value, null, 2),
  }));
  if (details.length > most) return null;
  return { shown: { kind: "permission", tool_name: name, details, choices: [], directory }, ...common };
}

/** What the runtime gets. Throws invalid_args if the answers don't fit the questions. */
export function decisionOf({ shown, input }: Asked, answer: Answer): HookDecision {
  const { decision, answers, message } = answer;
  if (answers !== undefined && (decision !== "allow" || shown.kind !== "choices")) {
    throw invalid("answers", "Only an agent's own questions have answers.");
  }
  if (message !== undefined && decision !== "deny") {
    throw invalid("message", "Only a refusal has a message for the agent.");
  }
  if (decision === "terminal") return UNDECIDED;
  if (decision === "deny") {
    return decided({ behavior: "deny", message: message ?? "The user refused this." });
  }
  if (shown.kind === "permission") return decided({ behavior: "allow" });
  if (answers?.length !== shown.choices.length) {
    throw invalid("answers", `The agent asks ${shown.choices.length} questions. Answer each of them.`);
  }
  const named = shown.choices.map(({ question, multiple }, index): [string, string] => {
    const chosen = answers[index]!;
    if (!multiple && chosen.length > 1) throw invalid("answers", `Question ${index + 1} takes one answer.`);
    return [question, chosen.join(", ")];
  });
  return decided({ behavior: "allow", updatedInput: { ...input, answers: Object.fromEntries(named) } });
}

function decided(decision: NonNullable<HookDecision["hookSpecificOutput"]>["decision"]): HookDecision {
  return { hookSpecificOutput: { hookEventName: "PermissionRequest", decision } };
}

function invalid(field: string, specifics: string): Refusal {
  return new Refusal("invalid_args", { specifics, details: { field } });
}
