/**
 * Copies of a Group made by export and import: they act for the original neither here nor over a
 * connection.
 */
import assert from "node:assert/strict";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { receivedControl, receivedMessage } from "../../daemon/peers/receiving/receiver-receipt.ts";
import { originalOf } from "../../daemon/peers/receiving/receiver-reply.ts";
import { refusal } from "../messaging/setting.ts";
import { verifies } from "../requirements.ts";
import { DOWN } from "./memory-transport.ts";
import { Pair, type Side } from "./sending-setting.ts";

const WAYS = ["account", "direct"] as const;

for (const way of WAYS) {
  describe(`A copy of a connected Group (${way})`, () => {
    let pair: Pair;
    let folder: string;
    beforeEach(async () => {
      pair = await Pair.open(way);
      folder = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), "svc-copies-")));
    });
    afterEach(async () => {
      await pair.close();
      fs.rmSync(folder, { recursive: true, force: true });
    });

    const copyOf = async ({ home, group_id: groupId, name }: Side): Promise<string> => {
      const path = join(folder, name);
      await home.call("group_export", { group_id: groupId, path });
      const { group } = await home.call("group_import", { path });
      await home.call("group_start", { group_id: group.group_id });
      return group.group_id;
    };
    const openThere = () => pair.there.home.messaging.get(pair.there.group_id).projection.obligations.size;
    const openHere = () => pair.here.home.messaging.get(pair.here.group_id).projection.obligations.size;

    it("withdraws and answers nothing, on either side, before and after a restart", async () => {
      verifies("MSG-020");
      const { source_event: sourceEvent } = await pair.send({ to: ["bob"], message_mode: "request_reply" });
      await pair.ended(pair.here);
      const received = pair.there.messages().at(-1)!;
      for (const [side, eventId] of [
        [pair.here, sourceEvent.id],
        [pair.there, received.id],
      ] as const) {
        const copy = await copyOf(side);
        for (const restarts of [false, true]) {
          if (restarts) await side.restart();
          const input = { group_id: copy, event_id: eventId };
          const { home } = side;
          const calls = [
            home.call("reply_request_cancel", input),
            home.call("reply", { ...input, text: "r" }),
            home.call("message_upload_preflight", {
              group_id: copy,
              to: [],
              reply_to: eventId,
              files: [{ name: "a", bytes: 1 }],
            }),
          ];
          for (const done of await Promise.allSettled(calls)) {
            assert.ok(done.status === "rejected" && refusal("imported_history")(done.reason));
          }
          assert.equal(side.outbox.size, 0);
          await pair.pass(5000);
          assert.deepEqual([openHere(), openThere()], [1, 1]);
        }
      }
    });

    it("says of nothing that it is on its way, whatever the original still sends", async () => {
      pair.here.transport.wire = DOWN;
      const { source_event: sourceEvent } = await pair.send({ to: ["bob"] });
      const copy = await copyOf(pair.here);
      const statusOf = async (groupId: string) =>
        (await pair.here.home.status(groupId, sourceEvent.id)).connect_delivery?.state;
      assert.equal(await statusOf(pair.here.group_id), "queued");
      assert.equal(await statusOf(copy), "unconfirmed");
    });

    it("has received nothing and asked for nothing, as peers see it", async () => {
      const { source_event: sourceEvent, delivery_id: deliveryId } = await pair.send({
        to: ["bob"],
        message_mode: "request_reply",
      });
      await pair.ended(pair.here);
      await pair.here.home.call("reply_request_cancel", {
        group_id: pair.here.group_id,
        event_id: sourceEvent.id,
      });
      await pair.eventually(() => openThere() === 0);
      const received = pair.there.messages().at(-1)!;
      const control = pair.there.events("chat.reply_request.cancelled").at(-1)!;
      const { delivery_id: controlId } = control.data.connect_cancel!;
      const { messaging } = pair.there.home;
      const copy = await copyOf(pair.there);
      for (const [groupId, isThere] of [
        [pair.there.group_id, true],
        [copy, false],
      ] as const) {
        const chat = messaging.get(groupId);
        const known = [
          receivedMessage(chat, pair.here.instance_id, deliveryId),
          receivedControl(chat, pair.here.instance_id, controlId),
          originalOf(chat, received.id),
        ];
        assert.deepEqual(
          known.map((found) => found !== null),
          [isThere, isThere, isThere],
        );
      }
    });

    it("is no end of a message that stands in it, however it came there", async () => {
      const { source_event: sourceEvent } = await pair.send({ to: ["bob"], message_mode: "request_reply" });
      await pair.ended(pair.here);
      for (const [side, event] of [
        [pair.here, sourceEvent],
        [pair.there, pair.there.messages().at(-1)!],
      ] as const) {
        const other = await side.home.group("dev");
        const { id, kind, scope_key: scopeKey, by, data } = event;
        await side.home.registry.get(other).ledger.append({ id, kind, scope_key: scopeKey, by, data });
        const input = { group_id: other, event_id: id };
        await assert.rejects(side.home.call("reply_request_cancel", input), refusal("event_not_found"));
        await assert.rejects(side.home.call("reply", { ...input, text: "r" }), refusal("event_not_found"));
        assert.equal(side.outbox.size, 0);
        assert.deepEqual([openHere(), openThere()], [1, 1]);
      }
    });
  });
}
