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
import { OPERATIONS } from "../../shared/operations/registry.ts";
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
/**
 * Connects, leaves the connection to a child, and ends. The child asks once its parent is gone:
 * each operation of a list, with these arguments. The last answer, or what each of several said.
 */
const ORPHAN = `
($socket,$key,$out,$operations,$input)=@ARGV;$input||="{}";$n=length $input;open K,"<",$key;chomp($k=<K>);
socket S,1,1,0;connect S,pack("Sa108",1,$socket) or die;
if($parent=fork){exit 0 if fork;exit 0}
while(getppid==$ENV{PARENT}||kill 0,$ENV{PARENT}){select undef,undef,undef,.02}
for $operation(split/,/,$operations){
syswrite S,"POST /op/$operation HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Type: application/json\\r\\nSvc-Socket-Key: $k\\r\\nContent-Length: $n\\r\\n\\r\\n$input";
$answer="";until($answer=~/content-length: (\\d+)\\r\\n(?:.*?\\r\\n)?\\r\\n(.*)/si&&length($body=$2)>=$1){sysread(S,$answer,65536,length $answer) or die}
$all.="$operation $body\\n";
}
open F,">","$out.part";print F $operations=~/,/?$all:$answer;close F;rename "$out.part",$out;
`;

/**
 * `node every.mjs SOCKET KEYFILE OUT TOKENFILE NAMES`: asks each operation without arguments over
 * one connection, by turns with the launch token and without it, and writes the codes of both.
 */
const EVERY = `
import { Agent, request } from "node:http";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
const [socketPath, key, out, token, names] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const base = { host: "localhost", "content-type": "application/json" };
const ways = {
  token: { ...base, "svc-launch-token": JSON.parse(readFileSync(token, "utf8")).token },
  key: { ...base, "svc-socket-key": readFileSync(key, "utf8").trim() },
};
const ask = (name, headers) => new Promise((resolve, reject) => {
  const sent = request({ agent, socketPath, method: "POST", path: "/op/" + name, headers }, async (response) => {
    let text = "";
    for await (const part of response) text += part;
    const { ok, error } = JSON.parse(text);
    resolve(ok ? "ok" : error.code);
  });
  sent.on("error", reject).end("{}");
});
const all = {};
for (const name of names.split(",")) {
  all[name] = {};
  for (const [way, headers] of Object.entries(ways)) all[name][way] = await ask(name, headers);
}
writeFileSync(out + ".part", JSON.stringify(all));
renameSync(out + ".part", out);
`;

/**
 * What an Actor may call at all. Everything else is a person's. An operation that comes new belongs
 * here only if an agent that was told to do harm may call it.
 */
