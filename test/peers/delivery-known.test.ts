/** What is known of a message to another instance: failed, unconfirmed, or arrived. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Receipt } from "../../shared/wire/v1/message.ts";
import { refusal } from "../messaging/setting.ts";
import { verifies } from "../requirements.ts";
import { until } from "../support/until.ts";
import { InjectedAuthority } from "./injected-authority.ts";
import { DOWN, type Seen, signed, UP } from "./memory-transport.ts";
import { grantOf, MINUTE, Pair, rest, SECOND } from "./sending-setting.ts";

describe("what is known of a message", () => {
  let pair: Pair;
  beforeEach(async () => {
    pair = await Pair.open("direct");
  });
  afterEach(() => pair.close());

  it("is failed when its time ends before it ever left, with one notice for its sender", async () => {
    verifies("OUT-025", "OUT-028", "EVT-003", "EVT-004", "LIM-033", "OUT-016");
    const { here, there } = pair;
    here.transport.wire = DOWN;
    const { source_event: sourceEvent } = await pair.send({}, here.actor("ann"));
    await pair.pass(15 * MINUTE - 2 * SECOND, 5 * SECOND);
    assert.equal((await here.delivery(sourceEvent.id))?.state, "queued");
    assert.deepEqual(here.receipts(), []);
    await pair.pass(4 * SECOND);
    await pair.ended(here);
    const delivery = await here.delivery(sourceEvent.id);
    assert.equal(delivery?.state, "failed");
    assert.equal(delivery?.error?.code, "connect_delivery_expired");
    const [notice, ...more] = here.notices();
    assert.deepEqual(more, []);
    assert.equal(notice?.data.target_actor_id, "ann");
    assert.equal(notice?.data.related_event_id, sourceEvent.id);
    const handed = await here.home.read(here.group_id, "ann");
    assert.deepEqual(handed.texts, ["connect_delivery"]);
    assert.deepEqual(there.messages(), []);
    assert.deepEqual(here.transport.ops("receipt"), []);
  });

  it("is told to the person when the Actor that sent it is gone", async () => {
    verifies("OUT-029");
    const { here } = pair;
    here.transport.wire = DOWN;
    await pair.send({}, here.actor("ben"));
    await here.home.call("actor_remove", { group_id: here.group_id, actor_id: "ben" });
    await here.home.call("actor_add", { group_id: here.group_id, actor_id: "ben" });
    await pair.pass(15 * MINUTE + SECOND, 5 * SECOND);
    await pair.ended(here);
    assert.equal(here.notices()[0]?.data.target_actor_id, null);
  });

  it("is told to the person when that Actor goes while the notice waits for the Group", async () => {
    verifies("OUT-029");
    const { here } = pair;
    here.transport.wire = DOWN;
    await pair.send({}, here.actor("ben"));
    await pair.pass(15 * MINUTE - 10 * SECOND, 5 * SECOND);
    here.files.slow = "group";
    const removed = here.home.call("actor_remove", { group_id: here.group_id, actor_id: "ben" });
    await until(() => here.files.held.length > 0);
    await pair.pass(11 * SECOND);
    assert.deepEqual(here.receipts(), [], "the Actor's removal holds the Group");
    here.files.recover();
    await removed;
    await pair.ended(here);
    assert.equal(here.notices()[0]?.data.target_actor_id, null);
  });

  it("is unconfirmed when it may have left and nobody answered in its time", async () => {
    verifies("OUT-030", "OUT-032", "OUT-040");
    const { here } = pair;
    here.transport.wire = () => new Promise(() => {});
    const { source_event: sourceEvent } = await pair.send();
    await pair.pass(15 * MINUTE + 10 * SECOND, SECOND);
    await pair.ended(here);
    assert.equal((await here.delivery(sourceEvent.id))?.state, "unconfirmed");
    assert.equal(here.notices().length, 1);
    assert.equal(here.transport.ops("deliver").length, 1);
    assert.ok(here.transport.ops("receipt").length > 3);
  });

  it("takes no unsigned or foreign word for a receipt, and nothing but a signed null for leave to send again", async () => {
    verifies("OUT-023", "OUT-040", "PEER-021", "PEER-022");
    const { here, there } = pair;
    const receipt = (eventId: string) => ({
      ok: true as const,
      result: {
        receipt: {
          delivery_id: "",
          message_sha256: "",
          event_id: eventId,
          delivered_at: "2026-01-01T00:00:00Z",
        },
      },
    });
    const answers = [
      // Signed by us, to the right request.
      (request: Parameters<typeof signed>[1]) => signed(here.identity, request, receipt("0".repeat(32))),
      (request: Parameters<typeof signed>[1]) =>
        signed(here.identity, request, { ok: true, result: { receipt: null } }),
      // Signed by the target, about something else.
      (request: Parameters<typeof signed>[1]) => signed(there.identity, request, receipt("0".repeat(32))),
      (request: Parameters<typeof signed>[1]) => {
        const answer = signed(there.identity, request, { ok: true, result: { receipt: null } });
        if (answer.kind === "answered") answer.response.request_sha256 = "0".repeat(64);
        return answer;
      },
      // To another request of ours, with its own signature.
      (request: Parameters<typeof signed>[1]) => {
        const other = { ...request, proof: { ...request.proof, request_id: randomUUID() } };
        return signed(there.identity, other, { ok: true, result: { receipt: null } });
      },
    ];
    let next = 0;
    here.transport.wire = (request) => answers[next++ % answers.length]!(request);
    const { source_event: sourceEvent } = await pair.send();
    await pair.pass(3 * MINUTE);
    assert.ok(next >= 5);
    assert.equal(here.transport.ops("deliver").length, 1);
    assert.equal((await here.delivery(sourceEvent.id))?.state, "queued");
    assert.deepEqual(here.receipts(), []);
  });

  it("takes no receipt from the future, and a true one when it is asked for again", async () => {
    verifies("PEER-022");
    const { here, there } = pair;
    let ahead = 366 * 24 * 60 * MINUTE;
    here.transport.wire = async (request, carry) => {
      const outcome = await carry();
      if (outcome.kind !== "answered" || request.operation.op === "catalog") return outcome;
      const { result } = outcome.response;
      const { receipt } = (result as { result: { receipt: Receipt | null } }).result;
      if (receipt === null) return outcome;
      const deliveredAt = new Date(Date.parse(receipt.delivered_at) + ahead).toISOString();
      return signed(there.identity, request, {
        ok: true,
        result: { receipt: { ...receipt, delivered_at: deliveredAt } },
      });
    };
    const { source_event: sourceEvent } = await pair.send();
    await pair.pass(MINUTE);
    assert.equal((await here.delivery(sourceEvent.id))?.state, "queued");
    assert.deepEqual(here.receipts(), []);
    // As far as clocks may be apart while requests are still taken.
    ahead = 45 * SECOND;
    await pair.pass(2 * MINUTE);
    await pair.ended(here);
    assert.equal((await here.delivery(sourceEvent.id))?.state, "sent");
    assert.equal(there.messages().length, 1);
  });

  it("isn't ended by a refusal without a signature: it may have arrived, and is asked for before it goes again", async () => {
    verifies("OUT-040", "PEER-021");
    const { here, there } = pair;
    const asked: string[] = [];
    const code = "connect_message_invalid";
    here.transport.wire = ({ operation: { op } }) => {
      if (op !== "catalog") asked.push(op);
      return { kind: "denied", code, message: "Never heard of you.", details: {} };
    };
    const { source_event: sourceEvent } = await pair.send();
    await pair.pass(15 * MINUTE - 2 * SECOND, 5 * SECOND);
    assert.equal((await here.delivery(sourceEvent.id))?.state, "queued");
    await pair.pass(10 * SECOND);
    await pair.ended(here);
    const delivery = await here.delivery(sourceEvent.id);
    assert.equal(delivery?.state, "unconfirmed");
    assert.match(delivery?.error?.message ?? "", /said: \u201cNever heard of you\.\u201d/u);
    assert.deepEqual(new Set(asked.slice(1)), new Set(["receipt"]));
    assert.equal(asked[0], "deliver");
    assert.deepEqual(there.messages(), []);
  });

  it("quotes the other side's words: short, with nothing hidden in them, and never as the product's own", async () => {
    const { here, there } = pair;
    const name = here.authority.grants[0]!.remote.name;
    const message = `No.\u201d Run this:\u202e\n\u200b\u0000${"x".repeat(900)}`;
    here.transport.wire = (request, carry) =>
      request.operation.op === "deliver"
        ? signed(there.identity, request, { ok: false, error: { code: "connect_message_invalid", message } })
        : carry();
    const { source_event: sourceEvent } = await pair.send();
    await pair.ended(here);
    const error = (await here.delivery(sourceEvent.id))?.error;
    assert.equal(error?.code, "connect_message_invalid");
    const quoted = /^(.*) said: \u201c([^\u201c\u201d]*)\u201d$/u.exec(error?.message ?? "");
    assert.equal(quoted?.[1], name);
    const words = quoted?.[2] ?? "";
    assert.match(words, /^No\.’ Run this:\ufffd \ufffd\u2400x+\u2026$/u);
    assert.equal(Array.from(words).length, 300);
    const [notice] = here.notices();
    assert.ok(String(notice?.data.message).endsWith(`wasn't delivered. ${error?.message}`));
  });

  it("isn't sent by an answer that came when the grant had ended, whatever the answer says", async () => {
    verifies("PEER-023");
    const { here, there } = pair;
    here.transport.wire = async ({ operation }, carry) => {
      const answer = await carry();
      if (operation.op === "deliver") here.authority.grants = [];
      return answer;
    };
    const { source_event: sourceEvent } = await pair.send();
    await pair.ended(here);
    assert.equal(there.messages().length, 1);
    assert.equal((await here.delivery(sourceEvent.id))?.state, "unconfirmed");
  });

  it("ends when its grant is gone: failed when it never left, unconfirmed when it may have", async () => {
    verifies("OUT-026", "OUT-027", "OUT-031");
    const { here } = pair;
    here.transport.wire = DOWN;
    const first = await pair.send();
    await rest();
    here.authority.grants = [];
    here.authority.changed();
    await pair.ended(here);
    assert.equal((await here.delivery(first.source_event.id))?.state, "failed");
    here.transport.wire = UP;
    pair.grant();
    await pair.learn();
    here.transport.wire = () => ({ kind: "uncertain", reason: "broke" });
    const second = await pair.send();
    await pair.eventually(() => here.records()[0]?.progress.needs_receipt === true);
    await rest();
    here.authority.grants = [];
    here.authority.changed();
    await pair.ended(here, 2);
    assert.equal((await here.delivery(second.source_event.id))?.state, "unconfirmed");
  });

  it("doesn't leave any more when its grant ended while the disk was slow, and is known not to have left", async () => {
    const { here, there } = pair;
    here.files.slow = "/outbox/";
    const sending = pair.send();
    await until(() => here.files.held.length > 0);
    for (const go of here.files.held.splice(0)) go();
    const { source_event: sourceEvent } = await sending;
    await until(() => here.files.held.length > 0);
    here.authority.grants = [];
    here.authority.changed();
    here.files.recover();
    const [receipt] = await pair.ended(here);
    assert.equal(receipt!.data.status, "failed");
    assert.equal((await here.delivery(sourceEvent.id))?.state, "failed");
    assert.deepEqual(here.transport.ops(), []);
    assert.deepEqual(there.messages(), []);
  });

  it("keeps its own connection when the pair gets another way: only new messages take that", async () => {
    verifies("DRC-064", "DRC-065");
    const { here, there } = pair;
    const accounts = [here, there].map((side) => {
      const authority = new InjectedAuthority("account");
      side.home.services.outbound.authorities.add(authority, side.transport);
      return authority;
    });
    here.transport.wire = DOWN;
    const first = await pair.send({ text: "over the Direct connection" });
    await rest();
    const connection = here.authority.grants[0]!.connection_id;
    const kept = () => here.records().map(({ work }) => work.data.connection_id);
    assert.deepEqual(kept(), [connection]);
    // Another way is open, and the pin isn't there any more as far as anybody can say.
    accounts[0]!.grants = [grantOf("account", here, there)];
    accounts[1]!.grants = [grantOf("account", there, here)];
    here.authority.state = "unavailable";
    here.transport.wire = UP;
    here.transport.seen.length = 0;
    for (const authority of [here.authority, ...accounts]) authority.changed();
    await pair.pass(MINUTE, 5 * SECOND);
    assert.equal((await here.delivery(first.source_event.id))?.state, "queued");
    assert.deepEqual(kept(), [connection]);
    // It is removed.
    here.authority.grants = [];
    there.authority.grants = [];
    here.authority.changed();
    await pair.ended(here);
    assert.equal((await here.delivery(first.source_event.id))?.state, "failed");
    assert.deepEqual(here.transport.ops(), []);
    assert.deepEqual(there.messages(), []);
    await pair.eventually(() => here.transport.seen.length > 0);
    const second = await pair.send({ text: "over the account", to: ["user"] });
    await pair.ended(here, 2);
    assert.equal((await here.delivery(second.source_event.id))?.state, "sent");
    const [{ request }] = here.transport.ops("deliver") as [Seen];
    assert.equal(request.proof.connection_id, undefined);
    assert.deepEqual(
      there.messages().map(({ data }) => data.text),
      ["over the account"],
    );
  });

  it("waits while its grant can't be confirmed: that proves nothing", async () => {
    const { here } = pair;
    here.transport.wire = DOWN;
    const { source_event: sourceEvent } = await pair.send();
    await rest();
    here.transport.wire = UP;
    here.authority.state = "unavailable";
    here.authority.changed();
    await pair.pass(2 * MINUTE);
    assert.equal((await here.delivery(sourceEvent.id))?.state, "queued");
    here.authority.state = "granted";
    here.authority.changed();
    await pair.ended(here);
    assert.equal((await here.delivery(sourceEvent.id))?.state, "sent");
    await assert.rejects(async () => {
      here.authority.state = "unavailable";
      await pair.send();
    }, refusal("connect_unavailable"));
  });

  it("is failed by a signed, final refusal, but not before an earlier, unanswered POST is over", async () => {
    verifies("MSG-055", "MSG-023");
    const { here, there } = pair;
    let posts = 0;
    here.transport.wire = (request, carry) => {
      if (request.operation.op !== "deliver") return carry();
      posts += 1;
      return posts === 1 ? { kind: "uncertain", reason: "broke" } : carry();
    };
    const { source_event: sourceEvent } = await pair.send({ to: ["bob"] });
    await until(() => posts === 1);
    await there.home.call("actor_remove", { group_id: there.group_id, actor_id: "bob" });
    await there.home.call("actor_add", { group_id: there.group_id, actor_id: "bob" });
    await pair.pass(80 * SECOND);
    assert.equal((await here.delivery(sourceEvent.id))?.state, "queued");
    await pair.pass(30 * SECOND);
    await pair.ended(here);
    const delivery = await here.delivery(sourceEvent.id);
    assert.equal(delivery?.state, "failed");
    assert.equal(delivery?.error?.code, "connect_recipient_replaced");
    assert.deepEqual(there.messages(), []);
  });
});
