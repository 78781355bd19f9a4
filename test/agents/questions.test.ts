/** What real agents ask, answered in a browser: how soon it is shown and takes effect. */

import assert from "node:assert/strict";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import type { Question } from "../../shared/operations/questions.ts";
import { launchBrowser, openGroup, Setting } from "../browser/setting.ts";
import { ofKind } from "../support/events.ts";
import { until } from "../support/until.ts";
import { AgentsSetting, PATIENCE } from "./setting.ts";

/** Printed beside the figures, for who reads them. */
const GOAL_MS = 500;

describe("real agents' questions", function () {
  this.timeout(4 * PATIENCE);
  let browser: Browser;
  let web: Setting;
  let agents: AgentsSetting;
  let page: Page;

  before(async () => {
    browser = await launchBrowser();
    web = await Setting.open(browser);
    agents = new AgentsSetting(() => web.daemon);
    await agents.open("crew");
    for (const runtime of ["claude", "codex"] as const) {
      await agents.client.result("actor_add", {
        group_id: agents.group_id,
        actor_id: runtime,
        runtime,
        runner: "pty",
        answerable: true,
        command:
          runtime === "claude"
            ? ["claude", "--permission-mode", "manual"]
            : ["codex", "--no-daemon", "--disable", "plugins"],
        env:
          runtime === "claude"
            ? agents.claudeEnvironment(runtime)
            : agents.codexEnvironment(runtime, "on-request"),
      });
      await agents.start(runtime);
    }
    page = (await web.window()).page;
    page.setDefaultTimeout(PATIENCE);
    await openGroup(page, "crew");
  });
  after(async () => {
    await web?.daemon.stop();
    await web?.close();
    await browser?.close();
    agents?.close();
  });

  const card = (actor: string) =>
    page.locator(".questions").getByRole("group", { name: new RegExp(`^${actor} asks`) });
  const shell = (actor: string, command: string) =>
    actor === "claude"
      ? { tool: "Bash", input: { command, description: "to see" } }
      : {
          tool: "exec_command",
          input: { cmd: command, sandbox_permissions: "require_escalated", justification: "to see" },
        };
  /** Has the agent use the tool; the question, and when a person could read it. */
  async function asks(actor: string, word: string, step: ReturnType<typeof shell>) {
    agents.model.script(word, () => [step, { say: "Finished." }]);
    await agents.send(word, [actor]);
    await card(actor).waitFor();
    const shownAt = Date.now();
    const { questions } = await agents.client.result("actor_questions", { group_id: agents.group_id });
    return { question: questions.find(({ actor_id: id }) => id === actor)!, shownAt };
  }
  /** When it was clicked. */
  async function click(actor: string, label: string): Promise<number> {
    const button = card(actor).locator("vscode-button:not([disabled])", { hasText: label });
    return button.evaluate((element: HTMLElement) => {
      element.click();
      return Date.now();
    });
  }
  const closed = (actor: string) => card(actor).waitFor({ state: "detached" });

  for (const actor of ["claude", "codex"]) {
    it(`${actor}: a permission is given and refused with one click each`, async () => {
      const file = join(agents.project, `${actor}.ran`);
      const command = `date +%s%3N > ${actor}.ran`;
      const { question, shownAt } = await asks(actor, `allow-${actor}`, shell(actor, command));
      const shown: Question["details"] = question.details.filter(({ name }) => name === "command");
      assert.deepEqual(shown, [{ name: "command", text: command }]);
      const clickedAt = await click(actor, "Allow once");
      const ranAt = await until("the tool runs", () => Number(agents.reads(file)) || null, PATIENCE);
      await closed(actor);
      await agents.becomes(actor, "idle");
      const refused = shell(actor, `touch ${actor}.refused`);
      await asks(actor, `deny-${actor}`, refused);
      await click(actor, "Deny");
      await closed(actor);
      await until("the model is told", () =>
        agents.model.heard.some((body) => body.includes("The user refused this.")),
      );
      await agents.becomes(actor, "idle");
      assert.equal(agents.reads(join(agents.project, `${actor}.refused`)), "");
      const decisions = ofKind(await agents.events(), "actor.answer").filter(
        ({ data }) => data.actor_id === actor,
      );
      assert.deepEqual(
        decisions.map(({ by, data }) => [by, data.decision, data.via]),
        [
          ["user", "allow", "web"],
          ["user", "deny", "web"],
        ],
      );
      console.log(
        `      ${actor}: asked to shown ${shownAt - Date.parse(question.asked_at)} ms, clicked to running ${ranAt - clickedAt} ms (goal ${GOAL_MS} ms)`,
      );
    });
  }

  it("claude: its own questions are answered with the choices", async () => {
    const questions = [
      {
        question: "Which color?",
        header: "Color",
        multiSelect: false,
        options: [
          { label: "Red", description: "warm" },
          { label: "Blue", description: "cold" },
        ],
      },
    ];
    await asks("claude", "choose", { tool: "AskUserQuestion", input: { questions } } as never);
    await card("claude").getByText("Blue").click();
    await click("claude", "Answer");
    await until("the model has the answer", () =>
      agents.model.heard.some((body) => body.includes('\\"Which color?\\"=\\"Blue\\"')),
    );
    await closed("claude");
    await agents.becomes("claude", "idle");
  });

  it("codex: its terminal asks when the question is left to it", async () => {
    await asks("codex", "leave", shell("codex", "touch left"));
    await click("codex", "Ask in the terminal");
    await closed("codex");
    await page
      .locator("section[aria-label='Terminal of codex'] .xterm-rows > div", {
        hasText: "Would you like to run",
      })
      .first()
      .waitFor();
  });
});