const OF_ACTORS = new Set([
  "actor_add",
  "actor_interrupt",
  "actor_list",
  "actor_remove",
  "actor_restart",
  "actor_show",
  "actor_start",
  "actor_stop",
  "bootstrap",
  "connect_catalog",
  "connect_send",
  "connect_send_files",
  "file_fetch",
  "group_list",
  "group_show",
  "hook_decide",
  "hook_submit",
  "inbox_peek",
  "inbox_read",
  "ledger_find",
  "ledger_statuses",
  "message_deliver",
  "message_history",
  "message_withdraw",
  "presentation_clear",
  "presentation_list",
  "presentation_publish",
  "reply",
  "reply_request_cancel",
  "send",
  "send_cross_group",
  "send_files",
  "tools_listed",
  "whoami",
]);
/** Those of them that nobody calls as the user who isn't known as a person. */
const DECIDING = new Set(["actor_add", "actor_remove"]);
/** Those of an Actor alone. */
const OWN = new Set(["bootstrap", "hook_decide", "hook_submit", "tools_listed"]);
/** What somebody may do as the user who isn't known as a person: read, send, start and stop. */
const OF_ANYBODY = new Set([
  "account_joined_seen",
  "account_show",
  "access_token_list",
  "actor_mcp_config",
  "actor_questions",
  "connect_direct_status",
  "connect_group_status",
  "connect_peer_receive",
  "connect_status",
  "connection_list",
  "daemon_status",
  "daemon_stop",
  "draft_get",
  "draft_put",
  "exhibit_show",
  "feed_read",
  "feed_unread",
  "folder_list",
  "group_create",
  "group_export",
  "group_set_state",
  "group_start",
  "group_stop",
  "group_update",
  "health",
  "ledger_compact",
  "ledger_reopen",
  "ledger_search",
  "ledger_since",
  "ledger_tail",
  "ledger_thread",
  "ledger_verify",
  "ledger_window",
  "message_upload_preflight",
  "notification_claim",
  "push_list",
  "push_prepare",
  "push_subscribe",
  "push_test",
  "push_unsubscribe",
  "remote_access_check",
  "remote_access_show",
  "runtime_activity_snapshot",
  "runtime_list",
]);

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
    writeFileSync(join(folder, "every.mjs"), EVERY);
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
  /** Asks over a connection whose process has ended. */
  const orphaned = async (name: string, operations: readonly string[], input = {}): Promise<void> => {
    const words = [`${folder}/orphan.pl`, socket, key, out(name), operations.join(",")];
    const command = `PARENT=$$ exec perl ${words.join(" ")} '${JSON.stringify(input)}'`;
    await once(spawn("/bin/sh", ["-c", command], { stdio: "ignore" }), "exit");
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

  it("call as an Actor what Actors may, and nothing of a person's, with the token and without", async () => {
    const names = [...OPERATIONS.keys()];
    const every = (name: string, token: string) =>
      `${process.execPath} ${join(folder, "every.mjs")} ${socket} ${key} ${out(name)} ${token} ${names.join(",")}`;
    await act("eager", [every("eager", '"$SVC_ACTOR_FILE"')]);
    await until("all answers", () => existsSync(out("eager")), 120_000);
    const codes = JSON.parse(readFileSync(out("eager"), "utf8")) as Record<string, Record<string, string>>;
    for (const name of names) {
      const isRefused = Object.values(codes[name]!).every((code) => code === "permission_denied");
      const isTaken = Object.values(codes[name]!).every((code) => code !== "permission_denied");
      assert.ok(OF_ACTORS.has(name) ? isTaken : isRefused, `${name}: ${JSON.stringify(codes[name])}`);
    }
    for (const name of OF_ACTORS) assert.ok(names.includes(name), name);
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
      await orphaned(`late-${operation}`, [operation]);
    }
    const refused = await answer("late-access_token_create");
    assert.equal(refused.ok, false);
    assert.equal(refused.error.code, "permission_denied");
    assert.equal((await answer("late-whoami")).result.kind, "user");
  });

  it("do as anybody what changes no rights, and nothing else", async () => {
    const names = [...OPERATIONS.keys()].filter((name) => name !== "daemon_stop");
    await orphaned("anybody", names);
    await until("all answers", () => existsSync(out("anybody")), 120_000);
    for (const line of readFileSync(out("anybody"), "utf8").trimEnd().split("\n")) {
      const [, name, text] = /^(\w+) (.*)$/u.exec(line)!;
      const { ok, error } = JSON.parse(text!) as Answer;
      const isOfBoth = OF_ACTORS.has(name!) && !DECIDING.has(name!) && !OWN.has(name!);
      const isDenied = !ok && error.code === "permission_denied";
      assert.equal(isDenied, !OF_ANYBODY.has(name!) && !isOfBoth, `${name}: ${text}`);
    }
  });

  it("start as anybody no command that came with an import", async () => {
    const path = join(folder, "group.jsonl");
    const mark = join(folder, "imported-command-ran");
    const { group_id: from } = await client.result("group_create", { title: "Exported" });
    await client.result("attach", { path: mkdtempSync(join(folder, "project-")), group_id: from });
    const command = ["/bin/sh", "-c", `touch ${mark}; exec sleep 600`];
    await client.result("actor_add", { group_id: from, actor_id: "lead", runner: "pty", command });
    await client.result("group_export", { group_id: from, path });
    const { group } = await client.result("group_import", { path });
    const input = { group_id: group.group_id, actor_id: "lead" };
    await client.result("attach", { path: mkdtempSync(join(folder, "project-")), group_id: group.group_id });
    await client.result("group_start", { group_id: group.group_id });
    for (const operation of ["actor_start", "actor_restart"]) {
      await orphaned(`imported-${operation}`, [operation], input);
      const { ok, error } = await answer(`imported-${operation}`);
      assert.equal(ok, false);
      assert.match(error.message, /came with an import, and no person has started it yet/);
    }
    assert.equal(existsSync(mark), false);
    await client.result("actor_start", input);
    await until("it runs", () => existsSync(mark));
    await client.result("actor_stop", input);
    await orphaned("imported-again", ["actor_start"], input);
    assert.equal((await answer("imported-again")).ok, true);
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
