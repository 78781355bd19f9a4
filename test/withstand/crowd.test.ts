/** Many at once: writers, Groups and readers of streams, some of whom never read. */

import assert from "node:assert/strict";
import { findEndpoint } from "../../client/connection.ts";
import { LIMITS } from "../../shared/limits.ts";
import { HEADERS } from "../../shared/names.ts";
import { DaemonProcess } from "../support/daemon-process.ts";
import { messageOf, textOf } from "../support/events.ts";
import { until } from "../support/until.ts";
import { StreamClient } from "./stream-client.ts";

const MiB = 1024 * 1024;

describe("a crowd", function () {
  this.timeout(240_000);
  let daemon: DaemonProcess;

  beforeEach(async () => {
    daemon = await DaemonProcess.started();
  });
  afterEach(() => daemon.dispose());

  it("64 writers to one Group: each message once, each writer in its own order", async () => {
    const writers = 64;
    const each = 40;
    const user = daemon.client();
    const group = await user.result("group_create", { title: "one" });
    const { group_id: groupId } = group;
    await user.result("actor_add", { group_id: groupId, actor_id: "a" });
    await Promise.all(
      Array.from({ length: writers }, async (_, writer) => {
        const client = daemon.client();
        for (let number = 0; number < each; number++) {
          const text = `${writer}:${number}`;
          const { duplicate } = await client.result("send", {
            group_id: groupId,
            to: ["a"],
            text,
            client_id: text,
          });
          assert.equal(duplicate, false);
        }
      }),
    );
    const texts: string[] = [];
    let before: string | undefined;
    for (;;) {
      const page = await user.result("ledger_tail", {
        group_id: groupId,
        before,
        limit: 200,
        kinds: ["chat.message"],
      });
      texts.unshift(...page.events.map((event) => messageOf(event).text));
      if (!page.has_more) break;
      before = page.events[0]!.id;
    }
    assert.equal(texts.length, writers * each);
    for (let writer = 0; writer < writers; writer++) {
      const own = texts.filter((text) => text.startsWith(`${writer}:`));
      assert.deepEqual(
        own,
        Array.from({ length: each }, (_, number) => `${writer}:${number}`),
      );
    }
    const { problems } = await user.result("ledger_verify", { group_id: groupId });
    assert.deepEqual(problems, []);
  });

  it("200 Groups at once, there again after a kill", async () => {
    const user = daemon.client();
    const before = daemon.residentBytes();
    const made = await Promise.all(
      Array.from({ length: 200 }, async (_, number) => {
        const group = await user.result("group_create", { title: `group ${number}` });
        const { group_id: groupId } = group;
        await user.result("actor_add", { group_id: groupId, actor_id: "a" });
        const texts = Array.from({ length: 5 }, (_, index) => `${number}:${index}`);
        await Promise.all(
          texts.map((text) => user.result("send", { group_id: groupId, to: ["a"], text, client_id: text })),
        );
        return { group_id: groupId, texts };
      }),
    );
    const grown = daemon.residentBytes() - before;
    assert.ok(grown < 200 * MiB, `200 Groups took ${Math.round(grown / MiB)} MiB`);
    await daemon.kill();
    await daemon.start();
    const again = daemon.client();
    const { groups } = await again.result("group_list", {});
    assert.equal(groups.length, 200);
    await Promise.all(
      made.map(async ({ group_id: groupId, texts }) => {
        const { events } = await again.result("ledger_tail", { group_id: groupId, kinds: ["chat.message"] });
        assert.deepEqual(new Set(events.map(textOf)), new Set(texts));
        assert.equal(events.length, texts.length);
        const { problems } = await again.result("ledger_verify", { group_id: groupId });
        assert.deepEqual(problems, []);
      }),
    );
  });

  it("1,000 stream clients, 50 of whom never read: bounded memory, the others unharmed", async () => {
    const reading = 950;
    const silent = 50;
    const user = daemon.client();
    const group = await user.result("group_create", { title: "watched" });
    const { group_id: groupId } = group;
    await user.result("actor_add", { group_id: groupId, actor_id: "a" });
    const { socketPath, key } = findEndpoint(daemon.home);
    const path = `/api/v1/groups/${groupId}/ledger/stream`;
    const open = (reads: boolean): StreamClient =>
      new StreamClient({ path: socketPath }, path, { [HEADERS.socketKey]: key }, reads);
    const readers: StreamClient[] = [];
    // Not more at once than the kernel lets wait on any machine.
    while (readers.length < reading) {
      readers.push(...Array.from({ length: Math.min(50, reading - readers.length) }, () => open(true)));
      await until("every reader's stream is open", () => readers.every(({ isOpen }) => isOpen), 60_000).catch(
        (error: unknown) => {
          const states = new Set(readers.map(({ failure, status }) => failure ?? status));
          throw new Error(`${readers.length} streams: ${[...states].join(", ")}`, { cause: error });
        },
      );
    }
    const slow = Array.from({ length: silent }, () => open(false));
    const { token } = await user.result("access_token_create", {});
    const { web_origin: webOrigin } = await user.result("daemon_status", {});
    await until("every stream is open", async () => {
      const answer = await fetch(`${webOrigin}/metrics`, { headers: { authorization: `Bearer ${token}` } });
      return new RegExp(`^svc_streams\\S* ${reading + silent}$`, "m").test(await answer.text());
    });
    const begun = performance.now();
    const before = daemon.residentBytes();
    let highest = before;
    const sent: string[] = [];
    /** More than a silent client's buffer and what the kernel keeps for it. */
    const rounds = Math.ceil((2 * LIMITS.stream.bufferBytes) / 60_000);
    for (let round = 0; round < rounds; round++) {
      const text = "x".repeat(60_000);
      const { event } = await user.result("send", { group_id: groupId, to: ["a"], text });
      sent.push(event.id);
      await until("the readers keep up", () => readers.every(({ ids }) => ids.length >= sent.length), 60_000);
      highest = Math.max(highest, daemon.residentBytes());
    }
    for (const { ids } of readers) assert.deepEqual(ids, sent);
    const bound = silent * LIMITS.stream.bufferBytes + 64 * MiB;
    assert.ok(
      highest - before < bound,
      `memory grew by ${Math.round((highest - before) / MiB)} MiB, the bound is ${bound / MiB}`,
    );
    for (const client of slow) client.read();
    await until("the silent ones are closed", () => slow.every(({ isClosed }) => isClosed));
    // Who hasn't even read that after a whole heartbeat is cut off without it.
    const told = slow.filter(({ resumeAfter }) => resumeAfter !== null);
    const inTime = performance.now() - begun < LIMITS.stream.heartbeatSeconds * 1000;
    assert.ok(told.length === silent || !inTime, `${told.length} of ${silent} were told to resume`);
    for (const client of slow) assert.deepEqual(client.ids, sent.slice(0, client.ids.length));
    for (const { resumeAfter, ids } of told) {
      assert.equal(resumeAfter, ids.at(-1), "it is told to resume after what it was sent last");
    }
    const resumed = new StreamClient(
      { path: socketPath },
      `${path}?after=${slow[0]!.ids.at(-1)}`,
      { [HEADERS.socketKey]: key },
      true,
    );
    const rest = sent.slice(slow[0]!.ids.length);
    await until("the rest comes after resuming", () => resumed.ids.length >= rest.length);
    assert.deepEqual(resumed.ids, rest);
    for (const client of [...readers, ...slow, resumed]) client.close();
    const { problems } = await user.result("ledger_verify", { group_id: groupId });
    assert.deepEqual(problems, []);
  });
});
