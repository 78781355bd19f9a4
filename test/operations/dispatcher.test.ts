import assert from "node:assert/strict";
import type { Call } from "../../daemon/operations/dispatcher.ts";
import { Mutex } from "../../platform/mutex.ts";
import { fieldSentence, Refusal } from "../../shared/errors.ts";
import type { Caller } from "../../shared/operations/caller.ts";
import { OPERATIONS } from "../../shared/operations/registry.ts";
import { fakeDispatcher, MemoryLog } from "./support.ts";

const GROUP = "g_00000000000a";
const OTHER = "g_00000000000b";
const USER: Caller = { kind: "user", by: "user", via: "socket", token_id: null };
const MEMBER: Caller = { kind: "member", by: "user", token_id: "t", groups: new Set([GROUP]) };
const EXHIBIT: Caller = { kind: "exhibit", by: "exhibit", token_id: "t", groups: new Set([GROUP]) };
const ACTOR: Caller = {
  kind: "actor",
  by: "a1",
  group_id: GROUP,
  actor_id: "a1",
  generation: "g",
  session: null,
};

const ALL: readonly Caller[] = [USER, MEMBER, ACTOR, EXHIBIT];

function by(caller: Caller): Call {
  return { caller, signal: new AbortController().signal, requestId: "r-1" };
}

/**
 * Input that fits every schema needs a Group and little else; what is missing is refused as
 * arguments.
 */
const INPUTS: Readonly<Record<string, unknown>> = { group_id: GROUP };

