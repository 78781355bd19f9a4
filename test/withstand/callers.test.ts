/**
 * Who speaks at the local socket, with real processes: an Actor's program that drops its launch
 * token in every way that it can, and the programs of a person.
 */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DaemonClient } from "../../client/client.ts";
import { findEndpoint } from "../../client/connection.ts";
import { HEADERS } from "../../shared/names.ts";
import { run } from "../cli/svc.ts";
import { DaemonProcess } from "../support/daemon-process.ts";
import { until } from "../support/until.ts";

/** `node who.mjs SOCKET KEYFILE OUT [OPERATION [INPUT [HEADER VALUE]]]`: writes the answer. */
const WHO = `
import { request } from "node:http";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
const [socketPath, key, out, operation = "whoami", input = "{}", header, value] = process.argv.slice(2);
const headers = { host: "localhost", "content-type": "application/json" };
if (key !== "-") headers["svc-socket-key"] = readFileSync(key, "utf8").trim();
if (header) headers[header] = value;
const sent = request({ socketPath, method: "POST", path: "/op/" + operation, headers }, async (response) => {
  let text = "";
  for await (const part of response) text += part;
  writeFileSync(out + ".part", text);
  renameSync(out + ".part", out);
});
sent.on("error", (error) => { writeFileSync(out + ".part", String(error)); renameSync(out + ".part", out); });
sent.end(input);
`;
/** Connects, leaves the connection to a child, and ends. The child asks once its parent is gone. */
const ORPHAN = `
($socket,$key,$out,$operation)=@ARGV;open K,"<",$key;chomp($k=<K>);
socket S,1,1,0;connect S,pack("Sa108",1,$socket) or die;
if($parent=fork){exit 0 if fork;exit 0}
while(getppid==$ENV{PARENT}||kill 0,$ENV{PARENT}){select undef,undef,undef,.02}
syswrite S,"POST /op/$operation HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Type: application/json\\r\\nSvc-Socket-Key: $k\\r\\nContent-Length: 2\\r\\n\\r\\n{}";
sysread S,$answer,65536;open F,">","$out.part";print F $answer;close F;rename "$out.part",$out;
`;

interface Answer {
  ok: boolean;
  result: { kind: string; actor: { actor_id: string } | null };
  error: { code: string; message: string };
}

