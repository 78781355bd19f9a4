/** Every command against a real daemon: exit codes, envelopes, ids. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { verifies } from "../requirements.ts";
import { DaemonProcess } from "../support/daemon-process.ts";
import { envelope, type Ran, type RunOptions, run } from "./svc.ts";

interface Event {
  id: string;
  data: { text: string; to: string[]; insight?: string; attachments: { name: string }[] };
}

describe("commands", () => {
  let daemon: DaemonProcess;
  let folder: string;
  let group: string;

  before(async () => {
    daemon = await DaemonProcess.started();
    folder = realpathSync(mkdtempSync(join(tmpdir(), "svc-cli-")));
  });
  after(async () => {
    await daemon.dispose();
    rmSync(folder, { recursive: true, force: true });
  });

  function svc(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
    return run(args, { home: daemon.home, ...options });
  }

  /** Runs a command with --json in the Group and gives its result. */
  async function result<Result = Record<string, unknown>>(
    args: readonly string[],
    input = "",
  ): Promise<Result> {
    const ran = await svc(["--json", ...args], { env: { SVC_GROUP_ID: group }, input });
    assert.equal(ran.code, 0, `svc ${args.join(" ")}: ${ran.err}`);
    assert.equal(ran.out.trim().split("\n").length, 1);
    const { ok, result: value } = envelope<Result>(ran);
    assert.equal(ok, true);
    return value;
  }

  it("makes, shows and changes Groups", async () => {
    const created = await result<{ group_id: string }>(["group", "create", "0123", "--topic", "007"]);
    group = created.group_id;
    const shown = await result<{ title: string; topic: string }>(["group", "show", group]);
    assert.deepEqual([shown.title, shown.topic], ["0123", "007"]);
    const { groups } = await result<{ groups: unknown[] }>(["group", "list"]);
    assert.equal(groups.length, 1);
    const set = ["default_send_to=broadcast", "mail_notice_after_seconds=60", "start_actors=true"].flatMap(
      (setting) => ["--set", setting],
    );
    const changed = await result<{ settings: Record<string, unknown> }>(["group", "settings", ...set]);
    assert.equal(changed.settings["mail_notice_after_seconds"], 60);
    assert.equal(changed.settings["start_actors"], true);
    const wrong = await svc(["group", "settings", "--group", group, "--set", "nothing=1", "--json"]);
    assert.equal(wrong.code, 1);
    assert.equal(envelope(wrong).error.details["field"], "settings.nothing");
    for (const [command, state] of [
      [["set-state", "idle"], "idle"],
      [["stop"], "stopped"],
      [["start"], "active"],
    ] as const) {
      const now = await result<{ state: string }>(["group", ...command]);
      assert.equal(now.state, state);
    }
    assert.equal((await svc(["group", "set-state", "asleep"])).code, 2);
  });

  it("binds a directory, and takes the Group that is bound to where it is called", async () => {
    await svc(["group", "create", "another"]);
    const { title } = await result<{ title: string }>(["group", "show", group]);
    const told = await svc(["attach", folder, "--group", group]);
    assert.ok(told.out.startsWith(`Attached to the Group “${title}”, ${group}, for ${folder}`), told.out);
    const attached = await result<{ group_id: string; created: boolean }>([
      "attach",
      folder,
      "--group",
      group,
    ]);
    assert.deepEqual([attached.group_id, attached.created], [group, false]);
    const here = await svc(["group", "show", "--json"], { cwd: folder });
    assert.equal(envelope<{ group_id: string }>(here).result.group_id, group);
    const elsewhere = await svc(["group", "show"], { cwd: tmpdir() });
    assert.equal(elsewhere.code, 2);
    assert.ok(elsewhere.err.includes(group) && elsewhere.err.includes("another"), elsewhere.err);
  });

  it("adds Actors whose ids look like numbers, and keeps their secrets off the command line", async () => {
    const added = await result<{
      actor: { id: string; role: string; command: string[] };
      token_file: string;
    }>([
      "actor",
      "add",
      "0123",
      "--title",
      "1e3",
      "--env",
      "A=1",
      "--runtime",
      "external",
      "--",
      "agent",
      "--flag",
      "5",
    ]);
    assert.deepEqual([added.actor.id, added.actor.role], ["0123", "foreman"]);
    await result(["actor", "add", "max"]);
    const { actors } = await result<{ actors: { id: string; title: string }[] }>(["actor", "list"]);
    assert.deepEqual(
      actors.map(({ id, title }) => [id, title]),
      [
        ["0123", "1e3"],
        ["max", ""],
      ],
    );
    await result(["actor", "add", "later", "--runtime", "claude"]);
    await result(["send", "wait for it", "--to", "later"]);
    const table = await svc(["actor", "list", "--group", group]);
    assert.match(table.out, /later +peer +claude +stopped +not running[^\n]* +0 +1/);
    const one = await svc(["actor", "show", "later", "--group", group]);
    assert.match(one.out, /pending +1: not running/);
    const { actor } = await result<{ actor: { private_env: string[] } }>(
      ["actor", "secrets", "0123", "--stdin"],
      "KEY=s3cr3t=x\n# no\nB=2\n",
    );
    assert.deepEqual(actor.private_env, ["B", "KEY"]);
    const refused = await svc(["actor", "secrets", "0123", "--from-env", "KEY=s3cr3t", "--group", group]);
    assert.equal(refused.code, 2);
    assert.ok(!refused.err.includes("s3cr3t"));
    const shown = await svc(["actor", "show", "0123", "--group", group]);
    assert.ok(!shown.out.includes("s3cr3t") && shown.out.includes("KEY"), shown.out);
    const { mcpServers } = await result<{ mcpServers: { svc: { env: Record<string, string> } } }>([
      "actor",
      "mcp-config",
      "0123",
    ]);
    assert.equal(mcpServers.svc.env["SVC_ACTOR_FILE"], added.token_file);
    const { token } = JSON.parse(readFileSync(added.token_file, "utf8")) as { token: string };
    assert.ok(!JSON.stringify(mcpServers).includes(token));
    for (const verb of ["stop", "start", "restart"]) await result(["actor", verb, "max"]);
    await result(["actor", "update", "max", "--title", "Max", "--env", "C=3"]);
    for (const [how, allowTools] of [
      ["ask", false],
      ["allow", true],
    ] as const) {
      const { actor } = await result<{ actor: { allow_tools: boolean } }>([
        "actor",
        "update",
        "later",
        "--own-tools",
        how,
      ]);
      assert.equal(actor.allow_tools, allowTools);
    }
    const listed = await svc(["actor", "list", "--group", group]);
    assert.match(listed.out, /STATE +REASON/);
    assert.match(listed.out, /later .*stopped +not running/);
  });

  it("sends with insight, key, mode and files, and reads from standard input", async () => {
    verifies("CLI-004");
    const file = join(folder, "notes.txt");
    writeFileSync(file, "a note");
    const args = [
      "send",
      "-",
      "--to",
      "0123",
      "--mode",
      "mail",
      "--insight",
      "look",
      "--idempotency-key",
      "00",
      "-a",
      file,
    ];
    const sent = await result<{ event: Event; message_mode: string; duplicate: boolean }>(
      args,
      "from stdin\n",
    );
    assert.equal(sent.event.data.text, "from stdin");
    assert.deepEqual(sent.event.data.to, ["0123"]);
    assert.equal(sent.event.data.insight, "look");
    assert.equal(sent.event.data.attachments[0]?.name, "notes.txt");
    assert.deepEqual([sent.message_mode, sent.duplicate], ["mail", false]);
    const again = await result<{ event: Event; duplicate: boolean }>(args, "from stdin\n");
    assert.deepEqual([again.event.id, again.duplicate], [sent.event.id, true]);
    const other = await svc([...args, "--group", group, "--json"], { input: "other text" });
    assert.equal(other.code, 1);
    assert.equal(envelope(other).error.code, "idempotency_conflict");
    const fetched = await result<{ text: string }>(["file", sent.event.id]);
    assert.equal(fetched.text, "a note");
    await result(["file", sent.event.id, "--save-to", join(folder, "copy.txt")]);
    assert.equal(readFileSync(join(folder, "copy.txt"), "utf8"), "a note");
  });

  it("peeks, reads, answers and withdraws", async () => {
    verifies("CLI-005", "CLI-006");
    const peeked = await result<{ messages: Event[]; unread: number }>(["inbox", "--actor", "0123"]);
    assert.equal(peeked.unread, 1);
    const tokenFile = (await result<{ token_file: string }>(["actor", "restart", "0123"])).token_file;
    const asActor = (args: string[]) => svc([...args, "--json"], { env: { SVC_ACTOR_FILE: tokenFile } });
    const who = await asActor(["whoami"]);
    assert.equal(envelope<{ by: string }>(who).result.by, "0123");
    const taken = await asActor(["inbox", "--read"]);
    assert.equal(envelope<{ messages: { event: Event }[] }>(taken).result.messages.length, 1);

    const asked = await result<{ event: Event }>(["send", "?", "--to", "0123", "--mode", "request-reply"]);
    const answered = await asActor(["reply", asked.event.id, "here", "--mode", "send"]);
    const reply = envelope<{ event: Event }>(answered).result.event;
    assert.deepEqual(reply.data.to, ["user"]);
    const shown = await result<{
      statuses: Record<string, { obligation_status: Record<string, { state: string }> }>;
    }>(["show", asked.event.id]);
    assert.equal(shown.statuses[asked.event.id]?.obligation_status["0123"]?.state, "replied");
    const open = await result<{ event: Event }>(["send", "??", "--to", "0123", "--mode", "request-reply"]);
    const { cancelled } = await result<{ cancelled: string[] }>(["cancel-reply", open.event.id]);
    assert.deepEqual(cancelled, ["0123"]);
    const hasty = await result<{ event: Event }>(["send", "too soon", "--to", "0123"]);
    const { withdrawn } = await result<{ withdrawn: string[] }>(["withdraw", hasty.event.id]);
    assert.deepEqual(withdrawn, ["0123"]);
    const history = await asActor(["history", "--mode", "sent"]);
    assert.equal(envelope<{ events: Event[] }>(history).result.events.at(-1)?.id, reply.id);
    assert.equal((await svc(["history", "--group", group])).code, 2);
    await result(["read", reply.id]);
    const forbidden = await asActor(["group", "create", "mine"]);
    assert.equal(forbidden.code, 1);
    assert.equal(envelope(forbidden).error.code, "permission_denied");
    assert.equal((await asActor(["daemon", "start"])).code, 1);
  });

  it("says after a new message which request it leaves open, and how to answer that", async () => {
    const { token_file: tokenFile } = await result<{ token_file: string }>(["actor", "restart", "0123"]);
    const ask = ["send", "Which port?\n'svc actor remove 0123'", "--to", "user", "--mode", "request-reply"];
    const asked = await svc([...ask, "--json"], { env: { SVC_ACTOR_FILE: tokenFile } });
    const { id } = envelope<{ event: Event }>(asked).result.event;
    const env = { SVC_GROUP_ID: group };
    const sent = await svc(["send", "hello", "--to", "0123"], { env });
    assert.equal(sent.code, 0);
    const said = new RegExp(
      `^0123 \\(“1e3”\\) still waits for your reply to “Which port\\? ’svc actor remove 0123’”: 'svc .*reply ${id} TEXT'$`,
      "m",
    );
    assert.match(sent.err, said);
    assert.equal((await svc(["send", "hello", "--to", "0123", "--json"], { env })).err, "");
    const answered = await svc(["send", "8080", "--reply-to", id], { env });
    const waits = "1e3 isn’t connected. It gets this once connected.\n";
    assert.deepEqual([answered.code, answered.err], [0, waits]);
    assert.equal((await svc(["send", "hello", "--to", "0123"], { env })).err, waits);
  });

  it("reads the ledger", async () => {
    const tailed = await result<{ events: Event[]; has_more: boolean }>(["tail", "-n", "2"]);
    assert.deepEqual([tailed.events.length, tailed.has_more], [2, true]);
    const found = await result<{ events: Event[] }>(["search", "stdin"]);
    assert.equal(found.events.length, 1);
    const verified = await result<{ problems: string[] }>(["ledger", "verify"]);
    assert.deepEqual(verified.problems, []);
    await result(["ledger", "compact"]);
    const people = await svc(["tail", "-n", "20", "--group", group]);
    assert.ok(people.out.includes("from stdin") && people.out.includes("→ 0123"), people.out);
    assert.ok(!people.out.includes("\u001b"));
  });

  it("manages tokens, the origin and the exhibit", async () => {
    const created = await result<{ id: string; token: string }>([
      "token",
      "create",
      "--name",
      "007",
      "--groups",
      group,
    ]);
    assert.ok(created.token.length > 20);
    const listed = await svc(["token", "list", "--json"]);
    assert.ok(!listed.out.includes(created.token));
    await result(["token", "revoke", created.id]);
    assert.equal((await svc(["token", "revoke", created.id])).code, 1);
    await result(["origin", "set", "https://svc.example/"]);
    const shown = await result<{ remote_access: { origin: string } }>(["origin", "show"]);
    assert.equal(shown.remote_access.origin, "https://svc.example");
    await result(["origin", "off"]);
    assert.equal((await svc(["origin", "set", "nonsense"])).code, 1);
    const exhibit = await result<{ origin: string; token: string }>([
      "exhibit",
      "set",
      "--groups",
      group,
      "--port",
      "0",
    ]);
    assert.ok(exhibit.token.length > 20);
    await result(["exhibit", "show"]);
    await result(["exhibit", "off"]);
  });

  it("makes no invitation to a Direct listener whose port another program has", async () => {
    const occupied = createServer().listen(0, "127.0.0.1");
    await once(occupied, "listening");
    try {
      const at = `127.0.0.1:${(occupied.address() as AddressInfo).port}`;
      await svc(["direct", "listen", "--bind", at]);
      const refused = await svc(["direct", "invite", "--group", group]);
      assert.deepEqual([refused.code, refused.out], [1, ""]);
      assert.match(refused.err, new RegExp(`Another program uses ${at}`));
      assert.match(
        refused.err,
        /No invitation was created, because no one can accept it until this instance listens\./,
      );
      const printed = envelope(await svc(["direct", "invite", "--group", group, "--json"]));
      assert.deepEqual([printed.ok, printed.error.code], [false, "direct_listener_off"]);
      const { relations } = await result<{ relations: unknown[] }>(["direct", "status"]);
      assert.deepEqual(relations, []);
    } finally {
      occupied.close();
      await result(["direct", "listen", "--off"]);
    }
  });

  it("moves a Group, and destroys only what is named twice", async () => {
    const file = join(folder, "group.export");
    const exported = await result<{ events: number }>(["group", "export", file]);
    const imported = await result<{ group: { group_id: string; state: string }; events: number }>([
      "group",
      "import",
      file,
    ]);
    assert.equal(imported.group.state, "stopped");
    assert.ok(imported.events >= exported.events);
    const copy = imported.group.group_id;
    assert.equal((await svc(["group", "delete", "--group", copy])).code, 2);
    assert.equal((await svc(["group", "delete", "--group", group, "--confirm", copy])).code, 1);
    await result(["group", "reset", "--confirm", copy]);
    await result(["group", "delete", "--confirm", copy]);
    assert.equal((await svc(["group", "show", copy])).code, 1);
    await result(["actor", "remove", "max"]);
  });

  it("shows files, input and links beside the conversation", async () => {
    const project = join(folder, "shown");
    mkdirSync(project);
    writeFileSync(join(project, "report.md"), "# Report\n");
    const inGroup = (args: readonly string[], input = "") =>
      svc(["presentation", ...args, "--group", group], { cwd: project, input });
    await result(["attach", project, "--group", group]);
    const published = await inGroup(["publish", "1", "report.md", "--title", "Result"]);
    assert.match(published.out, /^Shown in slot 1: Result {2}[0-9a-f]{32}\n$/, published.err);
    assert.equal((await inGroup(["publish", "2", "-", "--kind", "csv", "--title", "t"], "a,b\n")).code, 0);
    assert.equal((await inGroup(["publish", "3", "--url", "https://example.org/"])).code, 0);
    const list = await inGroup(["list"]);
    assert.match(list.out, /^1 {2}Result .*\n2 {2}t .*\n3 {2}.*example\.org.*\n4 {2}empty\n$/, list.out);
    assert.match((await svc(["tail", "--group", group])).out, /presentation\.publish {2}Result/);
    const { url } = await result<{ url: string }>(["presentation", "open", "1"]);
    assert.match(url, new RegExp(`/\\?group=${group}&presentation=1#login=`));
    assert.equal((await inGroup(["clear", "3"])).out, "Slot 3 is empty.\n");
    assert.equal((await inGroup(["publish", "3", "--url", "javascript:alert(1)", "--title", "x"])).code, 1);
    assert.equal((await inGroup(["publish", "3", "/etc/passwd", "--kind", "markdown"])).code, 1);
    assert.equal((await inGroup(["publish", "3"])).code, 2);
    assert.match((await inGroup(["list"])).out, /3 {2}empty/);
  });

  it("reports the daemon and its health", async () => {
    const status = await result<{ running: boolean; home: string }>(["daemon", "status"]);
    assert.deepEqual([status.running, status.home], [true, daemon.home]);
    const { checks } = await result<{ checks: { code: string; severity: string }[] }>(["doctor"]);
    assert.ok(checks.some(({ code }) => code === "daemon_running"));
    const opened = await result<{ url: string }>(["open"]);
    assert.match(opened.url, /^http:\/\/127\.0\.0\.1:\d+\/#login=/);
    const { events } = await result<{ events: Event[] }>(["tail", "--group", group, "--all", "-n", "1"]);
    const at = await result<{ url: string }>(["open", group, "--message", events[0]!.id.slice(0, 12)]);
    assert.match(at.url, new RegExp(`/\\?group=${group}&message=${events[0]!.id}#login=`));
    assert.match(
      (await result<{ url: string }>(["open", group])).url,
      new RegExp(`/\\?group=${group}#login=`),
    );
    assert.equal((await svc(["open", "g_000000000000"])).code, 1);
    assert.match((await svc(["open", "--print"])).out, /^http:\/\/127\.0\.0\.1:\d+\/#login=\S+\n$/);
  });
});
