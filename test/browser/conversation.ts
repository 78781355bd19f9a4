/** A conversation as it might be: what the pictures show and what axe-core looks at. */
import type { DaemonClient } from "../../client/client.ts";
import type { Setting } from "./setting.ts";

const FINDING = `Found it. The test compares timestamps across a **second boundary**, so it fails about once in forty runs:

\`\`\`ts
const before = Math.floor(Date.now() / 1000);
await login(user);
expect(session.createdAt).toBe(before); // off by one when the clock ticks
\`\`\`

I would freeze the clock instead:

1. inject \`Clock\` into \`login\`
2. use the simulated one in the test
3. remove the retry in CI

The [last red run](https://ci.example.org/runs/8812) shows the same line.`;

const QUESTIONS = `Looks good, two questions before I approve:

- Should this go to \`main\` or to \`release/2.4\`?
- May the public type \`Session\` change?

| File | Lines | Risk |
|---|---:|---|
| login.ts | 42 | low |
| clock.ts | 18 | low |
| session.ts | 7 | **public** |`;

/** The Actor takes what waits for it, and confirms it. */
async function takeWaiting(actor: DaemonClient, groupId: string): Promise<void> {
  const { batch_id: batch } = await actor.result("inbox_read", { group_id: groupId });
  await actor.result("inbox_read", { group_id: groupId, ack: batch! });
}

/** The person asks the lead, who takes the request. Answers its id. */
export async function askLead(
  person: DaemonClient,
  lead: DaemonClient,
  group_id: string,
  text: string,
): Promise<string> {
  const { event } = await person.result("send", {
    group_id,
    text,
    to: ["lead"],
    message_mode: "request_reply",
  });
  await takeWaiting(lead, group_id);
  return event.id;
}

/**
 * Three Groups; in the first, people and agents are in the middle of something. It is about the
 * folder `project`. Answers its id.
 */
export async function converse(setting: Setting, project: string): Promise<string> {
  const { owner } = setting;
  const { groupId, actors } = await setting.group("api-server", ["lead", "reviewer", "docs", "nightly"]);
  const group_id = groupId;
  await owner.result("group_update", { group_id, topic: "Rate limits and the flaky login test" });
  await owner.result("attach", { group_id, path: project });
  await owner.result("actor_update", { group_id, actor_id: "reviewer", runtime: "codex" });
  await owner.result("actor_update", { group_id, actor_id: "docs", title: "Docs writer", runtime: "gemini" });
  await owner.result("actor_stop", { group_id, actor_id: "nightly" });
  const lead = actors["lead"]!;
  const reviewer = actors["reviewer"]!;
  lead.session = "lead";
  reviewer.session = "reviewer";
  const asked = await askLead(
    owner,
    lead,
    group_id,
    "Please find out why `auth/login.test.ts` fails now and then. It never does on my machine.",
  );
  await lead.result("reply", { group_id, event_id: asked, text: FINDING });
  await owner.result("send", {
    group_id,
    text: "Yes, freeze it. And look whether other tests do the same.",
    to: ["lead"],
  });
  await takeWaiting(lead, group_id);
  const review = await lead.result("send", {
    group_id,
    text: "Please review `src/auth/login.ts` and `src/clock.ts`: login takes a `Clock` now.",
    to: ["reviewer"],
    message_mode: "request_reply",
  });
  await takeWaiting(reviewer, group_id);
  await owner.result("send", {
    group_id,
    text: "Heads up: the release is on Thursday. Please mention the new `Clock` in the changelog.",
    to: ["reviewer", "docs"],
    message_mode: "mail",
  });
  await reviewer.result("inbox_read", { group_id });
  await reviewer.result("reply", { group_id, event_id: review.event.id, text: "Reading it now." });
  await reviewer.result("send", { group_id, text: QUESTIONS, to: ["user"], message_mode: "request_reply" });
  await waits(setting, "docs site", [
    "The build is green again. Shall I publish it?",
    "Two links are dead; I listed them in LINKS.md.",
  ]);
  const quiet = await setting.group("infra");
  await owner.result("group_set_state", { group_id: quiet.groupId, state: "paused" });
  return groupId;
}

/** A Group in which somebody waits for the person. */
async function waits(setting: Setting, title: string, texts: readonly string[]): Promise<void> {
  const { groupId, actors } = await setting.group(title);
  for (const [index, text] of texts.entries()) {
    await actors["lead"]!.result("send", {
      group_id: groupId,
      text,
      to: ["user"],
      message_mode: index === 0 ? "request_reply" : "send",
    });
  }
}
