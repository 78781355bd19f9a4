/**
 * What runtimes ask a person, answered through svc
 * (docs/runtimes.md#questions-answered-through-svc). Only a person with the owner's authority sees
 * and answers them: they contain commands and files.
 */
import * as z from "zod";
import { LIMITS } from "../limits.ts";
import { ActorId, GroupId, text } from "../model.ts";
import { operation } from "./contract.ts";

const { asked, answerBytes } = LIMITS.questions;

const Decided = z.strictObject({
  hookEventName: z.literal("PermissionRequest"),
  decision: z.discriminatedUnion("behavior", [
    z.strictObject({
      behavior: z.literal("allow"),
      /** Claude's own questions with the answers. Never anything else. */
      updatedInput: z.looseObject({}).optional(),
    }),
    z.strictObject({ behavior: z.literal("deny"), message: z.string() }),
  ]),
});
/** What the hook prints for its runtime. Empty: it prints nothing, and the terminal asks alone. */
export const HookDecision = z.strictObject({ hookSpecificOutput: Decided.optional() });
export type HookDecision = z.infer<typeof HookDecision>;

/** One of the questions that an agent asks its person. */
const Choice = z.strictObject({
  header: z.string(),
  question: z.string(),
  /** More than one answer may be chosen. */
  multiple: z.boolean(),
  options: z.array(z.strictObject({ label: z.string(), description: z.string() })),
});

/** All text in it is the agent's, exactly as it is. Whoever shows it makes it safe first. */
export const Question = z.strictObject({
  question_id: z.uuid(),
  actor_id: ActorId,
  generation: z.string(),
  /** `permission`: to use the tool once. `choices`: the agent's own questions. */
  kind: z.enum(["permission", "choices"]),
  tool_name: z.string(),
  /** What the tool would be called with, whole: text as it is, everything else as JSON. */
  details: z.array(z.strictObject({ name: z.string(), text: z.string() })),
  choices: z.array(Choice),
  /** Where the runtime works, as it says; empty if it doesn't. */
  directory: z.string(),
  asked_at: z.string(),
  expires_at: z.string(),
  /** Its terminal asks at the same time. If not, it asks once the question is handed over to it. */
  in_terminal: z.boolean(),
});
export type Question = z.infer<typeof Question>;

const QuestionId = z.uuid();

export const questionOperations = [
  operation({
    name: "hook_decide",
    title: "Wait for a person's decision",
    summary:
      "Submits what an agent's runtime asks a person. The arguments are the runtime's own payload. Waits for the answer and returns what the hook prints. It is empty at once if the Actor's questions aren't answered through svc, and later if the terminal answers, the question expires or its turn ends.",
    input: z.looseObject({ hook_event_name: z.string().max(128) }),
    output: HookDecision,
    callers: ["actor"],
    lock: "none",
    effect: "write",
    decision: false,
    idempotent: false,
  }),
  operation({
    name: "actor_questions",
    title: "List open questions",
    summary:
      "Lists what the Group's agents ask a person now and what actor_answer takes: permissions with the exact command or change, and questions with their choices, oldest first. Actors of which that wasn't chosen ask only in their terminals.",
    input: z.strictObject({ group_id: GroupId }),
    output: z.strictObject({ questions: z.array(Question) }),
    callers: ["user"],
    lock: "none",
    effect: "read",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "actor_answer",
    title: "Answer an agent's question",
    summary:
      "Decides once about what an agent asks: allow, deny, or terminal, which leaves it to the Actor's terminal. The agent's own questions are allowed with answers, one list for each. The first answer wins, also one in the terminal. The ledger records the decision before the runtime gets it.",
    input: z.strictObject({
      group_id: GroupId,
      actor_id: ActorId,
      question_id: QuestionId,
      decision: z.enum(["allow", "deny", "terminal"]),
      answers: z
        .array(z.array(text(answerBytes).min(1)).min(1).max(LIMITS.questions.choices))
        .max(asked)
        .optional(),
      /** With deny: what the agent is told. */
      message: text(answerBytes).min(1).optional(),
    }),
    output: z.strictObject({ question_id: QuestionId, decision: z.enum(["allow", "deny", "terminal"]) }),
    callers: ["user"],
    lock: "none",
    effect: "write",
    decision: true,
    idempotent: false,
  }),
] as const;
