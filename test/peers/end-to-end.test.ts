/**
 * From one Group into another and back: sender, wire and receiver together, whatever the wire does.
 */
import assert from "node:assert/strict";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ConnectPeerOperation } from "../../shared/wire/v1/peer.ts";
import { refusal } from "../messaging/setting.ts";
import { verifies } from "../requirements.ts";
import { type Way } from "./injected-authority.ts";
import { DOWN, UP } from "./memory-transport.ts";
import { MINUTE, Pair, SECOND, type Side } from "./sending-setting.ts";

type Op = ConnectPeerOperation["op"];
const CANCELLED = "chat.reply_request.cancelled";

for (const way of ["account", "external", "direct"] as const satisfies Way[]) {
  describe(`Between two instances, ${way}`, () => {
    let pair: Pair;
    let here: Side;
    let there: Side;

    beforeEach(async () => {
      pair = await Pair.open(way);
      ({ here, there } = pair);
    });

    afterEach(() => pair.close());

    /** Sends from here and waits for the receipt; both events. */
    async function delivered(more: Parameters<Pair["send"]>[0] = {}) {
      const { source_event: sourceEvent } = await pair.send(more);
      await ended(here, sourceEvent.id);
      const arrived = there.messages().find(({ data }) => data.src_event_id === sourceEvent.id);
      assert.ok(arrived !== undefined);
      return { sent: sourceEvent, arrived };
    }

    /** Lets time pass until the work of this source event has ended. */
    async function ended(side: Side, eventId: string, minutes = 20): Promise<void> {
      const isEnded = () => side.receipts().some(({ data }) => data.source_event_id === eventId);
      for (let passed = 0; passed < minutes * MINUTE && !isEnded(); ) {
        const step = passed < MINUTE ? SECOND : 5 * SECOND;
        await pair.pass(step, step);
        passed += step;
      }
      assert.ok(isEnded(), JSON.stringify(side.home.log.lines));
    }

    const reply = async (
      side: Side,
      eventId: string,
      text: string,
      more: { by?: string; to?: string[] } = {},
    ) => {
      const input = { group_id: side.group_id, event_id: eventId, text, to: more.to ?? [] };
      const as = more.by === undefined ? {} : { as: side.actor(more.by) };
      const { event } = await side.home.call("reply", input, as);
      return event;
    };

    const obligations = async (side: Side, eventId: string) => {
      const { obligation_status: obligationStatus } = await side.home.status(side.group_id, eventId);
      return Object.fromEntries(Object.entries(obligationStatus).map(([who, { state }]) => [who, state]));
    };

    const ops = (side: Side): Op[] => side.transport.ops().map(({ op }) => op);

    /** Loses the first requests of a kind, or their answers. */
    function losing(count: number, what: "request" | "answer"): void {
      let left = count;
      here.transport.wire = async ({ operation }, carry) => {
        if (operation.op === "catalog" || left === 0) return carry();
        left -= 1;
        if (what === "answer") await carry();
        return { kind: "uncertain", reason: "the line broke" };
      };
    }

    it("files arrive whole, although the originals are gone", async () => {
      verifies("PEER-001", "PEER-018", "MSG-009");
      const project = `${here.home.root}-project`;
      mkdirSync(join(project, ".git"), { recursive: true });
      await here.home.call("attach", { path: project, group_id: here.group_id });
      writeFileSync(join(project, "plan.md"), "the plan");
      const { group_id: groupId, target_group_id: targetGroupId } = {
        group_id: here.group_id,
        target_group_id: there.group_id,
      };
      const { source_event: sourceEvent } = await here.home.call("connect_send_files", {
        group_id: groupId,
        instance_id: there.instance_id,
        target_group_id: targetGroupId,
        client_id: "files",
        paths: [join(project, "plan.md")],
      });
      rmSync(project, { recursive: true });
      await ended(here, sourceEvent.id);
      const [attachment] = there.messages()[0]!.data.attachments as { sha256: string; name: string }[];
      assert.equal(attachment?.name, "plan.md");
      const parts: Uint8Array[] = [];
      const { chunks } = there.home.messaging.openBlob(there.group_id, attachment.sha256);
      for await (const part of chunks) parts.push(part);
      assert.equal(Buffer.concat(parts).toString(), "the plan");
    });

    it("replies go both ways, each under its message, and close what they answer", async () => {
      verifies("PEER-001", "RPL-002", "RPL-003", "RPL-004", "RPL-005", "RPL-006", "RPL-013", "MSG-010");
      here.transport.wire = DOWN;
      const request = { message_mode: "request_reply" as const, to: ["bob", "cat"] };
      const { source_event: question } = await pair.send(request);
      await assert.rejects(reply(here, question.id, "too soon"), refusal("connect_receipt_required"));
      here.transport.wire = UP;
      here.transport.reachable(there.instance_id);
      await ended(here, question.id);
      const asked = there.messages()[0]!;
      const owed = (id: string) => `connect:${there.instance_id}::${id}`;
      assert.deepEqual(await obligations(here, question.id), {
        [owed("bob")]: "open",
        [owed("cat")]: "open",
      });
      const answer = await reply(there, asked.id, "fine", { by: "bob" });
      await ended(there, answer.id);
      const arrived = here.messages().at(-1)!;
      assert.deepEqual(
        [arrived.data.text, arrived.data.reply_to, arrived.data.to, arrived.data.source_user_id],
        ["fine", question.id, ["user"], "bob"],
      );
      assert.deepEqual(await obligations(here, question.id), {
        [owed("bob")]: "replied",
        [owed("cat")]: "open",
      });
      assert.deepEqual(await obligations(there, asked.id), { bob: "replied", cat: "open" });
      const followUp = await reply(here, question.id, "and you?", { to: ["cat"] });
      await ended(here, followUp.id);
      const more = there.messages().at(-1)!;
      assert.deepEqual([more.data.text, more.data.reply_to, more.data.to], ["and you?", asked.id, ["cat"]]);
      const back = await reply(here, arrived.id, "thanks");
      await ended(here, back.id);
      const last = there.messages().at(-1)!;
      assert.deepEqual([last.data.text, last.data.reply_to, last.data.to], ["thanks", answer.id, ["bob"]]);
    });

    it("a reply to somebody who was added anew isn't delivered, and the one that replies is told", async () => {
      verifies("RPL-012", "OUT-028", "EVT-003", "EVT-004");
      const { source_event: question } = await pair.send(
        { message_mode: "request_reply" },
        here.actor("ann"),
      );
      await ended(here, question.id);
      await here.home.call("actor_remove", { group_id: here.group_id, actor_id: "ann" });
      await here.home.call("actor_add", { group_id: here.group_id, actor_id: "ann" });
      const answer = await reply(there, there.messages()[0]!.id, "for the old ann", { by: "bob" });
      await ended(there, answer.id);
      const state = await there.delivery(answer.id);
      assert.deepEqual([state?.state, state?.error?.code], ["failed", "connect_recipient_replaced"]);
      assert.deepEqual(
        there.notices().map(({ data }) => data.target_actor_id),
        ["bob"],
      );
      assert.equal(here.messages().length, 1);
    });

    it("a request is withdrawn from either side, on both", async () => {
      verifies("CAN-010", "CAN-011", "CAN-012", "CAN-014", "CAN-024", "CAN-026", "EVT-012");
      for (const canceller of [here, there]) {
        const { sent, arrived } = await delivered({ message_mode: "request_reply" });
        const own = canceller === here ? sent : arrived;
        const { event: control } = await canceller.home.call("reply_request_cancel", {
          group_id: canceller.group_id,
          event_id: own.id,
        });
        await ended(canceller, control.id);
        for (const [side, event] of [
          [here, sent],
          [there, arrived],
        ] as const) {
          assert.deepEqual(Object.values(await obligations(side, event.id)), ["cancelled"]);
          const { connect_cancellation: connectCancellation } = await side.home.status(
            side.group_id,
            event.id,
          );
          assert.equal(connectCancellation?.state, "sent");
        }
        assert.equal((await here.delivery(sent.id))?.state, "sent");
      }
      assert.deepEqual([here.events(CANCELLED).length, there.events(CANCELLED).length], [2, 2]);
    });

    it("a withdrawal leaves the message where it arrived, and follow-ups stand under it", async () => {
      verifies("CAN-005");
      const { sent, arrived } = await delivered({ message_mode: "request_reply" });
      const { event: control } = await here.home.call("reply_request_cancel", {
        group_id: here.group_id,
        event_id: sent.id,
      });
      await ended(here, control.id);
      assert.deepEqual(await here.delivery(sent.id), { state: "sent", remote_event_id: arrived.id });
      const followUp = await reply(here, sent.id, "never mind");
      await ended(here, followUp.id);
      assert.deepEqual(
        [there.messages().at(-1)?.data.text, there.messages().at(-1)?.data.reply_to],
        ["never mind", arrived.id],
      );
    });

    it("names of instances are what they were called, and nothing depends on them", async () => {
      verifies("MSG-031", "MSG-032", "MSG-027");
      losing(1, "answer");
      const { source_event: sourceEvent } = await pair.send();
      await pair.eventually(() => there.messages().length === 1);
      for (const { authority } of [here, there]) {
        authority.grants = authority.grants.map((grant) => ({
          ...grant,
          local: { ...grant.local, name: `${grant.local.name}, renamed` },
          remote: { ...grant.remote, name: `${grant.remote.name}, renamed` },
        }));
        authority.changed();
      }
      await ended(here, sourceEvent.id);
      assert.equal((await here.delivery(sourceEvent.id))?.state, "sent");
      const [arrived, ...twice] = there.messages();
      assert.deepEqual(twice, []);
      assert.deepEqual(
        [arrived?.data.src_instance_name, arrived?.data.dst_instance_name, arrived?.data.source_platform],
        ["Machine here", "Machine there", "svc_connect"],
      );
      assert.equal(sourceEvent.data.dst_instance_name, "Machine there");
      const { arrived: next } = await delivered();
      assert.deepEqual(
        [next.data.src_instance_name, next.data.dst_instance_name],
        ["Machine here, renamed", "Machine there, renamed"],
      );
    });

    it("a request that never arrived is withdrawn for good", async () => {
      verifies("CAN-015", "CAN-017", "CAN-018");
      here.transport.wire = ({ operation }, carry) =>
        operation.op === "cancel" ? carry() : { kind: "uncertain", reason: "the line broke" };
      const { source_event: question } = await pair.send({ message_mode: "request_reply" });
      await pair.pass(30 * SECOND);
      const { event: control } = await here.home.call("reply_request_cancel", {
        group_id: here.group_id,
        event_id: question.id,
      });
      await pair.pass(2 * MINUTE);
      assert.ok(ops(here).includes("cancel"));
      assert.equal(there.events(CANCELLED).length, 0);
      await ended(here, control.id);
      await ended(here, question.id);
      const [noted] = there.events(CANCELLED);
      assert.deepEqual([noted?.data.not_delivered, noted?.data.source_event_id], [true, null]);
      assert.equal((await here.delivery(question.id))?.state, "unconfirmed");
      assert.equal(there.messages().length, 0);
    });

    it("an answer that was lost is asked for, and nothing is delivered twice", async () => {
      verifies("OUT-038", "PEER-041");
      losing(2, "answer");
      const { arrived } = await delivered();
      assert.deepEqual(ops(here), ["deliver", "receipt", "receipt"]);
      assert.deepEqual(there.messages(), [arrived]);
    });

    it("what was lost is sent again by the other side's word alone", async () => {
      verifies("OUT-039", "PEER-041");
      losing(1, "request");
      const { arrived } = await delivered();
      assert.deepEqual(ops(here), ["deliver", "receipt", "deliver"]);
      assert.deepEqual(there.messages(), [arrived]);
    });

    it("both sides may restart at any moment: one message, one receipt", async () => {
      verifies("OUT-011", "OUT-035");
      losing(1, "answer");
      const { source_event: sourceEvent } = await pair.send({ message_mode: "request_reply" });
      await pair.pass(SECOND);
      await there.restart();
      await here.restart();
      await ended(here, sourceEvent.id);
      assert.equal(there.messages().length, 1);
      assert.equal(here.receipts().length, 1);
      assert.deepEqual(Object.values(await obligations(there, there.messages()[0]!.id)), ["open"]);
    });

    it("a message for an Actor that was added anew ends as failed, with a notice", async () => {
      verifies("MSG-055", "EVT-003");
      here.transport.wire = DOWN;
      const { source_event: sourceEvent } = await pair.send();
      await pair.pass(SECOND);
      await there.home.call("actor_remove", { group_id: there.group_id, actor_id: "bob" });
      await there.home.call("actor_add", { group_id: there.group_id, actor_id: "bob" });
      here.transport.wire = UP;
      await ended(here, sourceEvent.id);
      const state = await here.delivery(sourceEvent.id);
      assert.deepEqual([state?.state, state?.error?.code], ["failed", "connect_recipient_replaced"]);
      assert.equal(there.messages().length, 0);
      const [notice, ...more] = here.notices();
      assert.ok(notice !== undefined && more.length === 0);
      const counts = () => here.home.messaging.counts(here.group_id).unread;
      assert.equal(counts(), 1);
      await here.home.call("feed_read", { group_id: here.group_id, event_id: notice.id });
      assert.equal(counts(), 0);
    });

    it("a message for a Group that was reset never arrives in the new one", async () => {
      verifies("MSG-023", "DRC-037");
      losing(1, "answer");
      const { source_event: received } = await pair.send();
      await pair.pass(SECOND);
      here.transport.wire = DOWN;
      const { source_event: waiting } = await pair.send();
      await pair.pass(MINUTE);
      await there.home.call("group_reset", { group_id: there.group_id, confirm: there.group_id });
      here.transport.wire = UP;
      await ended(here, received.id);
      await ended(here, waiting.id);
      // What may have arrived before can't be known any more; over a pair nobody is told anything
      // about the new Group.
      assert.equal((await here.delivery(received.id))?.state, "unconfirmed");
      assert.equal((await here.delivery(waiting.id))?.state, way === "account" ? "failed" : "unconfirmed");
      assert.equal(there.messages().length, 0);
    });

    it("a Group that was reset and connected anew can be written to at once", async () => {
      verifies("MSG-023");
      await there.home.call("group_reset", { group_id: there.group_id, confirm: there.group_id });
      pair.grant();
      const { source_event: sourceEvent } = await pair.send();
      if (way === "account") {
        // Times alone tell it from what was written before, and clocks may differ by half a minute.
        await pair.pass(31 * SECOND);
        assert.equal(there.messages().length, 0);
        return;
      }
      await ended(here, sourceEvent.id);
      assert.equal((await here.delivery(sourceEvent.id))?.state, "sent");
      // Nor does it keep the other side from saying that something hasn't arrived.
      losing(1, "request");
      const { source_event: again } = await pair.send();
      await ended(here, again.id, 2);
      assert.equal((await here.delivery(again.id))?.state, "sent");
    });
  });
}
