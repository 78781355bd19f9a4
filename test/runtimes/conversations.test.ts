/** What a restart keeps: the conversation of the agent, and why its process ended. */

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { homePaths } from "../../client/paths.ts";
import { until } from "../support/until.ts";

import { type AgentOptions, Setting } from "./setting.ts";

describe("conversations", () => {
  let setting: Setting;
  beforeEach(async () => {
    setting = await Setting.open();
  });
  afterEach(() => setting.close());

  const starts = (actorId: string) =>
    setting.notes(actorId).flatMap(({ start }) => (start === undefined ? [] : [start]));
  const resumedIn = (args: string[]) => {
    const at = args.indexOf("--resume");
    return at < 0 ? null : args[at + 1]!;
  };
  const file = (actorId: string) => {
    const found = readdirSync(setting.root).find((name) => name.startsWith(`${actorId}.log.`));
    return join(setting.root, found!);
  };
  const begin = async (actorId: string, more = {}) =>
    (await setting.client.result("actor_start", { group_id: setting.group_id, actor_id: actorId, ...more }))
      .conversation;
  const restart = async (actorId: string, more = {}) =>
    (await setting.client.result("actor_restart", { group_id: setting.group_id, actor_id: actorId, ...more }))
      .conversation;
  const stop = (actorId: string) =>
    setting.client.result("actor_stop", { group_id: setting.group_id, actor_id: actorId });

  /** An Actor that has had one prompt. Its session. */
  async function spokenTo(actorId: string, agent: AgentOptions = {}): Promise<string> {
    await setting.add(actorId, { keeps: true, ...agent });
    assert.deepEqual(await begin(actorId), { continued: false, lost: "" });
    const { id } = await setting.send("hello", [actorId]);
    await setting.reaches(id, actorId, "accepted");
    await setting.becomes(actorId, "idle");
    return /[0-9a-f-]{36}/.exec(file(actorId))?.[0] ?? "";
  }

  it("go on at a start, a restart and a start of the daemon, unless a new one is wanted", async () => {
    const session = await spokenTo("ann");
    await stop("ann");
    assert.deepEqual(await begin("ann"), { continued: true, lost: "" });
    await until("it runs", () => starts("ann").length === 2);
    assert.deepEqual(await restart("ann"), { continued: true, lost: "" });
    await until("it runs", () => starts("ann").length === 3);
    await setting.stop();
    await setting.start();
    assert.deepEqual(await begin("ann"), { continued: true, lost: "" });
    await until("it runs", () => starts("ann").length === 4);
    assert.deepEqual(starts("ann").map(resumedIn), [null, session, session, session]);
    assert.deepEqual(await restart("ann", { new_conversation: true }), { continued: false, lost: "" });
    await until("it runs", () => starts("ann").length === 5);
    await stop("ann");
    assert.deepEqual(await begin("ann", { new_conversation: true }), { continued: false, lost: "" });
    await until("it runs", () => starts("ann").length === 6);
    assert.deepEqual(starts("ann").map(resumedIn).slice(4), [null, null]);
    assert.deepEqual(
      (await setting.events("actor.start")).filter(({ data }) => data["reason"] === "new_conversation"),
      [],
    );
  });

  it("begin anew where nothing was said before, and say nothing of it", async () => {
    await setting.add("ann", { keeps: true });
    await begin("ann");
    await setting.becomes("ann", "idle");
    assert.deepEqual(await restart("ann"), { continued: false, lost: "" });
  });

  it("begin anew where the last one can't be continued, and say why", async () => {
    await spokenTo("ann");
    rmSync(file("ann"));
    assert.deepEqual(await restart("ann"), { continued: false, lost: "its file is gone" });
    await spokenTo("bob");
    const other = join(setting.root, "other");
    mkdirSync(other);
    const { group_id: groupId } = setting;
    const { scope_key: scopeKey } = await setting.client.result("attach", { group_id: groupId, path: other });
    await setting.client.result("actor_update", { group_id: groupId, actor_id: "bob", scope_key: scopeKey });
    assert.deepEqual(await restart("bob"), { continued: false, lost: "it belongs to another folder" });
    const told = (await setting.events("actor.start")).filter(({ data }) => "detail" in data);
    assert.deepEqual(
      told.map(({ data }) => [data["actor_id"], data["reason"], data["detail"]]),
      [
        ["ann", "new_conversation", "its file is gone"],
        ["bob", "new_conversation", "it belongs to another folder"],
      ],
    );
  });

  it("begin anew where the agent itself doesn't find the last one", async () => {
    const session = await spokenTo("ann");
    writeFileSync(`${setting.log("ann")}.lost`, "");
    assert.deepEqual(await restart("ann"), { continued: true, lost: "" });
    const { id } = await setting.send("again", ["ann"]);
    await setting.reaches(id, "ann", "accepted");
    assert.deepEqual(starts("ann").map(resumedIn), [null, session, null]);
    const told = (await setting.events("actor.start")).at(-1)!.data;
    assert.equal(told["detail"], "its agent didn't continue it and exited with code 1");
    // Once: an agent that can't start at all isn't started over and over.
    assert.equal((await setting.events("actor.stop")).length, 1);
  });

  it("aren't named by what a hook says, unless it is the id of a session", async () => {
    for (const [actorId, sessionId] of [
      ["ann", "--dangerously-skip-permissions"],
      ["bob", "../../../../etc/passwd"],
      ["eve", "11111111-2222-4333-8444-55555555555G"],
    ] as const) {
      await setting.add(actorId, { keeps: true, sessionId });
      await begin(actorId);
      await until("it runs", () => starts(actorId).length === 1);
      await setting.send("hello", [actorId]);
      await until("it has read the prompt", () => setting.prompts(actorId).length === 1);
      await restart(actorId);
      await until("it runs", () => starts(actorId).length === 2);
      assert.equal(resumedIn(starts(actorId)[1]!), null);
      assert.ok(!starts(actorId)[1]!.join(" ").includes(sessionId));
    }
  });

  it("are the person's own choice where the command names one", async () => {
    await setting.add(
      "ann",
      { keeps: true },
      { command: [join(setting.bin, "claude"), "--session-id", "x"] },
    );
    await begin("ann");
    const { id } = await setting.send("hello", ["ann"]);
    await setting.reaches(id, "ann", "accepted");
    assert.deepEqual(await restart("ann"), { continued: false, lost: "" });
  });

  it("leave with their Actor", async () => {
    await spokenTo("ann");
    const { runs } = homePaths(setting.home).group(setting.group_id);
    assert.deepEqual(readdirSync(runs), ["ann.json"]);
    await setting.client.result("actor_remove", { group_id: setting.group_id, actor_id: "ann" });
    await until("its process has ended", () => !existsSync(join(runs, "ann.json")));
    await setting.stop();
    assert.deepEqual(readdirSync(runs), []);
    await setting.start();
  });

  it("end for a reason that their Actor's row gives, also after the daemon", async () => {
    await spokenTo("ann");
    await stop("ann");
    assert.equal((await setting.presence("ann")).reason, "stopped by a person");
    await begin("ann");
    await setting.becomes("ann", "idle");
    const { pid } = JSON.parse(
      readFileSync(homePaths(setting.home).group(setting.group_id).launchFile("ann"), "utf8"),
    ) as { pid: number };
    process.kill(pid, "SIGKILL");
    await setting.becomes("ann", "stopped");
    assert.equal((await setting.presence("ann")).reason, "ended by signal SIGKILL");
    await setting.stop();
    await setting.start();
    assert.equal((await setting.presence("ann")).reason, "ended by signal SIGKILL");
    await begin("ann");
    await setting.becomes("ann", "idle");
    await setting.stop();
    await setting.start();
    assert.equal((await setting.presence("ann")).reason, "the daemon stopped");
    await setting.add("none", {}, { command: [join(setting.bin, "missing")] });
    const { group_id: groupId } = setting;
    await setting.client.result("group_update", { group_id: groupId, settings: { start_actors: true } });
    await setting.stop();
    await setting.start();
    const reason = async () => (await setting.presence("none")).reason;
    await until("it is tried", async () => (await reason()) !== "not running");
    assert.match(await reason(), /^couldn't be started: .*missing/);
  });
});
