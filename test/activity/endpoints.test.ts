import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import type { Launch } from "../../daemon/activity/launches.ts";
import { RuntimeActivityEvent } from "../../shared/activity/event.ts";
import { type Setting as HttpSetting, openSetting as openHttp } from "../http/setting.ts";
import { verifies } from "../requirements.ts";
import { until } from "../support/until.ts";
import { verifier } from "./served.ts";
import { claude, codex, openSetting, type Payload, type Setting } from "./setting.ts";

const EVENT = "event: runtime-activity\ndata: ";

interface Client {
  /** Bodies of the `runtime-activity` events so far. */
  events(): RuntimeActivityEvent[];
  status: number;
  text(): string;
  isEnded(): boolean;
  close(): void;
}

describe("runtime activity over HTTP", () => {
  let setting: Setting;
  let http: HttpSetting;
  let launch: Launch;
  let base: string;
  const clients: Client[] = [];
  const { start, prompt, pre, post, notify, event } = claude();
  const admin = { authorization: `Bearer ${"a".repeat(20)}` };
  const member = { authorization: `Bearer ${"m".repeat(20)}` };
  const stranger = { authorization: `Bearer ${"s".repeat(20)}` };

  beforeEach(async () => {
    setting = await openSetting();
    await setting.addActor("ann", "claude");
    launch = setting.launches.launch(setting.group, "ann");
    const { activity, group } = setting;
    http = await openHttp({
      handlers: activity.handlers(),
      activity,
      verifyLaunchToken: verifier(() => launch),
    });
    http.tokens.add("a".repeat(20), "administrator");
    http.tokens.add("m".repeat(20), "restricted", [group.group_id]);
    http.tokens.add("s".repeat(20), "restricted", ["g_00000000000b"]);
    base = `/api/v1/groups/${group.group_id}/runtime-activity`;
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) client.close();
    await http.close();
    await setting.close();
  });

  const follow = async (query = "", headers: Record<string, string> = admin): Promise<Client> => {
    let text = "";
    let ended = false;
    const client = await new Promise<Client>((resolve, reject) => {
      const sent = request(
        { host: "127.0.0.1", port: http.port, path: `${base}/stream${query}`, agent: false, headers },
        (response) => {
          response.on("data", (chunk: Buffer) => (text += chunk.toString()));
          response.on("close", () => (ended = true)).on("error", () => {});
          resolve({
            status: response.statusCode!,
            text: () => text,
            isEnded: () => ended,
            close: () => sent.destroy(),
            events: () =>
              text
                .split("\n\n")
                .slice(0, -1)
                .filter((part) => part.startsWith(EVENT))
                .map((part) => RuntimeActivityEvent.parse(JSON.parse(part.slice(EVENT.length)))),
          });
        },
      );
      sent.on("error", reject);
      sent.end();
    });
    clients.push(client);
    return client;
  };
  const submit = async (...payloads: Payload[]): Promise<void> => {
    for (const payload of payloads) {
      setting.clock.advance(5);
      await setting.submit(launch, payload);
    }
  };
  const seen = (client: Client, count: number) =>
    until(`${count} events`, () => client.events().length >= count);

  it("a snapshot and a stream give the same events", async () => {
    verifies("ACT-001", "ACT-005", "ACT-027", "ACT-028");
    const client = await follow();
    await submit(start(), prompt("p1"), pre("t1"), post("t1"));
    await seen(client, 4);
    const { status, result } = await http.send("GET", `${base}/snapshot`, { headers: admin });
    assert.equal(status, 200);
    const { count, events } = result as { count: number; events: RuntimeActivityEvent[] };
    assert.equal(count, 3);
    const last = new Map(client.events().map((one) => [one.activity_id, one]));
    assert.deepEqual(events, [...last.values()]);
    assert.equal(client.events().length, 4, "one for every accepted event");
  });

  it("streams exactly one event for every accepted hook, and what it closed; none for a refused one", async () => {
    verifies("ACT-036");
    await setting.addActor("bob", "codex");
    const codexLaunch = setting.launches.launch(setting.group, "bob");
    const client = await follow();
    const first = codex("turn-1");
    const second = codex("turn-2");
    const agent = { agent_id: "agent-1", agent_type: "general" };
    const hooks: [Launch, Payload][] = [
      ...[
        pre("before the session"),
        start(),
        start(),
        prompt("p1"),
        pre("t1"),
        pre("t1"),
        event("PermissionRequest", { tool_name: "Bash" }),
        notify("permission_prompt"),
        notify("no kind that counts"),
        post("t1"),
        post("t1"),
        event("SubagentStart", agent),
        pre("t2", "Read", agent),
        event("PreCompact"),
        event("SubagentStop", agent),
        pre("t3"),
        prompt("p2"),
        claude().fail("t3"),
        prompt("p1"),
        claude().stop("p2"),
        { hook_event_name: "Stop", session_id: "another" },
        claude().end(),
        post("t9"),
      ].map((payload): [Launch, Payload] => [launch, payload]),
      ...[
        first.prompt(),
        first.start(),
        first.prompt(),
        first.pre("c1", "shell"),
        second.pre("c2", "shell"),
        first.post("c1", "shell"),
        second.prompt(),
        first.stop(),
        second.pre("c3", "shell"),
        second.event("Interrupt"),
        second.end(),
      ].map((payload): [Launch, Payload] => [codexLaunch, payload]),
    ];
    const CLOSINGS = ["SessionEnded", "TurnSuperseded", "UserInterrupt"];
    const expected: string[] = [];
    for (const [of, payload] of hooks) {
      setting.clock.advance(5);
      const { accepted } = await setting.submit(of, payload);
      if (accepted) expected.push(`${of.actor_id} ${String(payload["hook_event_name"])}`);
    }
    await setting.submit(launch, start("resume"));
    // What a hook closed besides, and a turn that begins unannounced when the one before it ends
    // with a prompt queued.
    const own = () =>
      client
        .events()
        .filter(
          ({ event_type: eventType, activity_id: activityId }) =>
            !CLOSINGS.includes(eventType) && !activityId.includes(".next"),
        );
    expected.push("ann SessionStart");
    await until("every accepted event", () => own().length >= expected.length);
    assert.deepEqual(
      own().map(({ actor_id: actorId, event_type: eventType }) => `${actorId} ${eventType}`),
      expected,
    );
    assert.ok(expected.length < hooks.length - 8, "some were refused");
    const all = client.events();
    assert.equal(new Set(all.map(({ id }) => id)).size, all.length, "each once");
  });

  it("replay restores the present view; without it a stream begins with what comes", async () => {
    verifies("ACT-029", "ACT-030", "ACT-031", "ACT-032");
    await submit(start(), pre("t1"));
    const [replayed, omitted, fresh] = [
      await follow("?replay=true"),
      await follow(),
      await follow("?replay=false"),
    ];
    await seen(replayed, 2);
    await submit(post("t1"));
    for (const [client, count] of [
      [replayed, 3],
      [omitted, 1],
      [fresh, 1],
    ] as const) {
      await seen(client, count);
      assert.equal(client.events().length, count);
      assert.equal(client.events().at(-1)?.status, "completed");
    }
    for (const query of ["?replay=maybe", "?replay=", "?replay=1", "?replay=true&replay=false", "?after=x"]) {
      const refused = await http.send("GET", `${base}/stream${query}`, { headers: admin });
      assert.deepEqual([refused.status, refused.code], [400, "invalid_args"], query);
    }
  });

  it("takes the credentials of every other route and shows nothing of another Group", async () => {
    verifies("ACT-034", "ACT-035");
    for (const path of ["snapshot", "stream"]) {
      const address = `${base}/${path}`;
      assert.equal((await http.send("GET", address)).status, 401);
      const foreign = await http.send("GET", address, { headers: stranger });
      assert.deepEqual([foreign.status, foreign.code], [404, "group_not_found"]);
      const wrong = address.replace(setting.group.group_id, "g_nonsense");
      assert.equal((await http.send("GET", wrong, { headers: admin })).status, 400);
    }
    assert.equal((await http.send("GET", `${base}/snapshot`, { headers: member })).status, 200);
    assert.equal((await follow("", member)).status, 200);
  });

  it("a damaged store is 503 and never an empty list; an open stream keeps its view and goes on later", async () => {
    verifies("ACT-038", "ACT-039", "ACT-040", "ACT-041", "ACT-042");
    await submit(start(), pre("t1"));
    const client = await follow("?replay=true");
    await seen(client, 2);
    const path = setting.recordsPath("ann");
    const good = readFileSync(path);
    writeFileSync(path, "{");
    const snapshot = await http.send("GET", `${base}/snapshot`, { headers: admin });
    assert.deepEqual([snapshot.status, snapshot.code], [503, "runtime_activity_unavailable"]);
    assert.ok(!snapshot.text.includes("events"));
    assert.equal((await http.send("GET", `${base}/stream?replay=true`, { headers: admin })).status, 503);
    await assert.rejects(submit(post("t1")));
    assert.equal(client.events().length, 2);
    assert.equal(client.isEnded(), false);
    writeFileSync(path, good);
    await submit(post("t1"));
    await seen(client, 3);
  });

  it("a stream ends with its Group, and a client that left is forgotten", async () => {
    verifies("ACT-037");
    const [staying, leaving] = [await follow(), await follow()];
    assert.equal(http.hub.size, 2);
    leaving.close();
    await until("the client to be forgotten", () => http.hub.size === 1);
    await submit(start());
    await seen(staying, 1);
    assert.deepEqual(leaving.events(), []);
    await setting.registry.delete(setting.group.group_id, setting.group.group_id);
    await until("the stream to end", () => staying.isEnded());
    assert.equal(http.hub.size, 0);
  });

  it("a stream ends when its credential does", async () => {
    const client = await follow("", member);
    const id = [...http.tokens.records.values()].find(({ groups }) =>
      groups.includes(setting.group.group_id),
    )!.id;
    await http.tokens.revoke(id);
    await until("the stream to end", () => client.isEnded());
  });

  it("keeps no prompt, input, output or notification text: not in the Home, the log or any answer", async () => {
    verifies("ACT-019", "ACT-020", "ACT-021", "ACT-022");
    const client = await follow("?replay=true");
    const secrets = Array.from({ length: 14 }, (_, index) => `SECRET-${index}-marker`);
    const secret = (index: number): string => secrets[index]!;
    await submit(
      start(),
      prompt("p1", secret(0)),
      pre("t1", "Bash", { tool_input: { command: secret(1), description: secret(2) } }),
      event("PermissionRequest", {
        tool_name: "Bash",
        tool_input: secret(3),
        permission_suggestions: [secret(4)],
      }),
      notify("permission_prompt", { message: secret(5), title: secret(6) }),
      post("t1", "Bash", { tool_response: { stdout: secret(7) }, tool_input: { command: secret(1) } }),
      pre("t2", "Write", { tool_input: secret(8) }),
      { ...claude().fail("t2", "Write"), error: secret(9) },
      event("Stop", { prompt_id: "p1", last_assistant_message: secret(10) }),
      notify(secret(11)),
      event(secret(12)),
      {
        hook_event_name: "PreToolUse",
        session_id: `${secret(13)} with spaces`,
        tool_name: "Bash",
        tool_use_id: "t",
      },
    );
    await setting.addActor("bob", "codex");
    const bob = setting.launches.launch(setting.group, "bob");
    const turn = codex("u1");
    for (const payload of [
      turn.start(),
      turn.prompt({ prompt: secret(0) }),
      turn.pre("c1", "Bash", { tool_input: secret(1) }),
    ])
      await setting.submit(bob, payload);
    // What goes wrong must not tell either.
    writeFileSync(setting.recordsPath("bob"), `{"${secret(1)}"`);
    await assert.rejects(
      setting.submit(bob, turn.post("c1", "Bash", { tool_response: secret(7) })),
      (error: Error) => {
        for (const one of secrets)
          assert.ok(!JSON.stringify([error, error.message, error.stack]).includes(one));
        return true;
      },
    );
    writeFileSync(setting.recordsPath("bob"), "");
    setting.launches.end(bob);
    await seen(client, 8);
    setting.clock.advance(1000);
    const answers = [
      (await http.send("GET", `${base}/snapshot`, { headers: admin })).text,
      client.text(),
      JSON.stringify([setting.log.lines, http.log.lines, setting.ledger()]),
    ];
    const files = readdirSync(setting.root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"));
    assert.ok(
      files.some((text) => text.includes('"tool_name":"Bash"')),
      "the Home was looked at",
    );
    for (const text of [...answers, ...files]) for (const one of secrets) assert.ok(!text.includes(one), one);
  });
});
