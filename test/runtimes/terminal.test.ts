import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { RealProcesses } from "../../platform/real-processes.ts";
import { until } from "../support/until.ts";

import { Setting } from "./setting.ts";
import { TerminalClient } from "./terminal-client.ts";

describe("terminals", () => {
  let setting: Setting;
  let token: string;
  before(async () => {
    setting = await Setting.open();
    ({ token } = await setting.client.result("access_token_create", { name: "test" }));
  });
  after(() => setting.close());

  function attach(actorId: string, credential = token): Promise<TerminalClient> {
    const origin = setting.daemon.webOrigin!.replace("http", "ws");
    const url = `${origin}/api/v1/groups/${setting.group_id}/actors/${actorId}/term`;
    return new TerminalClient(url, { authorization: `Bearer ${credential}` }).opened();
  }

  async function shell(actorId: string, script: string): Promise<void> {
    await setting.client.result("actor_add", {
      group_id: setting.group_id,
      actor_id: actorId,
      runner: "pty",
      command: ["/bin/sh", "-c", script],
    });
  }

  it("show their screen to whoever comes later, then what follows", async () => {
    await shell("greeter", "printf 'first \\033[1mbold\\033[0m\\n'; read line; echo \"got $line\"; sleep 60");
    const early = await attach("greeter");
    assert.deepEqual(await early.message("screen").then(({ running, reason }) => [running, reason]), [
      false,
      "not running",
    ]);
    await setting.startActor("greeter");
    await early.shows("bold");
    const late = await attach("greeter");
    const screen = await late.message("screen");
    assert.match(screen.data, /first .*bold/);
    assert.deepEqual([screen.columns, screen.rows, screen.running, screen.writer], [120, 32, true, "nobody"]);
    late.send({ type: "take" });
    late.send({ type: "input", data: "hello\r" });
    await Promise.all([early.shows("got hello"), late.shows("got hello")]);
    early.close();
    late.close();
  });

  it("have one writer at a time, who is seen to be taken over", async () => {
    await setting.add("shared");
    await setting.startActor("shared");
    const one = await attach("shared");
    const other = await attach("shared");
    await one.shows("ready>");
    one.send({ type: "input", data: "a" });
    assert.equal((await one.message("error")).error.code, "permission_denied");
    one.send({ type: "take" });
    await one.message("writer", ({ writer }) => writer === "you");
    await other.message("writer", ({ writer }) => writer === "another");
    one.send({ type: "resize", columns: 90, rows: 20 });
    await other.message("size", ({ columns, rows }) => columns === 90 && rows === 20);
    await until("the process knows", () => setting.notes("shared").some(({ columns }) => columns === 90));
    other.send({ type: "take" });
    await one.message("writer", ({ writer }) => writer === "another");
    other.send({ type: "input", data: "b" });
    await until("the other's key arrives", () => setting.notes("shared").some(({ bytes }) => bytes === "b"));
    assert.ok(!setting.notes("shared").some(({ bytes }) => bytes === "a"));
    other.close();
    await one.message("writer", ({ writer }) => writer === "nobody");
    one.close();
  });

  it("have the size of the writer's window, and after it of one that is still there", async () => {
    await setting.add("fitted");
    await setting.startActor("fitted");
    const inbox = await attach("fitted");
    await inbox.shows("ready>");
    inbox.send({ type: "resize", columns: 150, rows: 40 });
    await inbox.message("size", ({ columns, rows }) => columns === 150 && rows === 40);
    const phone = await attach("fitted");
    // Who only looks changes nothing for the others.
    phone.send({ type: "resize", columns: 44, rows: 30 });
    phone.send({ type: "take" });
    await inbox.message("size", ({ columns, rows }) => columns === 44 && rows === 30);
    await until("the process knows", () => setting.notes("fitted").some(({ columns }) => columns === 44));
    inbox.send({ type: "resize", columns: 160, rows: 41 });
    assert.deepEqual(
      inbox.messages.flatMap((one) => (one.type === "size" ? [one.columns] : [])),
      [150, 44],
    );
    phone.close();
    await inbox.message("size", ({ columns, rows }) => columns === 160 && rows === 41);
    await until("the process knows", () => setting.notes("fitted").at(-1)?.columns === 160);
    inbox.close();
  });

  it("have their usual size again when the last window has left, however small it was", async () => {
    await setting.add("left");
    await setting.startActor("left");
    const silent = await attach("left");
    const small = await attach("left");
    await small.shows("ready>");
    small.send({ type: "take" });
    small.send({ type: "resize", columns: 110, rows: 6 });
    await until("the process knows", () => setting.notes("left").some(({ columns }) => columns === 110));
    // Who never said how large a window is left keeps nobody's size.
    small.close();
    await silent.message("size", ({ rows }) => rows === 32);
    await until("the process knows", () => setting.notes("left").at(-1)?.columns === 120);
    silent.close();
  });

  it("keep the size while a window is loaded again", async () => {
    await setting.add("loaded");
    await setting.startActor("loaded");
    const before = await attach("loaded");
    await before.shows("ready>");
    before.send({ type: "take" });
    before.send({ type: "resize", columns: 140, rows: 50 });
    await until("the process knows", () => setting.notes("loaded").some(({ columns }) => columns === 140));
    before.close();
    const after = await attach("loaded");
    const { columns, rows } = await after.message("screen");
    assert.deepEqual([columns, rows], [140, 50]);
    after.send({ type: "resize", columns: 141, rows: 51 });
    await after.message("size", (size) => size.rows === 51);
    await until("the process knows", () => setting.notes("loaded").at(-1)?.columns === 141);
    const sizes = setting.notes("loaded").flatMap((note) => note.columns ?? []);
    assert.deepEqual(sizes, [120, 140, 141]);
    after.close();
  });

  it("record how a process ended, and begin anew with the next", async () => {
    await setting.add("mortal");
    await setting.startActor("mortal");
    const viewer = await attach("mortal");
    await viewer.shows("ready>");
    viewer.send({ type: "take" });
    viewer.send({ type: "input", data: "q" });
    assert.equal((await viewer.message("ended")).reason, "exited with code 7");
    const [stopped] = (await setting.events("actor.stop")).slice(-1);
    assert.deepEqual(stopped!.data, {
      actor_id: "mortal",
      reason: "process_exit",
      exit_code: 7,
      signal: null,
    });
    assert.deepEqual(await setting.presence("mortal").then(({ state, reason }) => [state, reason]), [
      "stopped",
      "exited with code 7",
    ]);
    const { actor } = await setting.client.result("actor_show", {
      group_id: setting.group_id,
      actor_id: "mortal",
    });
    assert.equal(actor.enabled, true);
    const screens = viewer.screens.length;
    await setting.startActor("mortal");
    await until("a new screen", () => viewer.screens.length > screens);
    await viewer.shows("ready>");
    viewer.close();
  });

  it("show a process's last output before they say that it has ended, and afterwards", async () => {
    for (const lines of [1, 700, 2500, 60_000]) {
      const actorId = `last-${lines}`;
      await shell(actorId, `seq 1 ${lines}; echo its last words; exit 3`);
      const watching = await attach(actorId);
      await watching.message("screen");
      await setting.startActor(actorId);
      assert.equal((await watching.message("ended")).reason, "exited with code 3");
      const seen = (watching.screens.at(-1)?.data ?? "") + watching.output;
      assert.match(seen, /its last words/, `${lines} lines`);
      const late = await attach(actorId);
      assert.match((await late.message("screen")).data, /its last words/, `${lines} lines, later`);
      watching.close();
      late.close();
    }
  });

  it("give who falls behind a fresh screen, and keep nothing for them", async () => {
    await shell("flood", "read line; seq 1 400000; echo the end; sleep 60");
    await setting.startActor("flood");
    const slow = await attach("flood");
    await slow.message("screen");
    slow.acknowledges = false;
    const quick = await attach("flood");
    quick.send({ type: "take" });
    quick.send({ type: "input", data: "go\r" });
    await quick.shows("the end");
    assert.ok(slow.outputBytes <= 512 * 1024, `${slow.outputBytes} bytes without acknowledgement`);
    const before = slow.screens.length;
    slow.acknowledges = true;
    slow.send({ type: "ack", bytes: 10_000_000 });
    await until("a fresh screen", () => slow.screens.length > before);
    await slow.shows("the end");
    slow.close();
    quick.close();
  });

  it("end politely, then firmly, with everything that descends from them", async () => {
    await setting.add("stubborn", { ignoreTerm: true });
    await setting.startActor("stubborn");
    await until("it runs", () => setting.notes("stubborn").length > 0);
    const { pid } = setting.notes("stubborn")[0]!;
    await shell("parent", "setsid sleep 1000 & echo $! > child; trap '' HUP; wait");
    await setting.startActor("parent");
    const file = join(setting.project, "child");
    const child = await until("it has a child", () =>
      existsSync(file) ? Number(readFileSync(file, "utf8")) || null : null,
    );
    await Promise.all(
      ["stubborn", "parent"].map((actorId) =>
        setting.client.result("actor_stop", { group_id: setting.group_id, actor_id: actorId }),
      ),
    );
    const processes = new RealProcesses();
    assert.deepEqual([processes.birthOf(pid!), processes.birthOf(child)], [null, null]);
    assert.ok(setting.notes("stubborn").some(({ signal }) => signal === "SIGTERM"));
    const { actor } = await setting.client.result("actor_show", {
      group_id: setting.group_id,
      actor_id: "parent",
    });
    assert.equal(actor.enabled, false);
  });

  it("are for the user alone", async () => {
    const { token: member } = await setting.client.result("access_token_create", {
      name: "member",
      groups: [setting.group_id],
    });
    await assert.rejects(attach("greeter", member), /refused with 403/);
    await assert.rejects(attach("greeter", "nobody"), /refused with 401/);
    const external = await setting.client.result("actor_add", {
      group_id: setting.group_id,
      actor_id: "outside",
    });
    assert.equal(external.actor.runner, "external");
    assert.equal((await (await attach("outside")).message("error")).error.code, "runner_mismatch");
  });

  it("start only in an attached directory, with a program that is there", async () => {
    const group = await setting.client.result("group_create", { title: "nowhere" });
    const add = { group_id: group.group_id, actor_id: "a", runner: "pty" as const, command: ["/bin/true"] };
    await setting.client.result("actor_add", add);
    const refused = await setting.client.call("actor_start", { group_id: group.group_id, actor_id: "a" });
    assert.equal(!refused.ok && refused.error.code, "scope_not_attached");
    await setting.client.result("actor_add", {
      ...add,
      group_id: setting.group_id,
      actor_id: "missing",
      command: [join(setting.root, "not-there")],
    });
    const other = await setting.client.call("actor_start", {
      group_id: setting.group_id,
      actor_id: "missing",
    });
    assert.ok(!other.ok);
    assert.equal(other.error.code, "runtime_not_installed");
    assert.match(other.error.message, /not-there" isn't on this machine/);
  });
});
