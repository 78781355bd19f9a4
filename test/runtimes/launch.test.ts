import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DaemonClient } from "../../client/client.ts";
import { launchToken } from "../../client/identity.ts";
import { homePaths } from "../../client/paths.ts";
import type { OpenGroup } from "../../daemon/groups/group.ts";
import { LiveLaunches, type LiveLaunchesDependencies } from "../../daemon/runtimes/launch/live-launches.ts";
import { ProcessEnds } from "../../daemon/runtimes/launch/process-end.ts";
import { RealClock } from "../../platform/real-clock.ts";
import { RealProcesses } from "../../platform/real-processes.ts";
import type { StoredActor } from "../../shared/model.ts";
import { verifies } from "../requirements.ts";
import { DaemonProcess } from "../support/daemon-process.ts";
import { until } from "../support/until.ts";
import { Setting } from "./setting.ts";

const SOURCES = ["--import", "tsx", join(import.meta.dirname, "../../daemon/main.ts")];

describe("launches", () => {
  let setting: Setting;
  beforeEach(async () => {
    setting = await Setting.open();
  });
  afterEach(() => setting.close());

  async function started(actorId: string) {
    await setting.startActor(actorId);
    await until("it runs", () => setting.notes(actorId).length > 0);
    return setting.notes(actorId).at(-1)!;
  }

  function tokenOf(note: { environment?: Record<string, string> }): string {
    return launchToken(note.environment)!;
  }

  async function speaks(token: string): Promise<string> {
    const client = new DaemonClient(setting.home, token);
    try {
      const answer = await client.call("bootstrap", { group_id: setting.group_id });
      return answer.ok ? "yes" : answer.error.code;
    } finally {
      client.close();
    }
  }

  it("take no run without a person for theirs", async () => {
    const unattended = { CI: "true", CONTINUOUS_INTEGRATION: "1", GITHUB_ACTIONS: "true", CI_JOB_ID: "7" };
    const before = { ...process.env };
    Object.assign(process.env, unattended);
    try {
      await setting.add("drawing", {}, { env: { CI_JOB_ID: "its own" } });
      await setting.client.result("actor_start", { group_id: setting.group_id, actor_id: "drawing" });
      const { environment = {} } = await started("drawing");
      const left = Object.keys(unattended).filter((name) => environment[name] !== undefined);
      assert.deepEqual([left, environment["CI_JOB_ID"]], [["CI_JOB_ID"], "its own"]);
    } finally {
      for (const name of Object.keys(unattended)) delete process.env[name];
      Object.assign(process.env, before);
    }
  });

  it("give the process its directory, environment and hooks, and nothing of the daemon's own", async () => {
    verifies("HOOK-001");
    await setting.add("env", {}, { env: { MINE: "public", BOTH: "public", SVC_ACTOR_ID: "forged" } });
    const secret = "private-value-7f3a";
    await setting.client.result("actor_secrets", {
      group_id: setting.group_id,
      actor_id: "env",
      set: { BOTH: secret },
    });
    const { cwd, start, environment = {} } = await started("env");
    assert.equal(cwd, setting.project);
    assert.deepEqual(
      [environment["MINE"], environment["BOTH"], environment["SVC_HOME"], environment["SVC_GROUP_ID"]],
      ["public", secret, setting.home, setting.group_id],
    );
    assert.equal(environment["SVC_ACTOR_ID"], "env");
    assert.ok(environment["PATH"]);
    assert.equal(environment["CLAUDE_CODE_DISABLE_FILE_MENTIONS"], "1");
    const token = launchToken(environment)!;
    assert.ok(!JSON.stringify(start).includes(token), "no token in the arguments");
    assert.ok(!JSON.stringify(environment).includes(token), "none in what an agent's `env` prints");
    const file = homePaths(setting.home).group(setting.group_id).tokenFile("env");
    assert.deepEqual([environment["SVC_ACTOR_FILE"], statSync(file).mode & 0o777], [file, 0o600]);
    const settings = JSON.parse(start![start!.indexOf("--settings") + 1]!) as {
      hooks: Record<string, [{ hooks: [object] }]>;
    };
    assert.ok("UserPromptSubmit" in settings.hooks && "PermissionRequest" in settings.hooks);
    // An older Claude overlooks arguments: a shell without them would run the event, and the prompt
    // in it.
    for (const [{ hooks }] of Object.values(settings.hooks)) {
      assert.deepEqual(Object.keys(hooks[0]), ["type", "command", "timeout"]);
    }
    const servers = JSON.parse(start![start!.indexOf("--mcp-config") + 1]!) as {
      mcpServers: { svc: { env: Record<string, string> } };
    };
    assert.equal(servers.mcpServers.svc.env["SVC_ACTOR_FILE"], file);
    const answers = await Promise.all([
      setting.client.result("actor_show", { group_id: setting.group_id, actor_id: "env" }),
      setting.client.result("group_show", { group_id: setting.group_id }),
      setting.events("actor.secrets"),
    ]);
    const log = readFileSync(homePaths(setting.home).daemon.log, "utf8");
    const ledger = JSON.stringify(
      (await setting.client.result("ledger_tail", { group_id: setting.group_id })).events,
    );
    for (const text of [JSON.stringify(answers), log, ledger]) {
      assert.ok(!text.includes(secret) && !text.includes(token));
    }
  });

  it("name to Claude only the hooks that its version knows: an old one drops them all otherwise", async () => {
    const agent = join(setting.bin, "claude");
    const asIs = readFileSync(agent, "utf8");
    const hooksOf = async (actorId: string, version: string) => {
      const shell = `#!/bin/sh\n[ "$1" = --version ] && { echo "${version} (Claude Code)"; exit; }\n`;
      writeFileSync(agent, asIs.replace("#!/bin/sh\n", shell));
      await setting.add(actorId);
      const { start } = await started(actorId);
      const { hooks } = JSON.parse(start![start!.indexOf("--settings") + 1]!) as { hooks: object };
      return Object.keys(hooks);
    };
    try {
      const all = await hooksOf("newest", "2.1.330");
      assert.ok(all.includes("PostToolBatch") && all.includes("StopFailure"));
      // The program was updated in place, or back.
      const older = await hooksOf("older", "2.1.100");
      assert.deepEqual(
        all.filter((event) => !older.includes(event)),
        ["PostToolBatch"],
      );
      assert.deepEqual(
        all.filter((event) => !["PostToolBatch", "StopFailure"].includes(event)),
        await hooksOf("oldest", "2.0.9"),
      );
    } finally {
      writeFileSync(agent, asIs);
    }
  });

  it("are proven by a token that is worth something only while their process lives", async () => {
    await setting.add("one");
    const first = tokenOf(await started("one"));
    assert.equal(await speaks(first), "yes");
    await setting.client.result("actor_restart", { group_id: setting.group_id, actor_id: "one" });
    await until(
      "it runs again",
      () => setting.notes("one").filter(({ pid }) => pid !== undefined).length === 2,
    );
    const second = tokenOf(setting.notes("one").findLast(({ pid }) => pid !== undefined)!);
    assert.notEqual(first, second);
    assert.deepEqual([await speaks(first), await speaks(second)], ["invalid_launch_token", "yes"]);
    await setting.client.result("actor_stop", { group_id: setting.group_id, actor_id: "one" });
    assert.equal(await speaks(second), "invalid_launch_token");
    const paths = homePaths(setting.home).group(setting.group_id);
    for (const folder of [paths.tokens, paths.launches, paths.hooks])
      assert.deepEqual(readdirSync(folder), []);
  });

  it("of an Actor that was removed end with the daemon at the latest, and leave the next one its token", async () => {
    const { group_id: groupId, client } = setting;
    await setting.add("twice", { ignoreTerm: true });
    const { pid } = await started("twice");
    await client.result("actor_remove", { group_id: groupId, actor_id: "twice" });
    const next = await client.result("actor_add", { group_id: groupId, actor_id: "twice" });
    assert.notEqual(new RealProcesses().birthOf(pid!), null, "it takes its time");
    await setting.stop();
    assert.equal(new RealProcesses().birthOf(pid!), null);
    await setting.start();
    assert.equal(await speaks(launchToken({ SVC_ACTOR_FILE: next.token_file })!), "yes");
  });

  it("of an Actor with the id of a removed one begin when that one's process has ended", async () => {
    await setting.add("again", { ignoreTerm: true });
    const { pid } = await started("again");
    await setting.client.result("actor_remove", { group_id: setting.group_id, actor_id: "again" });
    await setting.add("again");
    const starting = setting.startActor("again");
    await until("it was asked to end", () =>
      setting.notes("again").some(({ signal }) => signal !== undefined),
    );
    assert.equal(setting.notes("again").filter((note) => note.pid !== undefined).length, 1);
    process.kill(pid!, "SIGKILL");
    await starting;
    assert.equal(new RealProcesses().birthOf(pid!), null);
    await until("it is ready", async () => (await setting.presence("again")).state === "idle");
    assert.equal(
      await speaks(tokenOf(setting.notes("again").findLast((note) => note.pid !== undefined)!)),
      "yes",
    );
  });

  it("of Actors that were removed one after the other with one id all end with the daemon", async () => {
    const launches = new LiveLaunches({ clock: new RealClock() } as LiveLaunchesDependencies);
    const group = { group_id: setting.group_id } as OpenGroup;
    const left = (): string[] => launches.leaving().map(({ generation }) => generation);
    const ends = ["first", "second"].map((generation) => {
      const slot = launches.slot(group, { id: "one", generation } as StoredActor);
      let resolve = (): void => {};
      const promise = new Promise<void>((end) => (resolve = end));
      launches.drop(slot, promise);
      return { promise, resolve };
    });
    assert.deepEqual(left(), ["first", "second"]);
    ends[1]!.resolve();
    await ends[1]!.promise;
    assert.deepEqual(left(), ["first"]);
  });

  it("that have ended are signalled no more: their pid may be another process's", async () => {
    const sent: number[] = [];
    class Watched extends RealProcesses {
      override signal(pid: number): boolean {
        sent.push(pid);
        return true;
      }
    }
    const ends = new ProcessEnds(new Watched(), new RealClock());
    const { pid } = process;
    await ends.end({ pid, birth: `another than ${pid}`, mark: "" }, "SIGTERM", Promise.resolve());
    assert.deepEqual(sent, []);
  });

  it("aren't believed when their committed identity is damaged or another's", async () => {
    verifies("WRK-003", "WRK-007");
    await setting.add("doubted");
    await started("doubted");
    await until("it is ready", async () => (await setting.presence("doubted")).state === "idle");
    const file = homePaths(setting.home).group(setting.group_id).launchFile("doubted");
    const stored = readFileSync(file, "utf8");
    writeFileSync(file, stored.slice(0, 40));
    await until("doubt", async () => (await setting.presence("doubted")).state === "unavailable");
    writeFileSync(file, stored.replace(/"pid": \d+/, '"pid": 1'));
    await until("doubt", async () => (await setting.presence("doubted")).reason.includes("another process"));
    writeFileSync(file, stored);
    await until("belief", async () => (await setting.presence("doubted")).state === "idle");
  });

  it("end with the daemon, and begin again with it only where the Group says so", async () => {
    verifies("WRK-004");
    await setting.add("worker");
    const { pid } = await started("worker");
    await setting.stop();
    assert.equal(new RealProcesses().birthOf(pid!), null);
    await setting.start();
    assert.equal((await setting.presence("worker")).state, "stopped");
    assert.equal((await setting.events("actor.stop")).at(-1)!.data["reason"], "daemon_stop");
    await setting.client.result("group_update", {
      group_id: setting.group_id,
      settings: { start_actors: true },
    });
    await setting.stop();
    await setting.start();
    await until(
      "it runs again",
      () => setting.notes("worker").filter((note) => note.pid !== undefined).length === 2,
    );
  });

  it("that a killed daemon left behind are ended, and their claims unconfirmed", async () => {
    await setting.add("orphan", { silent: true, ignoreTerm: true });
    await setting.stop();
    const daemon = await DaemonProcess.started({ home: setting.home, program: SOURCES });
    const user = daemon.client();
    const { group_id: groupId } = setting;
    await user.result("actor_start", { group_id: groupId, actor_id: "orphan" });
    const { event } = await user.result("send", { group_id: groupId, text: "hello", to: ["orphan"] });
    await until("it read the prompt", () => setting.prompts("orphan").length === 1);
    const pid = setting.notes("orphan").find((note) => note.pid !== undefined)!.pid!;
    await daemon.kill();
    const processes = new RealProcesses();
    assert.notEqual(processes.birthOf(pid), null, "it ignores the end of its terminal");
    await setting.start();
    assert.equal(processes.birthOf(pid), null);
    const { state, reason } = await setting.status(event.id, "orphan");
    assert.deepEqual([state, reason], ["ambiguous", "daemon_ended"]);
    assert.equal((await setting.presence("orphan")).state, "stopped");
    await setting.startActor("orphan");
    await until(
      "it runs again",
      () => setting.notes("orphan").filter((note) => note.pid !== undefined).length === 2,
    );
    assert.equal(setting.prompts("orphan").length, 1, "nothing is sent again by itself");
  });

  for (const how of ["is killed", "is stopped", "loses its daemon"]) {
    it(`leave nothing behind when the process ${how}, not even what has a session of its own`, async () => {
      const name = how.replaceAll(" ", "-");
      await setting.add(name, { leaves: true });
      let daemon: DaemonProcess | null = null;
      if (how === "loses its daemon") {
        await setting.stop();
        daemon = await DaemonProcess.started({ home: setting.home, program: SOURCES });
        await daemon.client().result("actor_start", { group_id: setting.group_id, actor_id: name });
        await until("it runs", () => setting.notes(name).length > 0);
      } else await started(name);
      const { pid } = setting.notes(name).find((note) => note.pid !== undefined)!;
      const left = await until(
        "its tool runs",
        () => setting.notes(name).find((note) => note.left !== undefined)?.left ?? null,
      );
      const processes = new RealProcesses();
      assert.notEqual(processes.birthOf(left), null);
      if (daemon !== null) {
        await daemon.kill();
        await setting.start();
      } else if (how === "is killed") process.kill(pid!, "SIGKILL");
      else await setting.client.result("actor_stop", { group_id: setting.group_id, actor_id: name });
      await until("its tool has ended", () => processes.birthOf(left) === null);
    });
  }

  it("of another program than the runtime's own get none of our arguments", async () => {
    verifies("WRK-006");
    await setting.add("wrapped", {}, { command: [join(setting.bin, "other"), "--flag"] });
    assert.deepEqual((await started("wrapped")).start, ["--flag"]);
    assert.equal((await setting.presence("wrapped")).state, "unavailable");
  });
});
