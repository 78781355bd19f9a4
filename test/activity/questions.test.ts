/** What runtimes ask, answered by a person through svc: who may, once, and for how long. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Launch } from "../../daemon/activity/launches.ts";
import { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { Caller } from "../../shared/operations/caller.ts";
import type { HookDecision, Question } from "../../shared/operations/questions.ts";
import { ofKind } from "../support/events.ts";
import { until } from "../support/until.ts";
import { callerOf, claude, codex, openSetting, type Payload, type Setting } from "./setting.ts";

const COMMAND = "rm -rf build \u202e && echo \u001b[2Kdone";
const ALLOWED: HookDecision = {
  hookSpecificOutput: { hookEventName: "PermissionRequest", decision: { behavior: "allow" } },
};
const refusal =
  (code: string, words = /./) =>
  (error: unknown) =>
    error instanceof Refusal && error.code === code && words.test(error.message);

describe("questions of runtimes", () => {
  let setting: Setting;
  let ann: Launch;
  beforeEach(async () => {
    setting = await openSetting();
    await setting.addActor("ann", "claude", { answerable: true });
    await setting.addActor("bob", "codex", { answerable: true });
    await setting.addActor("shy", "claude");
    ann = setting.launches.launch(setting.group, "ann");
  });
  afterEach(() => setting.close());

  const asks = (command = COMMAND, more: Payload = {}): Payload =>
    claude().ask("Bash", { tool_input: { command, timeout: 5 }, ...more });
  const open = async (): Promise<Question[]> =>
    (await setting.call("actor_questions", { group_id: setting.group.group_id })).questions;
  /** The next question, and what its hook will print. */
  async function asked(launch: Launch, payload: Payload, signal?: AbortSignal) {
    const before = new Set((await open()).map(({ question_id: questionId }) => questionId));
    const decision = setting.decide(launch, payload, signal);
    const question = await until("the question is open", async () =>
      (await open()).find(({ question_id: questionId }) => !before.has(questionId)),
    );
    return { question, decision };
  }
  const answer = (
    { question_id: questionId, actor_id: actorId }: Pick<Question, "question_id" | "actor_id">,
    decision: "allow" | "deny" | "terminal",
    more: { answers?: string[][]; message?: string } = {},
    as?: Caller,
  ) =>
    setting.call(
      "actor_answer",
      { group_id: setting.group.group_id, actor_id: actorId, question_id: questionId, decision, ...more },
      as,
    );
  const recorded = () => ofKind(setting.ledger(), "actor.answer");
  const presence = () => setting.activity.workingState(setting.group.group_id, setting.group.actor("ann"));
  /** In a turn with a tool that waits. */
  const inTool = async (launch: Launch, id = "t1"): Promise<void> => {
    for (const payload of [claude().start(), claude().prompt("p1"), claude().pre(id), asks()])
      await setting.submit(launch, payload);
  };

  it("are shown whole, allowed once, and recorded without what was asked", async () => {
    await inTool(ann);
    const { question, decision } = await asked(ann, asks());
    assert.deepEqual(
      [question.actor_id, question.kind, question.tool_name, question.directory, question.in_terminal],
      ["ann", "permission", "Bash", "/p", true],
    );
    assert.deepEqual(question.details, [
      { name: "command", text: COMMAND },
      { name: "timeout", text: "5" },
    ]);
    assert.equal(Date.parse(question.expires_at) - setting.clock.now(), LIMITS.questions.openSeconds * 1000);
    assert.deepEqual([presence().attention, presence().questions], [true, 1]);
    await answer(question, "allow");
    assert.deepEqual(await decision, ALLOWED);
    assert.deepEqual([await open(), presence().questions], [[], undefined]);
    const [event] = recorded();
    const input = JSON.stringify({ command: COMMAND, timeout: 5 });
    assert.equal(event?.by, "user");
    assert.deepEqual(event.data, {
      actor_id: "ann",
      actor_generation: "generation of ann",
      question_id: question.question_id,
      tool_name: "Bash",
      input_sha256: createHash("sha256").update(input).digest("hex"),
      decision: "allow",
      via: "socket",
    });
    await setting.activity.settled();
    assert.deepEqual(
      setting
        .snapshot()
        .filter(({ kind }) => kind === "tool")
        .map(({ status }) => status),
      ["started"],
      "its tool goes on",
    );
    for (const file of readdirSync(setting.root, { recursive: true, withFileTypes: true })) {
      if (file.isFile()) assert.ok(!readFileSync(join(file.parentPath, file.name)).includes("rm -rf"));
    }
    await assert.rejects(answer(question, "allow"), refusal("question_closed", /answered already/));
    assert.equal(recorded().length, 1);
  });

  it("are refused with words for the agent, and only a refusal has words", async () => {
    const { question, decision } = await asked(ann, asks());
    await assert.rejects(answer(question, "allow", { message: "well" }), refusal("invalid_args"));
    await answer(question, "deny", { message: "Use make clean." });
    assert.deepEqual((await decision).hookSpecificOutput?.decision, {
      behavior: "deny",
      message: "Use make clean.",
    });
    assert.equal(recorded()[0]?.data.decision, "deny");
  });

  it("of the agent itself are answered one by one, and nothing else of its input changes", async () => {
    const questions = [
      { question: "Which?", header: "Which", multiSelect: false, options: [{ label: "A", preview: "a" }] },
      { question: "More?", header: "", multiSelect: true, options: [{ label: "B" }, { label: "C" }] },
    ];
    const payload = claude().ask("AskUserQuestion", { tool_input: { questions, other: 1 } });
    const { question, decision } = await asked(ann, payload);
    assert.deepEqual(
      question.choices.map(({ question: text, multiple, options }) => [text, multiple, options.length]),
      [
        ["Which?", false, 1],
        ["More?", true, 2],
      ],
    );
    for (const answers of [undefined, [["A"]], [["A", "A"], ["B"]], [["A"], ["B"], ["C"]]]) {
      await assert.rejects(
        answer(question, "allow", answers === undefined ? {} : { answers }),
        refusal("invalid_args"),
      );
    }
    await answer(question, "allow", { answers: [["mine"], ["B", "C"]] });
    assert.deepEqual((await decision).hookSpecificOutput?.decision, {
      behavior: "allow",
      updatedInput: { questions, other: 1, answers: { "Which?": "mine", "More?": "B, C" } },
    });
    assert.equal(recorded()[0]?.data.decision, "answer");
  });

  it("are nobody's but the owner's to see and to answer", async () => {
    const { question, decision } = await asked(ann, asks());
    const { group_id: groupId } = setting.group;
    const token = { token_id: "t", groups: new Set([groupId]) };
    const others: Caller[] = [
      callerOf(ann),
      callerOf(setting.launches.launch(setting.group, "bob")),
      { kind: "member", by: "user", ...token },
      { kind: "exhibit", by: "exhibit", ...token },
    ];
    for (const as of others) {
      await assert.rejects(
        setting.call("actor_questions", { group_id: groupId }, as),
        refusal("permission_denied"),
      );
      for (const how of ["allow", "deny", "terminal"] as const)
        await assert.rejects(answer(question, how, {}, as), refusal("permission_denied"));
    }
    await assert.rejects(answer({ ...question, actor_id: "bob" }, "allow"), refusal("question_closed"));
    const other = await setting.registry.create({ title: "two", topic: "", by: "user" });
    await assert.rejects(
      setting.call("actor_answer", { ...question, group_id: other.group_id, decision: "allow" } as never),
      refusal("invalid_args"),
    );
    assert.deepEqual(await setting.call("actor_questions", { group_id: other.group_id }), { questions: [] });
    assert.equal((await open()).length, 1);
    await answer(question, "terminal");
    assert.deepEqual([await decision, recorded()], [{}, []]);
    await assert.rejects(answer(question, "allow"), refusal("question_closed", /terminal/));
  });

  it("aren't asked here unless a person chose it, of the process that runs now", async () => {
    const shy = setting.launches.launch(setting.group, "shy");
    assert.deepEqual(await setting.decide(shy, asks()), {});
    assert.deepEqual(await setting.decide({ ...ann, token_digest: "earlier" }, asks()), {});
    assert.deepEqual(await setting.decide({ ...ann, generation: "earlier" }, asks()), {});
    const notAsked: Payload[] = [
      claude().pre("t1"),
      claude().ask("ExitPlanMode", { tool_input: {} }),
      claude().ask("Bash", { tool_input: "text" }),
      claude().ask("Ba\u202esh", { tool_input: {} }),
      claude().ask("AskUserQuestion", { tool_input: { questions: "?" } }),
      asks("x".repeat(LIMITS.questions.shownBytes)),
    ];
    for (const payload of notAsked) assert.deepEqual(await setting.decide(ann, payload), {});
    assert.deepEqual(await open(), []);
  });

  it("end with their hook, their time, their process, their Actor and the daemon, and allow nothing", async () => {
    const gone = new AbortController();
    const first = await asked(ann, asks(), gone.signal);
    gone.abort();
    assert.deepEqual(await first.decision, {});
    await assert.rejects(answer(first.question, "allow"), refusal("question_closed", /turn has ended/));
    const second = await asked(ann, asks());
    setting.clock.advance(LIMITS.questions.openSeconds * 1000);
    assert.deepEqual(await second.decision, {});
    await assert.rejects(answer(second.question, "allow"), refusal("question_closed", /expired/));
    const third = await asked(ann, asks());
    setting.launches.end(ann);
    assert.deepEqual(await third.decision, {});
    const restarted = setting.launches.launch(setting.group, "ann");
    await assert.rejects(answer(third.question, "allow"), refusal("question_closed"));
    const fourth = await asked(restarted, asks());
    await change("ann", { answerable: false });
    assert.deepEqual(await fourth.decision, {});
    await change("ann", { answerable: true });
    const fifth = await asked(restarted, asks());
    await change("ann", { generation: "another" });
    assert.deepEqual(await fifth.decision, {});
    const bob = setting.launches.launch(setting.group, "bob");
    const last = await asked(bob, codex("turn").ask("Bash", { tool_input: { command: "true" } }));
    setting = await setting.reopen();
    assert.deepEqual([await last.decision, await open()], [{}, []]);
    await assert.rejects(answer(last.question, "allow"), refusal("question_closed"));
    assert.deepEqual(recorded(), []);
  });

  async function change(actor: string, how: { answerable?: boolean; generation?: string }): Promise<void> {
    await setting.group.update(
      (record) => ({
        ...record,
        actors: record.actors.map((one) => (one.id === actor ? { ...one, ...how } : one)),
      }),
      { kind: "actor.update", by: "user", data: { actor_id: actor, fields: Object.keys(how) } },
    );
  }

  it("end when the terminal has answered: the tool goes on, or its turn is over", async () => {
    await inTool(ann);
    const first = await asked(ann, asks());
    await setting.submit(ann, claude().post("t1"));
    assert.deepEqual(await first.decision, {});
    await setting.submit(ann, claude().pre("t2"));
    await setting.submit(ann, asks());
    const second = await asked(ann, asks());
    await setting.submit(ann, claude().notify("permission_prompt"));
    assert.equal((await open()).length, 1, "a reminder answers nothing");
    await setting.submit(ann, claude().stop("p1"));
    assert.deepEqual(await second.decision, {});
    assert.deepEqual(recorded(), []);
  });

  it("of Codex go to its terminal as soon as a person types there", async () => {
    const bob = setting.launches.launch(setting.group, "bob");
    const { start, prompt, pre, ask } = codex("turn");
    for (const payload of [start(), prompt(), pre("t1"), pre("t2")]) await setting.submit(bob, payload);
    const [first, second] = [
      await asked(bob, ask("Bash", { tool_input: { command: "one" } })),
      await asked(bob, ask("Bash", { tool_input: { command: "two" } })),
    ];
    assert.equal(first.question.in_terminal, false);
    await answer(first.question, "allow");
    assert.deepEqual(await first.decision, ALLOWED);
    assert.deepEqual(
      (await open()).map(({ details }) => details[0]?.text),
      ["two"],
    );
    setting.activity.typed(bob);
    assert.deepEqual(await second.decision, {});
    const other = await asked(ann, asks());
    setting.activity.typed(ann);
    assert.equal((await open()).length, 1, "Claude's dialog is there all the time");
    await answer(other.question, "deny");
  });

  it("take the first of two answers at once, and none that comes after the hook has gone", async () => {
    const first = await asked(ann, asks());
    const both = await Promise.allSettled([answer(first.question, "deny"), answer(first.question, "allow")]);
    assert.deepEqual(
      both.map(({ status }) => status),
      ["fulfilled", "rejected"],
    );
    assert.equal((await first.decision).hookSpecificOutput?.decision.behavior, "deny");
    assert.equal(recorded().length, 1);
    const gone = new AbortController();
    const second = await asked(ann, asks(), gone.signal);
    const late = answer(second.question, "allow");
    gone.abort();
    assert.deepEqual(await second.decision, {});
    await assert.rejects(late, refusal("question_closed"));
    const marks = recorded().map(({ data }) => [data.decision, data.late]);
    assert.deepEqual(marks.slice(1), [
      ["allow", undefined],
      ["allow", true],
    ]);
  });

  it("are so many at most", async () => {
    const all: Promise<HookDecision>[] = [];
    for (let count = 0; count < LIMITS.questions.perActor; count += 1)
      all.push((await asked(ann, asks(`echo ${count}`))).decision);
    assert.deepEqual(await setting.decide(ann, asks()), {});
    setting.launches.end(ann);
    for (const decision of all) assert.deepEqual(await decision, {});
  });
});
