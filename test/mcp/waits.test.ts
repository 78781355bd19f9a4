/** Waiting for messages: signs of life, cancellation, and clients that go away. */

import assert from "node:assert/strict";
import { mock } from "node:test";
import { ToolCaller } from "../../mcp-server/call.ts";
import { deriveTools } from "../../mcp-server/derive.ts";
import { LIMITS } from "../../shared/limits.ts";
import { ENVIRONMENT } from "../../shared/names.ts";
import { DaemonProcess } from "../support/daemon-process.ts";
import { until } from "../support/until.ts";
import { McpProcess } from "../withstand/mcp-process.ts";
import { Peer, type Taken } from "./peer.ts";

describe("waiting over MCP", () => {
  let daemon: DaemonProcess;
  let groupId: string;
  let tokenFile: string;

  beforeEach(async () => {
    daemon = await DaemonProcess.started();
    const user = daemon.client();
    groupId = (await user.result("group_create", { title: "Waits" })).group_id;
    ({ token_file: tokenFile } = await user.result("actor_add", { group_id: groupId, actor_id: "ada" }));
  });
  afterEach(() => daemon.dispose());

  function raw(): McpProcess {
    return new McpProcess(daemon.home, { [ENVIRONMENT.actorFile]: tokenFile });
  }

  function read(id: number): string {
    const params = { name: "svc_inbox_read", arguments: { wait_seconds: 50 } };
    return JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params });
  }

  async function presence(): Promise<string> {
    const { actors } = await daemon.client().result("actor_list", { group_id: groupId });
    return actors[0]?.presence.state ?? "";
  }

  async function send(text: string, messageMode: "send" | "mail" = "send"): Promise<string> {
    return (
      await daemon
        .client()
        .result("send", { group_id: groupId, to: ["ada"], text, message_mode: messageMode })
    ).event.id;
  }

  async function wasRead(eventId: string): Promise<boolean | undefined> {
    const { statuses } = await daemon
      .client()
      .result("ledger_statuses", { group_id: groupId, event_ids: [eventId] });
    return statuses[eventId]?.read_status["ada"];
  }

  async function delivery(eventId: string): Promise<string | undefined> {
    const { statuses } = await daemon
      .client()
      .result("ledger_statuses", { group_id: groupId, event_ids: [eventId] });
    return statuses[eventId]?.delivery_status["ada"]?.state;
  }

  it("hands out again what a killed client had taken", async () => {
    const dying = raw();
    await dying.initialize();
    const mail = await send("read me", "mail");
    const event = await send("take me");
    const taken = (await dying.tool("svc_inbox_read", { wait_seconds: 5 })).result as Taken;
    assert.deepEqual(
      taken.messages.map((message) => message.event.id),
      [mail, event],
    );
    assert.equal(await delivery(event), "claimed");
    assert.equal(await wasRead(mail), false);
    await dying.kill();

    const next = await Peer.connected(daemon, tokenFile);
    const again = (await next.result("svc_inbox_read", { wait_seconds: 20 })) as unknown as Taken;
    assert.deepEqual(
      again.messages.map((message) => [message.event.id, message.redelivered]),
      [
        [mail, true],
        [event, true],
      ],
    );
    await next.result("svc_inbox_read", { wait_seconds: 0, ack: again.batch_id });
    assert.equal(await delivery(event), "accepted");
    assert.equal(await wasRead(mail), true);
    const nothing = (await next.result("svc_inbox_read", { wait_seconds: 0 })) as unknown as Taken;
    assert.deepEqual(nothing.messages, []);
    await next.close();
  });

  it("ends with its client while it waits, and takes nothing with it", async () => {
    const waiting = raw();
    await waiting.initialize();
    waiting.write(read(1));
    await until("the wait", async () => (await presence()) !== "stopped");
    await waiting.end();
    assert.equal(waiting.exitCode, 0);
    const event = await send("after the end");
    const next = await Peer.connected(daemon, tokenFile);
    const taken = (await next.result("svc_inbox_read", { wait_seconds: 10 })) as unknown as Taken;
    assert.equal(taken.messages[0]?.event.id, event);
    assert.equal(taken.messages[0]?.redelivered, false);
    await next.close();
  });

  it("hands back a cancelled wait", async () => {
    const peer = await Peer.connected(daemon, tokenFile);
    const cancel = new AbortController();
    const waiting = peer.tool("svc_inbox_read", { wait_seconds: 50 }, cancel.signal);
    await until("the wait", async () => (await presence()) !== "stopped");
    cancel.abort();
    await assert.rejects(waiting);
    // A call behind the cancellation: when it is answered, the daemon has seen both.
    await peer.result("svc_bootstrap");
    const event = await send("after the cancellation");
    const taken = (await peer.result("svc_inbox_read", { wait_seconds: 10 })) as unknown as Taken;
    assert.equal(taken.messages[0]?.event.id, event);
    await peer.close();
  });

  it("loses no direct message to cancellations at the moment of its arrival", async () => {
    const peer = await Peer.connected(daemon, tokenFile);
    const rounds = 60;
    const seen = new Set<string>();
    const sent: string[] = [];
    const note = (taken: unknown): number => {
      const { messages } = taken as Taken;
      for (const { event } of messages) seen.add(event.id);
      return messages.length;
    };
    for (let round = 0; round < rounds; round++) {
      const cancel = new AbortController();
      const waiting = peer.tool("svc_inbox_read", { wait_seconds: 20 }, cancel.signal).then(
        (answer) => note(answer.result),
        () => 0,
      );
      const arrived = send(`at the last moment ${round}`);
      await new Promise((resolve) => setTimeout(resolve, round % 6));
      cancel.abort();
      sent.push(await arrived);
      await waiting;
    }
    await until("everything was handed out", async () => {
      note(await peer.result("svc_inbox_read", { wait_seconds: 0 }));
      return sent.every((id) => seen.has(id));
    });
    await peer.close();
  });

  it("opens nothing before a tool needs the daemon", async () => {
    await daemon.stop();
    const server = raw();
    await server.initialize();
    assert.ok((await server.request("tools/list", {})).result);
    await daemon.start();
    assert.equal((await server.tool("svc_bootstrap", {})).ok, true);
    await server.end();
  });
});

describe("signs of life", () => {
  it("come every 15 seconds of a wait, and end with it", async () => {
    mock.timers.enable({ apis: ["setInterval"] });
    try {
      let answer: (envelope: { ok: true; result: object }) => void = () => undefined;
      let calls = 0;
      const caller = new ToolCaller(deriveTools(), {
        group: async () => "g_000000000000",
        call: () => {
          calls++;
          return new Promise((resolve) => {
            answer = resolve;
          });
        },
      });
      const shown: number[] = [];
      const result = caller.call(
        "svc_inbox_read",
        {},
        { signal: new AbortController().signal, progress: (seconds) => shown.push(seconds) },
      );
      await until("the call", () => calls === 1);
      mock.timers.tick(LIMITS.inbox.progressSeconds * 1000 * 3);
      assert.deepEqual(shown, [15, 30, 45]);
      answer({ ok: true, result: {} });
      assert.equal((await result)?.isError, undefined);
      mock.timers.tick(LIMITS.inbox.progressSeconds * 1000);
      assert.deepEqual(shown, [15, 30, 45]);
    } finally {
      mock.timers.reset();
    }
  });
});