describe("the dispatcher", () => {
  it("lets every operation be called by its callers only, whatever the arguments", async () => {
    const dispatcher = fakeDispatcher();
    for (const contract of OPERATIONS.values()) {
      for (const caller of ALL) {
        const outcome = await dispatcher.call(contract.name, INPUTS, by(caller));
        const code = outcome.ok ? "ok" : outcome.error.code;
        assert.equal(
          code === "permission_denied",
          !contract.callers.includes(caller.kind),
          `${contract.name} by ${caller.kind}: ${code}`,
        );
      }
    }
  });

  it("refuses unknown fields of every operation, and names them", async () => {
    const dispatcher = fakeDispatcher();
    for (const contract of OPERATIONS.values()) {
      // A runtime's own payload, whose fields are its business.
      if (["hook_submit", "hook_decide"].includes(contract.name)) continue;
      const [kind] = contract.callers;
      const caller = ALL.find((one) => one.kind === kind)!;
      const outcome = await dispatcher.call(
        contract.name,
        { group_id: GROUP, surely_unknown: 1 },
        by(caller),
      );
      assert.ok(!outcome.ok);
      assert.equal(outcome.error.code, "invalid_args", contract.name);
      const { problems } = outcome.error.details as { problems: { field: string }[] };
      assert.ok(
        problems.some(({ field }) => field === "surely_unknown"),
        contract.name,
      );
      for (const input of [null, [], "text", 1]) {
        const refused = await dispatcher.call(contract.name, input, by(caller));
        assert.equal(refused.ok ? "" : refused.error.code, "invalid_args");
      }
    }
  });

  it("answers a foreign Group as one that doesn't exist, in every operation that takes one", async () => {
    const called: string[] = [];
    const dispatcher = fakeDispatcher(
      Object.fromEntries([...OPERATIONS.keys()].map((name) => [name, () => called.push(name)])),
    );
    for (const contract of OPERATIONS.values()) {
      for (const caller of ALL.slice(1)) {
        if (!contract.callers.includes(caller.kind)) continue;
        const there = await dispatcher.call(contract.name, { group_id: OTHER }, by(caller));
        const missing = await dispatcher.call(contract.name, { group_id: "g_ffffffffffff" }, by(caller));
        const text = (outcome: unknown) => JSON.stringify(outcome).replaceAll(/g_[0-9a-f]{12}/g, "");
        if (contract.name === "group_list" || contract.name === "whoami") continue;
        assert.equal(text(there), text(missing), contract.name);
        assert.ok(!there.ok);
      }
    }
    assert.deepEqual(called, []);
  });

  it("names the field of wrong arguments and never quotes a value", async () => {
    const dispatcher = fakeDispatcher();
    const wrong = {
      group_id: GROUP,
      text: "secret-text",
      to: ["ok", 7],
      attachments: [{ sha256: "secret" }],
    };
    const outcome = await dispatcher.call("send", wrong, by(USER));
    assert.ok(!outcome.ok);
    const { field, problems } = outcome.error.details as { field: string; problems: { field: string }[] };
    assert.ok([field, ...problems.map((one) => one.field)].includes("to[1]"));
    assert.ok(!JSON.stringify(outcome.error).includes("secret"));
    const long = await dispatcher.call("whoami", { ["x".repeat(5000)]: 1 }, by(USER));
    assert.ok(JSON.stringify(long).length < 1500);
  });

  it("says in our own words what is wrong with any field of any operation", async () => {
    const dispatcher = fakeDispatcher();
    const values = [
      null,
      "",
      "x",
      "x".repeat(300_000),
      -1,
      1.5,
      1e9,
      true,
      ["x"],
      [[]],
      { x: 1 },
      [{ x: 1 }],
    ];
    const ours = /^(?:'[^']*'|The input) (?:is|isn't|has|hasn't|may|doesn't|must|can't|needs) [^A-Z]*/;
    const foreign =
      /invalid input|invalid option|invalid string|expected \w+,|received \w|too (?:big|small)|unrecognized/i;
    let seen = 0;
    for (const { name, input } of OPERATIONS.values()) {
      const fields = Object.keys((input as { shape?: object }).shape ?? {});
      const whole = [null, [], "x", 1, {}];
      const wrong = [...whole, ...fields.flatMap((field) => values.map((value) => ({ [field]: value })))];
      for (const given of wrong) {
        const outcome = await dispatcher.call(name, given, by(USER));
        if (outcome.ok || outcome.error.code !== "invalid_args") continue;
        const { problems } = outcome.error.details as { problems?: { field: string; problem: string }[] };
        for (const { field, problem } of problems ?? []) {
          const sentence = fieldSentence(field, problem);
          assert.match(sentence, ours, `${name}: ${sentence}`);
          assert.doesNotMatch(problem, foreign, `${name}: ${sentence}`);
          seen += 1;
        }
      }
    }
    assert.ok(seen > 500, String(seen));
    const told = async (name: string, given: object) => {
      const outcome = await dispatcher.call(name, given, by(USER));
      assert.ok(!outcome.ok);
      return outcome.error.message.split(". ")[0];
    };
    assert.equal(await told("ledger_tail", { group_id: GROUP, limit: "9" }), "'limit' must be a number");
    assert.equal(await told("ledger_tail", { group_id: GROUP, limit: 500 }), "'limit' must be at most 200");
    assert.equal(await told("reply", { group_id: GROUP, text: "x" }), "'event_id' is missing");
    assert.equal(
      await told("group_set_state", { group_id: GROUP, state: "dead" }),
      "'state' must be one of active, idle, paused, stopped",
    );
    const mailNoticeAfterSeconds = 1e300;
    assert.equal(
      await told("group_update", {
        group_id: GROUP,
        settings: { mail_notice_after_seconds: mailNoticeAfterSeconds },
      }),
      "'settings.mail_notice_after_seconds' must be at most 9007199254740991",
    );
  });

  it("refuses parts of a message by codes of their own, and names the field", async () => {
    const dispatcher = fakeDispatcher();
    for (const [name, given, code, field] of [
      ["send", { message_mode: "shout" }, "invalid_message_mode", "message_mode"],
      [
        "reply",
        { event_id: "0".repeat(32), message_mode: "request_reply" },
        "invalid_message_mode",
        "message_mode",
      ],
      ["send", { to: ["a", ""] }, "invalid_args", "to[1]"],
      ["send", { insight: "x".repeat(100_000) }, "invalid_insight", "insight"],
      ["send", { attachments: [{ sha256: "x", name: "a" }] }, "invalid_attachments", "attachments[0].sha256"],
      ["send", { text: 1 }, "invalid_args", "text"],
    ] as const) {
      const outcome = await dispatcher.call(name, { group_id: GROUP, ...given }, by(USER));
      assert.ok(!outcome.ok);
      assert.equal(outcome.error.code, code);
      assert.equal(outcome.error.details.field, field);
      assert.ok(outcome.error.message.startsWith(`'${field}' `), outcome.error.message);
    }
  });

  it("turns storage errors into refusals, anything else into internal_error without a trace of it", async () => {
    const log = new MemoryLog();
    const failing = (error: unknown) => async () => {
      throw error;
    };
    const system = (code: string) => Object.assign(new Error("secret path"), { code, syscall: "write" });
    const dispatcher = fakeDispatcher(
      {
        group_list: failing(system("ENOSPC")),
        daemon_status: failing(system("EIO")),
        health: failing(new Error("secret words")),
        whoami: failing(system("EFBIG")),
        access_token_list: () => {
          throw new TypeError("secret words");
        },
        remote_access_show: failing(new Refusal("conflict")),
      },
      { log },
    );
    const code = async (name: string) => {
      const outcome = await dispatcher.call(name, {}, by(USER));
      assert.ok(!outcome.ok);
      assert.ok(!JSON.stringify(outcome.error).includes("secret"));
      return outcome.error.code;
    };
    assert.equal(await code("group_list"), "storage_full");
    assert.equal(await code("daemon_status"), "storage_failed");
    assert.equal(await code("whoami"), "storage_full");
    assert.equal(await code("health"), "internal_error");
    assert.equal(await code("access_token_list"), "internal_error");
    assert.equal(await code("remote_access_show"), "conflict");
    assert.ok(!JSON.stringify(log.lines).includes("secret"), "nothing of a message reaches the log");
    assert.equal(log.lines.filter(({ fields }) => fields["request"] === "r-1").length, 5);
    assert.deepEqual(await dispatcher.call("no_such", {}, by(USER)), {
      ...(await dispatcher.call("toString", {}, by(USER))),
    });
  });

  it("holds writers of a Group and of the Home apart, and gives permits back after failures", async () => {
    const running: string[] = [];
    let most = 0;
    const slow = (name: string, fails: boolean) => async () => {
      running.push(name);
      most = Math.max(most, running.length);
      await new Promise((resolve) => setImmediate(resolve));
      running.splice(running.indexOf(name), 1);
      if (fails) throw new Error("x");
      return {};
    };
    const dispatcher = fakeDispatcher({
      group_update: slow("update", true),
      group_start: slow("start", false),
      send: slow("send", false),
      group_create: slow("create", true),
    });
    const many = (name: string, input: unknown) =>
      Array.from({ length: 5 }, async () => dispatcher.call(name, input, by(USER)));
    await Promise.all([
      ...many("group_update", { group_id: GROUP }),
      ...many("group_start", { group_id: GROUP }),
    ]);
    assert.equal(most, 1);
    most = 0;
    await Promise.all(many("send", { group_id: GROUP, text: "x" }));
    assert.equal(most, 5, "appends share the permit");
    most = 0;
    await Promise.all(many("group_create", { title: "x" }));
    assert.equal(most, 1);
    assert.deepEqual(running, []);
  });

  it("answers at once where nothing waits, and counts", () => {
    const dispatcher = fakeDispatcher({ whoami: () => ({}) });
    const outcome = dispatcher.call("whoami", {}, by(USER));
    assert.ok(!(outcome instanceof Promise) && outcome.ok);
    void dispatcher.call("whoami", { x: 1 }, by(USER));
    const { done, refused } = dispatcher.counts.get("whoami")!;
    assert.deepEqual([done, refused], [1, 1]);
  });

  it("refuses whoever waits for a permit when it closes, and whoever comes later", async () => {
    let finish = (): void => {};
    const dispatcher = fakeDispatcher({
      group_create: () => new Promise<void>((resolve) => (finish = resolve)),
    });
    const first = dispatcher.call("group_create", { title: "x" }, by(USER));
    const second = dispatcher.call("group_create", { title: "x" }, by(USER));
    await new Promise((resolve) => setImmediate(resolve));
    dispatcher.close();
    const refused = await second;
    assert.equal(refused.ok ? "" : refused.error.code, "shutting_down");
    const late = await dispatcher.call("send", { group_id: GROUP, text: "x" }, by(USER));
    assert.equal(late.ok ? "" : late.error.code, "shutting_down");
    finish();
    assert.ok((await first).ok);
  });

  it("finds a result that isn't what the contract says, when told to look", async () => {
    const dispatcher = fakeDispatcher({ whoami: () => ({ kind: "user" }) }, { checkOutputs: true });
    const outcome = await dispatcher.call("whoami", {}, by(USER));
    assert.equal(outcome.ok ? "" : outcome.error.code, "internal_error");
  });

  it("waits for a Group's writer with a permit that others hold", async () => {
    const mutex = new Mutex();
    const dispatcher = fakeDispatcher({ send: () => ({}) }, { permits: new Map([[GROUP, mutex]]) });
    const release = await mutex.acquireWrite();
    const outcome = dispatcher.call("send", { group_id: GROUP, text: "x" }, by(USER));
    assert.ok(outcome instanceof Promise);
    release();
    assert.ok((await outcome).ok);
  });
});
