/** What the extension knows and decides without the editor. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Claims } from "../../extension/daemon/claims.ts";
import { Instance } from "../../extension/daemon/instance.ts";
import { DaemonLink } from "../../extension/daemon/link.ts";
import { findProgram, launcherText } from "../../extension/daemon/program.ts";
import { runningActors } from "../../extension/daemon/running-actors.ts";
import { startDaemon, stopDaemon } from "../../extension/daemon/starting.ts";
import { compareVersions, versionNotice } from "../../extension/daemon/versions.ts";
import { waitingItems } from "../../extension/daemon/waiting.ts";
import { problemText, quotation, terminalQuotation } from "../../extension/editor/quotation.ts";
import { plain } from "../../extension/plain.ts";
import { statusOf } from "../../extension/views/status-words.ts";
import { PRODUCT_VERSION } from "../../shared/version.ts";
import { DIST, plainEnvironment } from "../support/daemon-process.ts";
import { until } from "../support/until.ts";

describe("a window's view of the daemon", function () {
  this.timeout(120_000);
  const folder = mkdtempSync(join(tmpdir(), "svc-window-"));
  const home = join(folder, "home");
  const link = new DaemonLink(home);
  const instance = new Instance({ call: (name, input) => link.client.result(name, input) });
  link.on("state", () => {
    if (link.state !== "online") instance.clear();
  });
  const places = {
    setting: join(DIST, "svc.cjs"),
    bundled: "",
    environment: { ...plainEnvironment(), SVC_WEB_PORT: "0" },
    execPath: process.execPath,
  };

  after(async () => {
    if (link.status !== null) await stopDaemon(link);
    link.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it("finds out that none runs, starts one, and sees the same one from a second start", async () => {
    link.open(instance);
    await until("it is absent", () => link.state === "absent");
    const program = await findProgram(places);
    assert.equal(program?.source, "setting");
    const [first, second] = await Promise.all([startDaemon(link, program), startDaemon(link, program)]);
    assert.equal(first.pid, second.pid);
    assert.equal(first.version, PRODUCT_VERSION);
    await until("everything is read", () => instance.loaded);
  });

  it("follows Groups, Actors and who waits, also over a kill of the daemon", async () => {
    const { client } = link;
    const { group_id: groupId } = await client.result("group_create", { title: "shop" });
    const { token_file: tokenFile } = await client.result("actor_add", {
      group_id: groupId,
      actor_id: "coder",
      runtime: "claude",
    });
    assert.ok(tokenFile);
    await until("the Actor is seen", () => instance.actor(groupId, "coder"));
    assert.deepEqual(waitingItems(instance), []);
    process.kill(link.status!.pid, "SIGKILL");
    await until("it is absent", () => link.state === "absent");
    assert.equal(instance.groups.length, 0);
    await startDaemon(link, (await findProgram(places))!);
    await until("the Actor is back", () => instance.actor(groupId, "coder"));
    await client.result("group_delete", { group_id: groupId, confirm: groupId });
    await until("the Group is gone", () => instance.groups.length === 0);
  });

  it("reads the connections when one begins or ceases to wait, and takes no answer to an earlier question", async () => {
    const answers: (() => void)[] = [];
    const other = new Instance({
      call: (name, input) =>
        name === "connect_direct_status"
          ? new Promise((resolve) => {
              const relations = [{ id: String(answers.length) }];
              answers.push(() => resolve({ relations } as never));
            })
          : link.client.result(name, input),
    });
    const item = { key: "n_1", kind: "connection" } as const;
    const request = { key: "n_2", kind: "request" } as const;
    other.needsYou([request]);
    assert.equal(answers.length, 0);
    other.needsYou([item]);
    other.needsYou([item, request]);
    other.needsYou([]);
    assert.equal(answers.length, 2);
    const [earlier, later] = [other.refreshConnections(), other.refreshConnections()];
    answers[3]!();
    await later;
    answers[2]!();
    await earlier;
    assert.deepEqual(
      other.relations.map(({ id }) => id),
      ["3"],
    );
  });

  it("reads the connections with the next change if they couldn't be read", async () => {
    let asked = 0;
    const other = new Instance({
      call: (name, input) => {
        if (name !== "connect_direct_status") return link.client.result(name, input);
        asked += 1;
        return asked === 1 ? Promise.reject(new Error("busy")) : link.client.result(name, input);
      },
    });
    const item = { key: "n_1", kind: "connection" } as const;
    other.needsYou([item]);
    await new Promise((resolve) => setImmediate(resolve));
    other.needsYou([item, { key: "n_2", kind: "request" }]);
    assert.equal(asked, 2);
    await new Promise<void>((resolve) => other.once("change", () => resolve()));
    other.needsYou([item]);
    assert.equal(asked, 2);
  });

  it("reads again what the daemon couldn't answer, and nothing that was forgotten meanwhile", async () => {
    const { client } = link;
    const { group_id: groupId } = await client.result("attach", { path: folder });
    let failing: string | null = "group_list";
    const asked: string[] = [];
    const other = new Instance(
      {
        call: (name, input) => {
          asked.push(name);
          return name === failing ? Promise.reject(new Error("busy")) : client.result(name, input);
        },
      },
      1,
    );
    other.restart();
    await until("it is asked again", () => asked.filter((name) => name === "group_list").length > 1);
    failing = "group_show";
    await until("the list is read", () => other.loaded);
    await until("a Group is asked for again", () => asked.filter((name) => name === failing).length > 1);
    assert.equal(other.find(groupId)?.scopes, null);
    failing = null;
    await until("its folders are read", () => other.find(groupId)?.scopes?.length === 1);
    failing = "group_list";
    await other.refresh();
    other.clear();
    const { length } = asked;
    // Later than the timer that was begun before it.
    await new Promise((resolve) => setTimeout(resolve, 2));
    assert.equal(asked.length, length);
    await client.result("group_delete", { group_id: groupId, confirm: groupId });
  });

  it("names the agents that end with an older daemon, as they call themselves and in plain text", async () => {
    const { client } = link;
    const { group_id: groupId } = await client.result("attach", { path: folder });
    await client.result("group_update", { group_id: groupId, title: "shop" });
    const program = { group_id: groupId, runtime: "custom", runner: "pty" } as const;
    const title = "Bob [x](command:y)";
    await client.result("actor_add", { ...program, command: ["/bin/cat"], actor_id: "bob", title });
    await client.result("actor_add", { ...program, command: ["/bin/cat"], actor_id: "idler" });
    await client.result("actor_start", { group_id: groupId, actor_id: "bob" });
    const running = await runningActors(client);
    assert.deepEqual(running, ["“Bob [x] (command:y)” in “shop”"]);
    assert.equal(
      versionNotice("0.4.9", running),
      `The running daemon of svc has version 0.4.9, this extension ${PRODUCT_VERSION}. Restarting it ends “Bob [x] (command:y)” in “shop”.`,
    );
    assert.match(versionNotice("0.4.9", []), new RegExp(`this extension ${PRODUCT_VERSION}\\.$`));
    assert.match(versionNotice("99.0.0", running), /Update the extension\.$/);
    await client.result("group_delete", { group_id: groupId, confirm: groupId });
  });

  it("refuses a program that isn't there, and one of another product", async () => {
    await assert.rejects(findProgram({ ...places, setting: join(folder, "none") }), /svc\.command/);
    await assert.rejects(findProgram({ ...places, setting: "svc" }), /svc\.command/);
    assert.equal(await findProgram({ ...places, setting: "", environment: { PATH: folder } }), null);
  });

  it("runs the bundled daemon with the editor's own runtime where there is no Node", async () => {
    const alone = join(folder, "alone");
    const other = new DaemonLink(alone);
    const none = () => {};
    other.open({ restart: none, group: none, gone: none, actors: none });
    try {
      const environment = { ...places.environment, PATH: folder, VSCODE_PID: "1", ELECTRON_NO_ASAR: "1" };
      const program = await findProgram({
        ...places,
        setting: "",
        bundled: join(DIST, "svc.cjs"),
        environment,
      });
      assert.equal(program?.source, "bundled");
      assert.equal(program.command, process.execPath);
      assert.deepEqual(
        Object.keys(program.environment).filter((name) => /^(?:VSCODE|ELECTRON)_/.test(name)),
        ["ELECTRON_RUN_AS_NODE"],
      );
      await startDaemon(other, program);
      const { group_id: groupId } = await other.client.result("group_create", { title: "shop" });
      await other.client.result("actor_add", { group_id: groupId, actor_id: "coder", runtime: "codex" });
      const { mcpServers } = await other.client.result("actor_mcp_config", {
        group_id: groupId,
        actor_id: "coder",
      });
      // Whoever starts it, with whatever environment, starts Node and no editor.
      assert.deepEqual(
        [mcpServers.svc.command, ...mcpServers.svc.args.slice(0, 2)],
        ["/usr/bin/env", "ELECTRON_RUN_AS_NODE=1", process.execPath],
      );
      const { command, args } = mcpServers.svc;
      const said = execFileSync(command, [...args.slice(0, -1), "--version"], { env: {}, encoding: "utf8" });
      assert.ok(said.includes(PRODUCT_VERSION), said);
      const launcher = join(folder, "it's svc");
      writeFileSync(launcher, launcherText(program, false), { mode: 0o755 });
      assert.equal(execFileSync(launcher, ["--version"], { env: {}, encoding: "utf8" }), said);
      assert.match(
        launcherText({ ...program, command: "C:\\100%\\node.exe" }, true),
        /^@echo off\r\nset ELECTRON_RUN_AS_NODE=1\r\n"C:\\100%%\\node\.exe" ".*svc\.cjs" %\*\r\n$/,
      );
    } finally {
      if (other.status !== null) await stopDaemon(other);
      other.close();
    }
  });

  it("tells an older daemon from a newer one", () => {
    assert.ok(compareVersions("0.4.9", "0.5.0") < 0);
    assert.ok(compareVersions("0.10.0", "0.9.9") > 0);
    assert.ok(compareVersions("1.0.0", "0.9.9") > 0);
    assert.equal(compareVersions("0.5.0-rc.1", "0.5.0"), 0);
  });

  it("does once what several windows could do", () => {
    const place = join(folder, "claims");
    const [one, other] = [new Claims(place), new Claims(place)];
    assert.deepEqual(
      [one.claim("a"), other.claim("a"), other.claim("b"), one.claim("b")],
      [true, false, true, false],
    );
    const dayAgo = Date.now() / 1000 - 25 * 3600;
    for (const name of readdirSync(place)) utimesSync(join(place, name), dayAgo, dayAgo);
    assert.equal(new Claims(place).claim("a"), true);
  });

  it("quotes in a fence that the text can't close", () => {
    const quoted = {
      path: "src/a.ts",
      firstLine: 3,
      lastLine: 4,
      language: "typescript",
      text: "a\n```\nb\n",
    };
    assert.equal(quotation(quoted), "src/a.ts:3-4\n\n````typescript\na\n```\nb\n````\n\n");
    assert.match(
      quotation({ ...quoted, version: "before the change" }),
      /^src\/a\.ts:3-4 \(before the change\)\n/,
    );
    assert.equal(
      terminalQuotation("bash", "$ ls   \r\na ```` b  \n"),
      "From the terminal bash:\n\n`````\n$ ls\na ```` b\n`````\n\n",
    );
    assert.equal(problemText({ ...quoted, lastLine: 3 }, "bad"), "src/a.ts:3: bad\n\n");
    assert.throws(() => quotation({ ...quoted, text: "x".repeat(70_000) }), /too long/);
  });

  it("says in the status bar what the daemon and the Actors do, and what a click is for", () => {
    const said = (state: "absent" | "connecting" | "online", loaded = true, working = 0, attention = 0) => {
      const words = statusOf({ state }, { loaded, attention, count: () => working });
      return [words.text, words.command, words.isUrgent];
    };
    assert.deepEqual(said("absent"), ["$(circle-slash) svc", "svc.startDaemon", false]);
    assert.deepEqual(said("connecting"), ["$(loading) svc", undefined, false]);
    assert.deepEqual(said("online", false), ["$(loading) svc", undefined, false]);
    assert.deepEqual(said("online"), ["$(comment-discussion) svc", "svc.showNeedsYou", false]);
    assert.deepEqual(said("online", true, 2), [
      "$(comment-discussion) svc: 2 working",
      "svc.showNeedsYou",
      false,
    ]);
    assert.deepEqual(said("online", true, 2, 1), [
      "$(bell-dot) svc: 2 working, 1 waits",
      "svc.showNeedsYou",
      true,
    ]);
    assert.deepEqual(said("online", true, 0, 3), ["$(bell-dot) svc: 3 wait", "svc.showNeedsYou", true]);
  });

  it("makes neither icons nor command links of others' names", () => {
    assert.equal(plain("$(bell) [a](command:x)\n\u202Eb"), "$ (bell) [a] (command:x) \ufffdb");
  });
});
