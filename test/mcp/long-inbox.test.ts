/** An Inbox and a history with far more text than a client shows of one answer. */
import assert from "node:assert/strict";
import { DaemonProcess } from "../support/daemon-process.ts";
import { Peer } from "./peer.ts";

interface Read {
  messages: {
    event: { id: string; data: { text: string } };
    redelivered: boolean;
    part?: { from: number; to: number; bytes: number };
  }[];
  batch_id: string | null;
  has_more: boolean;
}

/** What real clients show a model whole. */
const SHOWN_BYTES = 60_000;

describe("an Inbox with more than a client shows", function () {
  this.timeout(120_000);
  let daemon: DaemonProcess;
  let groupId: string;
  const peers: Peer[] = [];

  before(async () => {
    daemon = await DaemonProcess.started();
    groupId = (await daemon.client().result("group_create", { title: "Long" })).group_id;
  });
  after(async () => {
    await Promise.all(peers.map((peer) => peer.close()));
    await daemon?.dispose();
  });

  async function added(actorId: string): Promise<{ peer: Peer; again: () => Promise<Peer> }> {
    const { token_file: file } = await daemon
      .client()
      .result("actor_add", { group_id: groupId, actor_id: actorId });
    const again = async (): Promise<Peer> => {
      const peer = await Peer.connected(daemon, file);
      peers.push(peer);
      return peer;
    };
    return { peer: await again(), again };
  }

  async function send(to: string, text: string, mode: "mail" | "send" = "mail"): Promise<void> {
    await daemon.client().result("send", { group_id: groupId, text, to: [to], message_mode: mode });
  }

  async function read(peer: Peer, more: Record<string, unknown> = {}): Promise<Read> {
    const answer = await peer.tool("svc_inbox_read", { wait_seconds: 0, limit: 200, ...more });
    assert.ok(answer.ok, answer.text);
    const bytes = Buffer.byteLength(answer.text);
    assert.ok(bytes <= SHOWN_BYTES, `${bytes} bytes in one answer`);
    return answer.result as unknown as Read;
  }

  const unread = async (actorId: string): Promise<string[]> => {
    const { messages } = await daemon
      .client()
      .result("inbox_peek", { group_id: groupId, actor_id: actorId, limit: 200 });
    return messages.map(({ data }) => data.text);
  };

  it("comes in batches that are shown whole, and only what was in one counts as read", async () => {
    const { peer } = await added("many");
    const texts = Array.from({ length: 20 }, (_, at) => `report ${at} ${"word ".repeat(1600)}`);
    for (const [at, text] of texts.entries()) await send("many", text, at % 3 === 2 ? "send" : "mail");
    const got: string[] = [];
    for (;;) {
      const { messages, has_more: hasMore } = await read(peer);
      assert.ok(messages.length > 0);
      const before = got.length;
      got.push(...messages.map(({ event }) => event.data.text));
      // This call acknowledged the batches before, and nothing of this one or later.
      const left = await unread("many");
      assert.deepEqual(
        left,
        texts.filter((_, at) => at >= before && at % 3 !== 2),
      );
      if (!hasMore) break;
    }
    assert.deepEqual(got, texts);
    assert.deepEqual((await read(peer)).messages, []);
    assert.deepEqual(await unread("many"), []);
  });

  it("says that there is more when its limit of messages leaves some out", async () => {
    const { peer } = await added("few");
    for (const mode of ["mail", "send"] as const)
      for (const text of ["one", "two"]) await send("few", `${mode} ${text}`, mode);
    assert.equal((await read(peer, { limit: 3 })).has_more, true);
    assert.equal((await read(peer, { limit: 3 })).has_more, false);
  });

  for (const mode of ["mail", "send"] as const) {
    it(`gives a message that is longer than an answer in parts, and counts it as taken with the last (${mode})`, async () => {
      const { peer, again } = await added(`long-${mode}`);
      const texts = [`${'"\n'.repeat(15_000)}é🙂${"x".repeat(30_000)}`, "short", "字".repeat(21_000)];
      for (const text of texts) await send(`long-${mode}`, text, mode);
      const first = await read(peer);
      assert.equal(first.messages.length, 1);
      assert.equal(first.batch_id, null);
      assert.equal(first.has_more, true);
      await peer.close();

      // The first part was lost with its session.
      const other = await again();
      const got: string[] = [];
      let rest = "";
      for (;;) {
        const { messages, has_more: hasMore, batch_id: batchId } = await read(other);
        for (const { event, part } of messages) {
          assert.equal(Buffer.byteLength(rest), part?.from ?? 0);
          rest += event.data.text;
          if (part !== undefined && part.to < part.bytes) assert.equal(batchId, null);
          else {
            got.push(rest);
            rest = "";
          }
        }
        if (!hasMore) break;
      }
      assert.deepEqual(got, texts);
      assert.deepEqual((await read(other)).messages, []);
    });
  }

  it("has a history in pages that are shown whole", async () => {
    const { peer } = await added("past");
    const texts = Array.from({ length: 12 }, (_, at) => `note ${at} ${"word ".repeat(1600)}`);
    for (const text of texts) await send("past", text);
    const got: string[] = [];
    let before: string | undefined;
    for (;;) {
      const asked = { limit: 200, ...(before === undefined ? {} : { before_event_id: before }) };
      const answer = await peer.tool("svc_message_history", asked);
      assert.ok(answer.ok, answer.text);
      assert.ok(Buffer.byteLength(answer.text) <= SHOWN_BYTES);
      const {
        events,
        has_more: hasMore,
        continue_before: next,
      } = answer.result as unknown as {
        events: { data: { text: string } }[];
        has_more: boolean;
        continue_before: string | null;
      };
      got.unshift(...events.map(({ data }) => data.text));
      assert.equal(hasMore, next !== null);
      if (next === null) break;
      before = next;
    }
    assert.deepEqual(got, texts);
  });
});
