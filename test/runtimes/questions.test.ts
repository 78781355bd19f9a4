/** Questions of a real process, answered through svc or in its terminal. */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import type { Question } from "../../shared/operations/questions.ts";
import { run } from "../cli/svc.ts";
import { until } from "../support/until.ts";
import { PATIENCE, Setting } from "./setting.ts";
import { TerminalClient } from "./terminal-client.ts";

const ALLOWED =
  '{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}';

describe("what a process in a terminal asks", function () {
  this.timeout(3 * PATIENCE);
  let setting: Setting;
  before(async () => {
    setting = await Setting.open();
    await setting.add("coder", {}, { answerable: true });
    await setting.startActor("coder");
  });
  after(() => setting.close());

  const open = async (): Promise<Question | undefined> =>
    (await setting.client.result("actor_questions", { group_id: setting.group_id })).questions[0];
  /** It uses a tool that it asks a person for. */
  async function asked(actor = "coder"): Promise<Question> {
    const { id } = await setting.send("WAIT for a TOOL", [actor]);
    await setting.reaches(id, actor, "accepted");
    return until("it asks", open, PATIENCE);
  }
  const answer = ({ actor_id: actorId, question_id: questionId }: Question, decision: "allow" | "deny") =>
    setting.client.result("actor_answer", {
      group_id: setting.group_id,
      actor_id: actorId,
      question_id: questionId,
      decision,
    });
  const answers = (actor = "coder") =>
    setting.notes(actor).flatMap(({ answer: text }) => (text === undefined ? [] : [text]));
  const goesOn = async (): Promise<void> => {
    writeFileSync(`${setting.log("coder")}.tool`, "");
    await setting.becomes("coder", "idle");
  };

  it("is allowed from here while its own dialog waits, and its tool goes on", async () => {
    const question = await asked();
    assert.deepEqual(
      [question.actor_id, question.tool_name, question.details, question.directory],
      ["coder", "Bash", [{ name: "command", text: "true" }], setting.project],
    );
    const { actor } = await setting.client.result("actor_show", {
      group_id: setting.group_id,
      actor_id: "coder",
    });
    assert.deepEqual([actor.presence.questions, actor.presence.attention], [1, true]);
    await answer(question, "allow");
    await until("the runtime has it", () => answers().length === 1);
    assert.deepEqual(answers(), [ALLOWED]);
    await goesOn();
    const [event] = await setting.events("actor.answer");
    assert.deepEqual([event?.by, event?.data.decision, event?.data.actor_id], ["user", "allow", "coder"]);
  });

  it("is shown and refused once on the command line, by the beginning of its id", async () => {
    const question = await asked();
    const svc = (...args: string[]) =>
      run(["actor", "answer", "coder", "-g", setting.group_id, ...args], { home: setting.home });
    const shown = await svc();
    assert.equal(shown.code, 0, shown.err);
    const id = question.question_id.slice(0, 8);
    for (const part of ["coder asks to use Bash once", "    true", id])
      assert.ok(shown.out.includes(part), shown.out);
    const [unnamed, both, unknown] = await Promise.all([
      svc("--allow"),
      svc("--allow", "--deny", "--question", id),
      svc("--allow", "--question", "0000-0000"),
    ]);
    assert.match(unnamed.err, /Name the question that you have seen with --question/);
    assert.match(both.err, /Choose one of --allow, --deny and --terminal/);
    assert.match(unknown.err, /has no open question with that id/);
    assert.deepEqual([unnamed.code === 0, both.code === 0, unknown.code], [false, false, 1]);
    assert.notEqual(await open(), undefined);
    const refused = await svc("--deny", "--message", "Use make clean.", "--question", id);
    assert.equal(refused.code, 0, refused.err);
    assert.match(refused.out, /coder may not use Bash/);
    await until("the runtime has it", () => answers().length === 2);
    const { hookSpecificOutput: said } = JSON.parse(answers()[1]!) as {
      hookSpecificOutput: { decision: { behavior: string; message: string } };
    };
    assert.equal(said.decision.behavior, "deny");
    assert.match(said.decision.message, /Use make clean\./);
    const again = await svc("--allow", "--question", id);
    assert.equal(again.code, 1);
    assert.match(again.err, /It may have been answered/);
    await goesOn();
  });

  it("is answered in its terminal first, and then no longer from here", async () => {
    const question = await asked();
    const { web_origin: webOrigin } = await setting.client.result("daemon_status", {});
    const { token } = await setting.client.result("access_token_create", { name: "person" });
    const url = `${webOrigin!.replace("http", "ws")}/api/v1/groups/${setting.group_id}/actors/coder/term`;
    const person = await new TerminalClient(url, { authorization: `Bearer ${token}` }).opened();
    person.send({ type: "take" });
    await person.message("writer", ({ writer }) => writer === "you");
    person.send({ type: "input", data: "n" });
    await until("its question is closed", async () => (await open()) === undefined, PATIENCE);
    person.close();
    await assert.rejects(answer(question, "allow"), /turn has ended/);
    assert.equal(answers().at(-1), "refused in the terminal");
    assert.equal((await setting.events("actor.answer")).length, 2);
    await setting.becomes("coder", "idle");
  });

  it("ends with a restart of its Actor, and with the daemon, which leave no hook behind", async () => {
    const first = await asked();
    await setting.client.result("actor_restart", { group_id: setting.group_id, actor_id: "coder" });
    assert.equal(await open(), undefined);
    await assert.rejects(answer(first, "allow"), /isn't open|turn has ended/);
    await setting.becomes("coder", "idle");
    const second = await asked();
    await setting.stop();
    await setting.start();
    assert.equal(await open(), undefined);
    await assert.rejects(answer(second, "allow"), /isn't open/);
    assert.equal((await setting.events("actor.answer")).length, 2);
  });
});
