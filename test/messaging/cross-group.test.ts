/**
 * Crashes between the two appends of a cross-group message, with a disk that fails where the test
 * says.
 */

import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { remoteId } from "../../daemon/messaging/messages/cross-group.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { Caller } from "../../shared/operations/caller.ts";
import { textOf } from "../support/events.ts";
import { diskError, FaultyFiles } from "../support/faulty-files.ts";
import { until } from "../support/until.ts";
import { refusal, TestHome } from "./setting.ts";

describe("A message between two Groups", () => {
  let home: TestHome;
  let from: string;
  let to: string;
  beforeEach(async () => {
    home = await TestHome.open();
    from = await home.group("dev");
    to = await home.group("boss");
  });
  afterEach(() => home.remove());

  const send = (clientId?: string) =>
    home.call("send_cross_group", {
      group_id: from,
      dst_group_id: to,
      text: "across",
      message_mode: "request_reply",
      ...(clientId === undefined ? {} : { client_id: clientId }),
    });
  const arrived = (): number =>
    home.registry
      .get(to)
      .ledger.page({ limit: 200 })
      .events.filter((event) => textOf(event) === "across").length;
  /**
   * Appends of one Group of these kinds stop answering, as in a daemon that dies there, or are
   * refused.
   */
  const breakAt = (groupId: string, kind: string, how: "hangs" | "fails"): Promise<void> => {
    const { ledger } = home.registry.get(groupId);
    const append = ledger.appendAll.bind(ledger);
    return new Promise((reached) => {
      ledger.appendAll = (events) => {
        if (!events.some((event) => event.kind === kind)) return append(events);
        reached();
        return how === "hangs" ? new Promise(() => {}) : Promise.reject(new Error("EIO"));
      };
    });
  };

  /** Dies before it arrives; the next daemon can't open where it comes from at first. */
  const openedLate = async (clientId?: string): Promise<void> => {
    const reached = breakAt(to, "chat.message", "hangs");
    void send(clientId).catch(() => {});
    await reached;
    const files = new FaultyFiles();
    files.fail = (step, path) => (step === "open" && path.includes(from) ? diskError("EIO") : null);
    home = await TestHome.open({ root: home.root, files });
    assert.equal(home.registry.find(from), undefined);
    files.fail = () => null;
  };

  for (const [where, groupId, kind] of [
    ["before it arrives", () => to, "chat.message"],
    ["before the receipt", () => from, "chat.cross_group_receipt"],
  ] as const) {
    it(`arrives once when the daemon dies ${where}`, async () => {
      const reached = breakAt(groupId(), kind, "hangs");
      void send("k").catch(() => {});
      await reached;
      home = await home.restarted();
      assert.equal(arrived(), 1);
      assert.equal(home.messaging.get(from).projection.halfDone.size, 0);
      const retry = await send("k");
      assert.equal(retry.duplicate, true);
      assert.equal(retry.event.id, remoteId(from, retry.source_event.id));
      home = await home.restarted();
      assert.equal(arrived(), 1);
    });
  }

  it("is known as half done to a rebuild as well", async () => {
    const reached = breakAt(to, "chat.message", "hangs");
    void send().catch(() => {});
    await reached;
    assert.equal(home.messaging.get(from).projection.halfDone.size, 1);
    const { problems } = await home.call("ledger_verify", { group_id: from });
    assert.deepEqual(problems, []);
  });

  it("says that it failed when it can't be recorded there, and a retry brings it", async () => {
    void breakAt(to, "chat.message", "fails");
    await assert.rejects(send("k"), /internal error/);
    home = await home.restarted();
    assert.equal(arrived(), 0);
    const { events } = home.registry.get(from).ledger.page({ limit: 200, kinds: new Set(["chat.message"]) });
    const source = events.at(-1)!.id;
    assert.equal((await home.status(from, source)).delivery_status[to]?.state, "failed");
    const retry = await send("k");
    assert.deepEqual([retry.source_event.id, retry.duplicate], [source, true]);
    assert.equal((await home.status(from, source)).delivery_status[to]?.state, "accepted");
    assert.equal(arrived(), 1);
  });

  it("ends as failed when its destination was deleted before it arrived", async () => {
    const reached = breakAt(to, "chat.message", "hangs");
    void send().catch(() => {});
    await reached;
    await home.call("group_delete", { group_id: to, confirm: to });
    home = await home.restarted();
    await until(() => home.messaging.get(from).projection.halfDone.size === 0);
    const { events } = home.registry.get(from).ledger.page({ limit: 200, kinds: new Set(["chat.message"]) });
    const status = (await home.status(from, events.at(-1)!.id)).delivery_status[to];
    assert.deepEqual([status?.state, status?.reason], ["failed", "group_not_found"]);
    await assert.rejects(send(), refusal("group_not_found"));
  });

  describe("with a file that takes long to keep", () => {
    let attachments: { sha256: string; name: string; mime_type: string }[];
    /** Sends with the file; `meanwhile` runs while it is being kept. */
    const sendSlowly = async (meanwhile: () => Promise<void>, as?: Caller) => {
      const { blobs } = home.messaging.get(from);
      const keep = blobs.send.bind(blobs);
      let reached = (): void => {};
      const keeping = new Promise<void>((resolve) => (reached = resolve));
      let goOn = (): void => {};
      const over = new Promise<void>((resolve) => (goOn = resolve));
      blobs.send = async (digests, count, append) => {
        reached();
        await over;
        return keep(digests, count, append);
      };
      const input = { group_id: from, dst_group_id: to, text: "across", attachments, to: ["boss"] };
      const sent = home.call("send_cross_group", input, as === undefined ? {} : { as });
      sent.catch(() => {});
      await keeping;
      await meanwhile();
      goOn();
      return sent;
    };
    beforeEach(async () => {
      const { sha256 } = await home.messaging.upload(from, Readable.from([Buffer.from("a file")]), {
        name: "f",
        mime_type: "text/plain",
      });
      attachments = [{ sha256, name: "f", mime_type: "text/plain" }];
    });

    it("goes to the Actors that are there then", async () => {
      const { event } = await sendSlowly(async () => {
        await home.call("actor_remove", { group_id: to, actor_id: "boss" });
        await home.call("actor_add", { group_id: to, actor_id: "boss" });
      });
      const { generation } = home.registry.get(to).actor("boss");
      assert.deepEqual(event.data.to_generations, { boss: generation });
    });

    it("goes nowhere when nobody of the audience is there any more", async () => {
      const sent = sendSlowly(async () => {
        await home.call("actor_remove", { group_id: to, actor_id: "boss" });
      });
      await assert.rejects(sent, refusal("invalid_recipient"));
      assert.equal(home.messaging.get(from).projection.halfDone.size, 0);
      assert.equal(arrived(), 0);
    });

    it("answers nobody who took the id of whom it answers meanwhile", async () => {
      const as = home.actor(to, "boss");
      const input = { group_id: to, dst_group_id: from, text: "?", to: ["dev"] };
      const { event } = await home.call("send_cross_group", input, { as });
      const { blobs } = home.messaging.get(from);
      const keep = blobs.send.bind(blobs);
      blobs.send = async (digests, count, append) => {
        await home.call("actor_remove", { group_id: to, actor_id: "boss" });
        await home.call("actor_add", { group_id: to, actor_id: "boss" });
        return keep(digests, count, append);
      };
      const reply = home.call("reply", { group_id: from, event_id: event.id, text: "r", attachments });
      await assert.rejects(reply, refusal("invalid_recipient"));
      assert.deepEqual((await home.read(to, "boss")).texts, []);
    });

    it("isn't recorded after its sender's removal", async () => {
      const as = home.actor(from, "dev");
      const sent = sendSlowly(async () => {
        await home.call("actor_remove", { group_id: from, actor_id: "dev" });
      }, as);
      await assert.rejects(sent, refusal("invalid_launch_token"));
      assert.equal(home.messaging.get(from).projection.halfDone.size, 0);
      assert.equal(arrived(), 0);
    });
  });

  it("isn't answered to, nor followed up for, a new Actor under an old id", async () => {
    const as = home.actor(from, "dev");
    const input = { group_id: from, dst_group_id: to, text: "across", to: ["boss"] };
    const { event, source_event: sourceEvent } = await home.call("send_cross_group", input, { as });
    const anew = async (groupId: string, actorId: string) => {
      await home.call("actor_remove", { group_id: groupId, actor_id: actorId });
      await home.call("actor_add", { group_id: groupId, actor_id: actorId });
    };
    await anew(to, "boss");
    const followUp = { group_id: from, event_id: sourceEvent.id, text: "and?" };
    await assert.rejects(home.call("reply", followUp, { as }), refusal("invalid_recipient"));
    await anew(from, "dev");
    const files = [{ name: "a", bytes: 1 }];
    const check = { group_id: to, to: [], reply_to: event.id, files };
    await assert.rejects(home.call("message_upload_preflight", check), refusal("invalid_recipient"));
    const answer = { group_id: to, event_id: event.id, text: "done" };
    await assert.rejects(home.call("reply", answer), refusal("invalid_recipient"));
    assert.deepEqual((await home.read(from, "dev")).texts, []);
    assert.deepEqual((await home.read(to, "boss")).texts, []);
  });

  it("isn't cancelled any more when everybody replies while the other side is told", async () => {
    const { event, source_event: sourceEvent } = await send();
    const { ledger } = home.registry.get(to);
    const append = ledger.append.bind(ledger);
    let replied: Promise<unknown> = Promise.resolve();
    ledger.append = async (told) => {
      const as = home.actor(to, "boss");
      replied = home.call("reply", { group_id: to, event_id: event.id, text: "done" }, { as });
      await replied;
      return append(told);
    };
    const cancel = home.call("reply_request_cancel", { group_id: from, event_id: sourceEvent.id });
    await assert.rejects(cancel, refusal("already_replied"));
    await replied;
    const { obligation_status: obligationStatus } = await home.status(from, sourceEvent.id);
    assert.deepEqual(
      Object.values(obligationStatus).map(({ state }) => state),
      ["replied"],
    );
    const kinds = new Set(["chat.reply_request.cancelled"]);
    assert.deepEqual(home.registry.get(from).ledger.page({ limit: 200, kinds }).events, []);
  });

  it("arrives once when its Group can be opened late, though it is sent again just then", async () => {
    await openedLate("k");
    const again = new Promise<unknown>((sent) => home.registry.onChange(() => sent(send("k"))));
    home.clock.advance(LIMITS.group.reopenSeconds * 1000);
    await again;
    await until(() => home.messaging.get(from).projection.halfDone.size === 0);
    assert.equal(arrived(), 1);
  });

  it("arrives by itself when its Group can be opened late", async () => {
    await openedLate();
    home.clock.advance(LIMITS.group.reopenSeconds * 1000);
    await until(() => arrived() === 1);
  });

  it("appends once for calls at the same time", async () => {
    const sent = await Promise.all(Array.from({ length: 6 }, () => send("same")));
    assert.equal(new Set(sent.map(({ event }) => event.id)).size, 1);
    assert.equal(arrived(), 1);
  });
});

