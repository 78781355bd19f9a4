import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ConnectMessage } from "../../shared/wire/v1/message.ts";
import { verifies } from "../requirements.ts";
import { until } from "../support/until.ts";
import { type Way } from "./injected-authority.ts";
import { DOWN, type Seen, UP } from "./memory-transport.ts";
import { MINUTE, Pair, rest, SECOND } from "./sending-setting.ts";

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

function sent(seen: Seen): ConnectMessage {
  const { operation } = seen.request;
  assert.ok(operation.op === "deliver");
  return operation.message;
}

for (const way of ["direct", "external", "account"] as const satisfies Way[]) {
  describe(`a message to another instance, ${way}`, () => {
    let pair: Pair;
    beforeEach(async () => {
      pair = await Pair.open(way);
    });
    afterEach(() => pair.close());

    it("is accepted at once, arrives, and is known to have arrived", async () => {
      verifies("MSG-002", "MSG-004", "MSG-005", "MSG-006", "MSG-007", "MSG-008", "MSG-011", "MSG-012");
      verifies("MSG-033", "MSG-040", "MSG-041", "MSG-045", "OUT-019", "OUT-020", "OUT-022", "OUT-024");
      verifies("EVT-002", "EVT-005", "OUT-013");
      const { here, there } = pair;
      const answer = await pair.send({ text: "hello there", insight: "It is a greeting." });
      assert.equal(answer.accepted, true);
      assert.equal(answer.queued, true);
      assert.equal(answer.delivery_state, "queued");
      const event = answer.source_event;
      assert.equal(event.by, "user");
      assert.deepEqual(here.messages()[0], event);
      const [receipt] = await pair.ended(here);
      assert.deepEqual(here.outboxFiles(), []);
      const [arrived] = there.messages();
      assert.ok(arrived !== undefined);
      assert.deepEqual(receipt!.data, {
        source_event_id: event.id,
        operation: "connect",
        dst_instance_id: there.instance_id,
        dst_group_id: there.group_id,
        delivery_id: answer.delivery_id,
        status: "sent",
        remote_event_id: arrived.id,
        error: null,
        ...(way === "account" ? {} : { connection_id: here.authority.grants[0]!.connection_id }),
      });
      assert.deepEqual(await here.delivery(event.id), { state: "sent", remote_event_id: arrived.id });
      assert.deepEqual(here.notices(), []);
      const message = sent(here.transport.ops("deliver")[0]!);
      assert.equal(message.delivery_id, answer.delivery_id);
      assert.equal(message.source_event_id, event.id);
      assert.equal(message.source.group_id, here.group_id);
      assert.equal(message.target.instance_id, there.instance_id);
      assert.equal(message.source.device_id, way === "direct" ? undefined : "device-here");
      assert.equal(message.account_id, way === "direct" ? undefined : "account-1");
      assert.equal("connection_id" in message, way !== "account");
      const { generation } = there.group.actor("bob");
      assert.deepEqual(message.recipients, [
        { id: "bob", title: "", generation, enabled: true, role: "foreman" },
      ]);
      assert.deepEqual(message.sender, {
        id: "user",
        title: "user",
        generation: "",
        enabled: true,
        role: null,
      });
      assert.deepEqual(
        [message.text, message.format, message.insight, message.message_mode],
        ["hello there", "markdown", "It is a greeting.", "send"],
      );
      assert.equal(Date.parse(message.deliver_before) - Date.parse(message.created_at), 15 * MINUTE);
      assert.equal(Date.parse(message.reply_before) - Date.parse(message.created_at), 7 * 24 * 60 * MINUTE);
      assert.deepEqual(event.data.connect_message, message);
      assert.equal(event.data.connect_message_sha256, sha256(JSON.stringify(message)));
      assert.deepEqual(
        [
          event.data.dst_instance_id,
          event.data.dst_instance_name,
          event.data.dst_group_title,
          event.data.dst_to,
        ],
        [there.instance_id, "Machine there", "Test", ["bob"]],
      );
    });

    it("names an Actor as its sender in its generation, and carries files that stay where they are", async () => {
      verifies("MSG-003", "MSG-009", "MSG-046", "MSG-047", "OUT-008", "OUT-009", "OUT-018", "OUT-006");
      const { here, there } = pair;
      const folder = join(here.home.root, "..", `project-${here.group_id}`);
      await import("node:fs").then(({ mkdirSync }) => mkdirSync(folder));
      try {
        writeFileSync(join(folder, "a.txt"), "some text");
        await here.home.call("attach", { group_id: here.group_id, path: folder });
        here.transport.wire = DOWN;
        const answer = await here.home.call(
          "connect_send_files",
          {
            group_id: here.group_id,
            instance_id: there.instance_id,
            target_group_id: there.group_id,
            client_id: "files",
            message_mode: "mail",
            to: ["cat"],
            paths: ["a.txt"],
          },
          { as: here.actor("ann") },
        );
        await rest();
        const [record] = here.records();
        assert.ok(record?.work.kind === "message");
        const digest = sha256("some text");
        assert.deepEqual(record.work.data.attachments, [
          { sha256: digest, bytes: 9, name: "a.txt", mime_type: "text/plain" },
        ]);
        const base64 = Buffer.from("some text").toString("base64");
        for (const path of here.outboxFiles()) assert.ok(!readFileSync(path, "utf8").includes(base64));
        assert.equal(statSync(join(here.group.paths.blobs, digest)).size, 9);
        assert.equal(record.work.data.sender.id, "ann");
        assert.equal(record.work.data.sender.generation, here.group.actor("ann").generation);
        assert.equal(answer.source_event.by, "ann");
        here.transport.wire = UP;
        await pair.pass(10 * SECOND);
        await pair.ended(here);
        const [arrived] = there.messages();
        assert.deepEqual(arrived?.data.to, ["cat"]);
        assert.equal(statSync(join(there.group.paths.blobs, digest)).size, 9);
        const inbox = await there.home.call("inbox_peek", { group_id: there.group_id, actor_id: "cat" });
        assert.equal(inbox.messages[0]?.id, arrived?.id);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    });

    it("keeps its bytes over every retry, and asks for a receipt before it is sent again", async () => {
      verifies("MSG-001", "OUT-007", "OUT-038", "OUT-039", "OUT-030");
      const { here, there } = pair;
      const lost: string[] = [];
      here.transport.wire = (request, carry) => {
        if (request.operation.op === "catalog") return carry();
        lost.push(request.operation.op);
        if (lost.length === 1) return { kind: "uncertain", reason: "the connection broke" };
        return carry();
      };
      const { source_event: sourceEvent } = await pair.send();
      await until(() => lost.length === 1);
      await rest();
      assert.equal(here.records()[0]?.progress.needs_receipt, true);
      await pair.pass(6 * SECOND);
      await pair.ended(here);
      assert.deepEqual(lost, ["deliver", "receipt", "deliver"]);
      const [first, second] = here.transport.ops("deliver");
      assert.equal(JSON.stringify(sent(first!)), JSON.stringify(sent(second!)));
      assert.equal((await here.delivery(sourceEvent.id))?.state, "sent");
      assert.equal(there.messages().length, 1);
    });
  });
}