describe("callers at the local socket", () => {
  let daemon: DaemonProcess;
  let client: DaemonClient;
  let folder: string;
  let groupId: string;
  let socket: string;
  let key: string;
  const cleanups: string[] = [];

  before(async () => {
    daemon = await DaemonProcess.started();
    client = daemon.client();
    folder = mkdtempSync(join(tmpdir(), "svc-callers-"));
    mkdirSync(join(folder, "project"));
    writeFileSync(join(folder, "who.mjs"), WHO);
    writeFileSync(join(folder, "orphan.pl"), ORPHAN);
    ({ group_id: groupId } = await client.result("attach", { path: join(folder, "project") }));
    ({ socketPath: socket } = findEndpoint(daemon.home));
    key = join(daemon.home, "daemon/key");
  });
  after(async () => {
    for (const command of cleanups) spawnSync("/bin/sh", ["-c", command]);
    await daemon.dispose();
    rmSync(folder, { recursive: true, force: true });
  });

  const out = (name: string): string => join(folder, `${name}.json`);
  const ask = (name: string, ...more: string[]): string =>
    [
      process.execPath,
      join(folder, "who.mjs"),
      socket,
      key,
      out(name),
      ...more.map((word) => `'${word}'`),
    ].join(" ");
  const answer = async (name: string): Promise<Answer> => {
    await until(`the answer of ${name}`, () => existsSync(out(name)), 120_000);
    const text = readFileSync(out(name), "utf8");
    assert.match(text, /\{"ok"/, text);
    return JSON.parse(text.slice(text.indexOf('{"ok"'))) as Answer;
  };
  /** Runs lines of shell in an Actor's terminal. It goes on until it is stopped. */
  const act = async (actorId: string, lines: readonly string[]): Promise<void> => {
    const script = join(folder, `${actorId}.sh`);
    writeFileSync(script, [...lines, "exec sleep 600", ""].join("\n"));
    await client.result("actor_add", {
      group_id: groupId,
      actor_id: actorId,
      runner: "pty",
      command: ["/bin/sh", script],
    });
    await client.result("actor_start", { group_id: groupId, actor_id: actorId });
  };
  const say = (text: string): string =>
    JSON.stringify({ group_id: groupId, text, to: ["user"], message_mode: "send" });

  it("are the Actor, whatever its program does with its token", async () => {
    const ways: Record<string, string> = {
      unset: `env -u SVC_ACTOR_FILE -u SVC_LAUNCH_ID ${ask("unset")}`,
      empty: `env -i ${ask("empty")}`,
      curl: `curl -s --unix-socket ${socket} -H "Svc-Socket-Key: $(cat ${key})" -H 'Content-Type: application/json' -d '{}' http://localhost/op/whoami > ${out("curl")}.part; mv ${out("curl")}.part ${out("curl")}`,
      setsid: `setsid --wait env -i ${ask("setsid")}`,
      background: `( setsid ${ask("background")} & )`,
      nohup: `nohup env -i ${ask("nohup")} >/dev/null 2>&1 &`,
      script: `script -qec "env -i ${ask("script")}" /dev/null </dev/null >/dev/null`,
      double: `( env -i /bin/sh -c '${ask("double")} & exit 0' & )`,
    };
    if (spawnSync("tmux", ["-V"]).status === 0) {
      ways["tmux"] = `tmux -L callers-${daemon.pid} -f /dev/null new-session -d "${ask("tmux")}"`;
      cleanups.push(`tmux -L callers-${daemon.pid} kill-server`);
    }
    await act("tricky", Object.values(ways));
    for (const way of Object.keys(ways)) {
      const { result } = await answer(way);
      assert.deepEqual([result.kind, result.actor?.actor_id], ["actor", "tricky"], way);
    }
  });

  it("decide nothing as an Actor that dropped its token, and send as it", async () => {
    const answerInput = JSON.stringify({
      group_id: groupId,
      actor_id: "plain",
      question_id: "00000000-0000-4000-8000-000000000000",
      decision: "allow",
    });
    const added = JSON.stringify({ group_id: groupId, actor_id: "second", runner: "pty", command: ["true"] });
    await act("plain", [
      `env -i ${ask("answers", "actor_answer", answerInput)}`,
      `env -i ${ask("tokens", "access_token_create", "{}")}`,
      `env -i ${ask("link", "login_link_create", "{}")}`,
      `env -i ${ask("stops", "daemon_stop", "{}")}`,
      `env -i ${ask("adds", "actor_add", added)}`,
      `env -i ${ask("sends", "send", say("as myself"))}`,
    ]);
    for (const name of ["answers", "tokens", "link", "stops", "adds"]) {
      const { ok, error } = await answer(name);
      assert.equal(ok, false, name);
      assert.equal(error.code, "permission_denied", name);
      // A peer may not add at all, whatever it adds.
      if (name !== "adds") assert.match(error.message, /Only a person may/, name);
    }
    assert.equal((await answer("sends")).ok, true);
    const { events } = await client.result("ledger_tail", { group_id: groupId, limit: 50 });
    const sent = events.find(({ kind, data }) => kind === "chat.message" && data["text"] === "as myself");
    assert.equal(sent?.by, "plain");
  });

  // docs/security.md names these: the level is against mistakes.
  it("aren't recognized when a program hides on purpose", async () => {
    await act("hiding", [`( env -i setsid /bin/sh -c '${ask("orphan")} & exit 0' & )`]);
    assert.notEqual((await answer("orphan")).result.kind, "actor");
  });

  it("are a person's at its own terminals and scripts, beside running Actors", async () => {
    const { kind } = await client.result("whoami", {});
    assert.equal(kind, "user");
    const scripted = await run(["token", "create", "--json"], { home: daemon.home });
    assert.equal(scripted.code, 0, scripted.err);
    const atTerminal = ask("terminal", "actor_add", JSON.stringify({ group_id: groupId, actor_id: "typed" }));
    const typed = spawnSync("script", ["-qec", atTerminal, "/dev/null"], { stdio: "ignore" });
    assert.equal(typed.status, 0);
    assert.equal((await answer("terminal")).ok, true);
    const { events } = await client.result("ledger_tail", { group_id: groupId, limit: 50 });
    const event = events.find(({ kind, data }) => kind === "actor.add" && data["actor_id"] === "typed");
    assert.equal((event?.data as { known?: string } | undefined)?.known, "terminal");
  });

  it("decide nothing over a connection whose process has ended", async () => {
    for (const operation of ["access_token_create", "whoami"]) {
      const parent = spawn(
        "/bin/sh",
        [
          "-c",
          `PARENT=$$ exec perl ${folder}/orphan.pl ${socket} ${key} ${out(`late-${operation}`)} ${operation}`,
        ],
        { stdio: "ignore" },
      );
      await once(parent, "exit");
    }
    const refused = await answer("late-access_token_create");
    assert.equal(refused.ok, false);
    assert.equal(refused.error.code, "permission_denied");
    assert.equal((await answer("late-whoami")).result.kind, "user");
  });

  it("need only the launch token, and at an Actor's own socket that Actor's", async () => {
    await act("housed", [
      `env > ${join(folder, "housed.env")}.part; mv ${join(folder, "housed.env")}.part ${join(folder, "housed.env")}`,
    ]);
    await until("the environment", () => existsSync(join(folder, "housed.env")));
    const environment = new Map(
      readFileSync(join(folder, "housed.env"), "utf8")
        .split("\n")
        .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)] as const),
    );
    const own = environment.get("SVC_SOCKET")!;
    assert.notEqual(own, socket);
    const token = (file: string) => (JSON.parse(readFileSync(file, "utf8")) as { token: string }).token;
    const mine = token(environment.get("SVC_ACTOR_FILE")!);
    const outside = await client.result("actor_add", { group_id: groupId, actor_id: "outside" });
    const other = token(outside.token_file);
    const status = (path: string, headers: Record<string, string>): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const sent = request(
          {
            socketPath: path,
            method: "POST",
            path: "/op/whoami",
            headers: { ...headers, host: "localhost", "content-type": "application/json" },
          },
          (response) => resolve(response.resume().statusCode),
        );
        sent.on("error", reject).end("{}");
      });
    const withKey = { [HEADERS.socketKey]: readFileSync(key, "utf8").trim() };
    assert.equal(await status(own, { [HEADERS.launchToken]: mine }), 200);
    assert.equal(await status(own, { [HEADERS.launchToken]: other }), 401);
    assert.equal(await status(own, { ...withKey, [HEADERS.launchToken]: other }), 401);
    assert.equal(await status(own, withKey), 401);
    assert.equal(await status(socket, { [HEADERS.launchToken]: other }), 200);
    assert.equal(await status(socket, {}), 401);
    // The documented separation: the token file and the socket, and nothing of the Home.
    const away = mkdtempSync(join(folder, "away-"));
    copyFileSync(outside.token_file, join(away, "token.json"));
    chmodSync(join(away, "token.json"), 0o600);
    const env = { SVC_ACTOR_FILE: join(away, "token.json"), SVC_SOCKET: socket, SVC_GROUP_ID: groupId };
    const sent = await run(["send", "from away", "--to", "user", "--json"], {
      home: join(away, "nothing"),
      env,
    });
    assert.equal(sent.code, 0, sent.out + sent.err);
    await client.result("actor_stop", { group_id: groupId, actor_id: "housed" });
    assert.equal(existsSync(own), false);
  });
});