describe("A draft", () => {
  it("is kept for the person, durably, and removed with null", async () => {
    let home = await TestHome.open();
    const group = await home.group("dev");
    const get = () => home.call("draft_get", { group_id: group });
    assert.deepEqual(await get(), { draft: null, updated_at: null });
    await home.call("draft_put", { group_id: group, draft: null });
    const puts = ["one", "two", "three"].map((text) =>
      home.call("draft_put", { group_id: group, draft: { text, to: ["dev"] } }),
    );
    await Promise.all(puts);
    home = await home.restarted();
    assert.equal((await get()).draft?.text, "three");
    await home.call("draft_put", { group_id: group, draft: null });
    home = await home.restarted();
    assert.deepEqual(await get(), { draft: null, updated_at: null });
    await home.remove();
  });

  it("isn't half written into a Group that is deleted at the same time", async () => {
    const home = await TestHome.open();
    for (let round = 0; round < 10; round += 1) {
      const group = await home.group("dev");
      const put = home.call("draft_put", { group_id: group, draft: { text: "late" } });
      const [kept] = await Promise.allSettled([
        put,
        home.call("group_delete", { group_id: group, confirm: group }),
      ]);
      if (kept.status === "rejected") refusal("group_not_found")(kept.reason);
      assert.equal(home.registry.find(group), undefined);
    }
    await home.remove();
  });

  it("isn't replaced by a text that was made from an older one", async () => {
    const home = await TestHome.open();
    const group = await home.group("dev");
    const put = (text: string | null, basedOn: string | null) =>
      home.call("draft_put", { group_id: group, draft: text === null ? null : { text }, based_on: basedOn });
    const first = await put("one", null);
    await assert.rejects(put("two", null), refusal("conflict"));
    await assert.rejects(put(null, null), refusal("conflict"));
    home.clock.advance(1);
    const second = await put("three", first.updated_at);
    await assert.rejects(put("four", first.updated_at), refusal("conflict"));
    assert.equal((await home.call("draft_get", { group_id: group })).draft?.text, "three");
    await put(null, second.updated_at);
    await put("five", null);
    await home.remove();
  });
});
