/**
 * What a hook or a screen says of a runtime that can't work: the lines are those of the real ones.
 */
import assert from "node:assert/strict";
import { troubleOf, troubleOnScreen } from "../../daemon/activity/hooks/trouble.ts";
import type { Launch } from "../../daemon/activity/launches.ts";
import { LIMITS } from "../../shared/limits.ts";
import { claude, codex, type Mutable, openSetting, type Setting } from "./setting.ts";

const COMPOSER = ["", "› Ask Codex to do anything", "", "  scripted default · /p"];
const codexScreen = (...cell: string[]): string[] => ["› hello there", "", ...cell, ...COMPOSER];

describe("trouble of a runtime", () => {
  it("is told by the kind of a failed turn, with a time where one is told", () => {
    assert.equal(troubleOf("authentication_failed", "Please run /login"), "logged out");
    assert.equal(troubleOf("rate_limit", "API Error: Request rejected (429)"), "limit reached");
    assert.equal(
      troubleOf("rate_limit", "You've hit your limit · resets 3pm (UTC)"),
      "limit reached, until 3pm (UTC)",
    );
    assert.equal(troubleOf("billing_error", "Credit balance is too low"), "billing problem");
    assert.equal(troubleOf("server_error", "API Error: 500"), "overloaded");
    assert.equal(troubleOf("unknown", "API Error: 529 Overloaded"), "overloaded");
    assert.equal(troubleOf("unknown", "a private sentence"), "");
    assert.equal(troubleOf(undefined, 7), "");
  });

  it("is read from the screen of Claude while it retries", () => {
    const line = "✻ 529 mock overloaded_error · retrying in 4s · attempt 5/10";
    assert.deepEqual(troubleOnScreen("claude", ["❯ hello", line, "❯"]), {
      words: "overloaded; retrying (attempt 5 of 10)",
      isRetrying: true,
    });
    assert.equal(troubleOnScreen("claude", ["❯ hello", `  > ${line}`]), null, "somebody's text");
  });

  it("is read from the last cell of Codex, never from an earlier one or from what anybody wrote", () => {
    const words = (...cell: string[]) => troubleOnScreen("codex", codexScreen(...cell))?.words;
    assert.equal(words("■ unexpected status 401 Unauthorized: no key, url: http://h/v1"), "logged out");
    assert.equal(words("■ exceeded retry limit, last status: 429 Too Many Requests"), "limit reached");
    assert.equal(
      words(
        "■ You’ve hit your usage limit. Upgrade to Pro, visit https://h/settings/",
        "usage or try again at Nov 21st, 2026 10:26 PM.",
      ),
      "limit reached, until Nov 21st, 2026 10:26 PM",
    );
    assert.equal(words("■ We’re currently experiencing high demand, which may cause errors."), "overloaded");
    assert.equal(
      words("• Reconnecting... 2/3 (4s • esc to interrupt)"),
      "can't reach its model; retrying (attempt 2 of 3)",
    );
    assert.equal(words("■ Conversation interrupted - use /feedback"), undefined);
    assert.equal(words("■ unexpected status 401 Unauthorized", "", "› the next prompt"), undefined);
    assert.equal(words("• it says:", "  ■ unexpected status 401 Unauthorized"), undefined);
  });
});

describe("the state of a runtime in trouble", () => {
  let setting: Setting;
  beforeEach(async () => {
    setting = await openSetting();
    await setting.addActor("ann", "claude");
    await setting.addActor("bob", "codex");
  });
  afterEach(() => setting.close());

  const shown = (actor: string) => {
    setting.clock.advance(1000);
    const { state, reason, attention } = setting.activity.workingState(
      setting.group.group_id,
      setting.group.actor(actor),
    );
    return [state, reason, attention];
  };

  it("says it with attention while it retries and after its turn failed, until one goes well", async () => {
    const { start, prompt, stop, event } = claude();
    const launch: Mutable<Launch> = setting.launches.launch(setting.group, "ann");
    for (const hook of [start(), prompt("p1")]) await setting.submit(launch, hook);
    setting.launches.lines = ["✻ 429 no · retrying in 5s · attempt 5/10"];
    assert.deepEqual(shown("ann"), ["working", "limit reached; retrying (attempt 5 of 10)", true]);
    await setting.submit(
      launch,
      event("StopFailure", { prompt_id: "p1", error: "rate_limit", last_assistant_message: "no" }),
    );
    assert.deepEqual(shown("ann"), ["failed", "limit reached; its last turn failed", true]);
    setting.launches.lines = [];
    for (const hook of [prompt("p2"), stop("p2")]) await setting.submit(launch, hook);
    assert.deepEqual(shown("ann"), ["idle", "ready", false]);
  });

  it("ends a turn of Codex that its still screen calls failed, and none that draws", async () => {
    const { start, prompt } = codex("u1");
    const launch: Mutable<Launch> = setting.launches.launch(setting.group, "bob");
    for (const hook of [start(), prompt()]) await setting.submit(launch, hook);
    setting.launches.lines = codexScreen("■ unexpected status 401 Unauthorized: no key");
    setting.launches.quiet = 0;
    setting.clock.advance(LIMITS.activity.errorSilenceSeconds * 2000);
    assert.equal(shown("bob")[0], "working");
    setting.launches.quiet = LIMITS.activity.errorSilenceSeconds;
    shown("bob");
    await setting.activity.settled();
    assert.deepEqual(shown("bob"), ["failed", "logged out; its last turn failed", true]);
  });
});
