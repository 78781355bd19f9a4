/** What becomes of a delivery: one event, or a signed reason why not. */

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { TestHome } from "../messaging/setting.ts";
import { verifies } from "../requirements.ts";
import { messageOf } from "../support/events.ts";
import { FaultyFiles } from "../support/faulty-files.ts";
import { messageDigest } from "../wire/digests.ts";
import { attachment, deliverOperation, MINUTE, refused, Target } from "./receiver-setting.ts";

describe("Receiver: deliver", () => {
  let target: Target;

  beforeEach(async () => {
    target = await Target.open();
  });

  afterEach(() => target.home.remove());

  for (const way of ["account", "external", "direct"] as const) {
    it(`records a message once, with where it came from, and answers its receipt (${way})`, async () => {
      verifies(
        "PEER-009",
        "PEER-019",
        "PEER-020",
        "MSG-024",
        "MSG-025",
        "MSG-026",
        "MSG-028",
        "MSG-029",
        "EVT-007",
      );
      const there = await Target.open(way, target.home);
      const message = there.message({ text: "Look at this", insight: "why", format: "markdown" });
      const { receipt, duplicate } = await there.deliver(message);
      const [event] = there.messages();
      assert.ok(event !== undefined && receipt !== null);
      assert.deepEqual(receipt, {
        delivery_id: message.delivery_id,
        message_sha256: messageDigest(message),
        event_id: event.id,
        delivered_at: event.ts,
      });
      assert.equal(duplicate, undefined);
      assert.equal(event.by, `connect:${there.peer.instance_id}`);
      const { data } = event;
      assert.deepEqual(data.connect_message, message);
      assert.equal(data.connect_message_sha256, messageDigest(message));
      assert.deepEqual(
        [data.src_instance_id, data.src_instance_name, data.dst_instance_name],
        [there.peer.instance_id, "Workstation", "Laptop"],
      );
      assert.deepEqual([data.src_group_id, data.src_group_title], ["g_there", "Over there"]);
      assert.equal(data.src_event_id, message.source_event_id);
      assert.deepEqual(
        [data.source_platform, data.source_user_id, data.source_user_name],
        ["svc_connect", "dora", "Dora"],
      );
      assert.deepEqual([data.text, data.format, data.insight], ["Look at this", "markdown", "why"]);
      assert.deepEqual(
        [data.to, data.to_generations],
        [["ann"], { ann: there.group.actor("ann").generation }],
      );
      const again = await there.deliver(message);
      assert.deepEqual(again, { receipt, duplicate: true });
      assert.equal(there.messages().length, 1);
    });
  }

  it("hands it out like any other message, by its mode, and starts nobody", async () => {
    verifies("PEER-038", "PEER-039", "PEER-040", "MSG-052", "EVT-013");
    const recipients = [target.recipient("ann"), target.recipient("bob")];
    await target.home.call("actor_stop", { group_id: target.group_id, actor_id: "bob" });
    const actors = target.group.record.actors;
    await target.deliver(target.message({ text: "mail", message_mode: "mail", recipients }));
    await target.deliver(target.message({ text: "direct", recipients }));
    const { texts, messages } = await target.home.read(target.group_id, "ann");
    assert.deepEqual(texts, ["mail", "direct"]);
    assert.deepEqual(
      messages.map(({ delivery }) => delivery),
      ["mail", "direct"],
    );
    assert.deepEqual(target.group.record.actors, actors);
    assert.equal(target.group.record.state, "active");
  });

  it("takes a reply request as an obligation of its recipients", async () => {
    const { receipt } = await target.deliver(target.message({ message_mode: "request_reply" }));
    const { obligation_status: obligationStatus } = await target.home.status(
      target.group_id,
      receipt!.event_id,
    );
    assert.deepEqual(obligationStatus, { ann: { state: "open" } });
  });

  it("takes nothing for a command that nobody said reads prompts", async () => {
    const shell = { runner: "pty" as const, runtime: "custom" as const, command: ["bash"] };
    const { group_id: groupId } = target;
    await target.home.call("actor_add", { group_id: groupId, actor_id: "shell", ...shell });
    const message = target.message({ recipients: [target.recipient("shell")] });
    assert.equal(refused(await target.ask(deliverOperation(message))), "connect_recipient_replaced");
    assert.equal(target.messages().length, 0);
    await target.home.call("actor_update", { group_id: groupId, actor_id: "shell", prompts: true });
    await target.deliver(message);
    assert.equal(target.messages().length, 1);
  });

  it("never aims a message at another Actor under the same id", async () => {
    verifies("PEER-034", "MSG-023", "MSG-055");
    const message = target.message();
    await target.home.call("actor_remove", { group_id: target.group_id, actor_id: "ann" });
    assert.equal(refused(await target.ask(deliverOperation(message))), "connect_recipient_replaced");
    await target.home.call("actor_add", { group_id: target.group_id, actor_id: "ann" });
    assert.equal(refused(await target.ask(deliverOperation(message))), "connect_recipient_replaced");
    const unknown = { ...target.recipient("bob"), id: "nobody" };
    const stranger = deliverOperation(target.message({ recipients: [unknown] }));
    assert.equal(refused(await target.ask(stranger)), "connect_recipient_replaced");
    assert.equal(target.messages().length, 0);
    assert.deepEqual(
      target.group.record.actors.map(({ id }) => id),
      ["bob", "ann"],
    );
  });

  it("keeps to who was meant after a reset, although the Actors stay", async () => {
    verifies("MSG-023");
    const sent = target.message();
    const waiting = target.message();
    await target.deliver(sent);
    target.home.clock.advance(MINUTE);
    await target.home.call("group_reset", { group_id: target.group_id, confirm: target.group_id });
    for (const message of [sent, waiting]) {
      assert.equal(refused(await target.ask(deliverOperation(message))), "connect_peer_denied");
    }
    target.home.clock.advance(MINUTE);
    await target.deliver(target.message());
    assert.equal(target.messages().length, 1);
  });

  it("takes messages again after a reset by a clock that was ahead, once that is set right", async () => {
    verifies("MSG-023");
    const { clock } = target.home;
    const before = target.message();
    await target.deliver(before);
    clock.set(5 * 60 * MINUTE);
    await target.home.call("group_reset", { group_id: target.group_id, confirm: target.group_id });
    clock.set(-5 * 60 * MINUTE);
    clock.advance(MINUTE);
    assert.equal(refused(await target.ask(deliverOperation(before))), "connect_peer_denied");
    const after = target.message();
    assert.notEqual((await target.deliver(after)).receipt, null);
    clock.advance(16 * MINUTE);
    assert.deepEqual(await target.receipt(target.message()), { receipt: null });
  });

  it("takes nothing from before a reset by a clock that was behind, once that is set right", async () => {
    verifies("MSG-023");
    const { clock } = target.home;
    const sent = target.message();
    const waiting = target.message();
    await target.deliver(sent);
    clock.advance(MINUTE);
    clock.set(-24 * MINUTE);
    await target.home.call("group_reset", { group_id: target.group_id, confirm: target.group_id });
    clock.set(24 * MINUTE);
    for (const message of [sent, waiting]) {
      assert.equal(refused(await target.ask(deliverOperation(message))), "connect_peer_denied");
    }
    clock.advance(MINUTE);
    assert.notEqual((await target.deliver(target.message())).receipt, null);
  });

  it("keeps a title as a title: a rename changes nobody's identity", async () => {
    verifies("MSG-022");
    const message = target.message();
    await target.home.call("actor_update", { group_id: target.group_id, actor_id: "ann", title: "New" });
    await target.home.call("group_update", { group_id: target.group_id, title: "Another" });
    assert.notEqual((await target.deliver(message)).receipt, null);
  });

  it("answers what it received before anything that may have changed since", async () => {
    verifies("PEER-035", "OUT-010", "OUT-011");
    const file = "contents";
    const message = target.message({ attachments: [attachment(file)] });
    const first = await target.deliver(message, [file]);
    target.home.clock.advance(16 * MINUTE);
    await target.home.call("actor_remove", { group_id: target.group_id, actor_id: "ann" });
    assert.deepEqual(await target.deliver(message, []), { ...first, duplicate: true });
    assert.deepEqual(await target.receipt(message), { receipt: first.receipt });
  });

  it("finds a receipt over archived segments and restarts", async () => {
    verifies("OUT-011", "OUT-012");
    const message = target.message();
    const { receipt } = await target.deliver(message);
    await target.home.call("ledger_compact", { group_id: target.group_id });
    await target.deliver(target.message());
    const home = await target.home.restarted();
    const { identity, peer, way, group_id: groupId } = target;
    target = new Target({ home, identity, peer, way, group_id: groupId });
    assert.deepEqual(await target.receipt(message), { receipt });
    assert.deepEqual(await target.deliver(message), { receipt, duplicate: true });
    const { problems } = await home.call("ledger_verify", { group_id: groupId });
    assert.deepEqual(problems, []);
  });

  it("refuses other content under a known delivery id, in whatever form the id comes", async () => {
    verifies("PEER-036");
    const message = target.message();
    await target.deliver(message);
    const other = { ...message, text: "something else" };
    assert.equal(refused(await target.ask(deliverOperation(other))), "connect_content_conflict");
    const undashed = { ...message, delivery_id: message.delivery_id.replaceAll("-", "").toUpperCase() };
    assert.equal(refused(await target.ask(deliverOperation(undashed))), "connect_content_conflict");
    assert.equal(refused(await target.ask(target.receiptOperation(other))), "connect_content_conflict");
    assert.deepEqual(
      target.messages().map(({ data }) => data.text),
      ["hello"],
    );
  });

  it("keeps to the times of a message", async () => {
    verifies("LIM-032", "LIM-033");
    const { clock } = target.home;
    const shifted = (milliseconds: number) => {
      const at = (more: number) => new Date(clock.now() + milliseconds + more).toISOString();
      return target.message({ created_at: at(0), deliver_before: at(MINUTE), reply_before: at(MINUTE) });
    };
    assert.equal(refused(await target.ask(deliverOperation(shifted(31_000)))), "connect_message_early");
    await target.deliver(shifted(29_000));
    const last = target.message();
    const late = target.message();
    clock.advance(15 * MINUTE - 1);
    await target.deliver(last);
    clock.advance(1);
    assert.equal(refused(await target.ask(deliverOperation(late))), "connect_message_expired");
  });

  it("takes the person as the only recipient, of direct messages", async () => {
    const user = { id: "user", title: "", generation: "", enabled: true, role: null };
    await target.deliver(target.message({ recipients: [user], text: "to you" }));
    assert.deepEqual(target.messages()[0]?.data.to, ["user"]);
    assert.equal(target.home.messaging.counts(target.group_id).unread, 1);
    const mail = target.message({ recipients: [user], message_mode: "mail" });
    const mixed = target.message({ recipients: [user, target.recipient("ann")] });
    for (const message of [mail, mixed]) {
      assert.equal(refused(await target.ask(deliverOperation(message))), "connect_message_invalid");
    }
  });

  it("shows names from elsewhere as plain names, and an untitled Actor by its id", async () => {
    verifies("MSG-030");
    const sender = { ...target.recipient("ann"), title: "\u202eevil\n", generation: "another" };
    const source = { ...target.source, title: "Group\u0000\u2066" };
    const { receipt } = await target.deliver(target.message({ sender, source }));
    const event = target.group.ledger.readById(receipt!.event_id);
    const data = messageOf(event);
    assert.deepEqual([data.sender_title, data.src_group_title], ["evil", "Group"]);
    assert.notEqual(event.by, "ann");
    await target.deliver(target.message({ sender: { ...sender, title: "" } }));
    assert.equal(target.messages().at(-1)?.data.sender_title, "ann");
  });

  describe("files", () => {
    const blobs = () => {
      const path = target.group.paths.blobs;
      return existsSync(path) ? readdirSync(path).filter((name) => name !== "uploads") : [];
    };

    it("are stored by their digests, identical ones once, under safe names", async () => {
      verifies("PEER-018", "PEER-037");
      const attachments = [
        attachment("one", "../../etc/passwd"),
        attachment("two", "C:\\secret\\note.txt"),
        attachment("one", "same.txt"),
        attachment("", ".."),
      ];
      const message = target.message({ attachments, text: "" });
      const { receipt } = await target.deliver(message, ["one", "two", ""]);
      const data = messageOf(target.group.ledger.readById(receipt!.event_id));
      const stored = data.attachments;
      assert.deepEqual(
        stored.map(({ name }) => name),
        ["passwd", "note.txt", "same.txt", "file"],
      );
      assert.equal(new Set(blobs()).size, 3);
      for (const { sha256, path } of stored) assert.equal(path, `state/blobs/${sha256}`);
      assert.equal(readFileSync(join(target.group.paths.blobs, stored[0]!.sha256), "utf8"), "one");
      assert.deepEqual(data.connect_message, message);
      assert.deepEqual(readdirSync(join(target.group.paths.blobs, "uploads")), []);
    });

    it("take as long as the disk does, and the message still comes neither after its window nor after its grant", async () => {
      verifies("LIM-033", "DRC-060");
      const disk = new FaultyFiles();
      /** Happens whenever a file of a message is written. */
      let duringFiles = (): void => {};
      disk.fail = (step, path) => {
        if (step === "renamed" && path.includes("/blobs/")) duringFiles();
        return null;
      };
      const slow = await Target.open("account", await TestHome.open({ files: disk }));
      try {
        const send = () =>
          slow.ask(deliverOperation(slow.message({ attachments: [attachment("one")] }), ["one"]));
        duringFiles = () => void slow.home.clock.advance(15 * MINUTE);
        assert.equal(refused(await send()), "connect_message_expired");
        duringFiles = () => void (slow.authority.state = "gone");
        assert.equal(refused(await send()), "connect_peer_denied");
        slow.authority.state = "granted";
        assert.deepEqual(slow.messages(), []);
        duringFiles = () => void slow.home.clock.advance(MINUTE);
        assert.equal((await send()).ok, true);
        assert.equal(slow.messages()[0]?.ts, new Date(slow.home.clock.now()).toISOString());
      } finally {
        await slow.home.remove();
      }
    });

    it("are all checked before any is written", async () => {
      verifies("PEER-018", "PEER-037");
      const attachments = [attachment("one"), attachment("two")];
      const message = target.message({ attachments });
      const good = deliverOperation(message, ["one", "two"]);
      const [one, two] = good.blobs as [(typeof good.blobs)[0], (typeof good.blobs)[0]];
      const wrong = { ...two, base64: Buffer.from("tow").toString("base64") };
      const cases = [
        [],
        [one],
        [one, one],
        [one, wrong],
        [one, two, { ...attachment("three"), base64: "dGhyZWU=" }],
        [one, { ...two, base64: two.base64.slice(0, -1) }],
        [one, { ...two, base64: ` ${two.base64}` }],
        [one, { ...two, base64: "dHdvAA==" }],
        [one, { ...two, base64: "\ud800" }],
      ].map((list) => list.map(({ sha256, base64 }) => ({ sha256, base64 })));
      for (const list of cases) {
        assert.equal(refused(await target.ask({ ...good, blobs: list })), "connect_files_invalid");
      }
      const size = target.message({ attachments: [{ ...attachment("one"), bytes: 4 }] });
      assert.equal(refused(await target.ask(deliverOperation(size, ["one"]))), "connect_files_invalid");
      // Two files' base64 in a row decode to both files, and aren't the base64 of both together.
      // The first is as long as a piece that is read.
      const [first, second] = [Buffer.alloc(196_606, 7), Buffer.from("and more")];
      const joined = Buffer.concat([first, second]);
      const padded = target.message({ attachments: [attachment(joined)] });
      const base64 = first.toString("base64") + second.toString("base64");
      const inside = {
        ...deliverOperation(padded, []),
        blobs: [{ sha256: attachment(joined).sha256, base64 }],
      };
      assert.equal(refused(await target.ask(inside)), "connect_files_invalid");
      assert.deepEqual(blobs(), []);
      assert.equal(target.messages().length, 0);
      await target.deliver(message, ["two", "one"]);
      assert.equal(blobs().length, 2);
    });

    it("of 10 MiB arrive whole, and of more not", async () => {
      verifies("LIM-017");
      const large = Buffer.alloc(10 * 1024 * 1024, "0123456789abcdef");
      const { receipt } = await target.deliver(target.message({ attachments: [attachment(large)] }), [large]);
      assert.notEqual(receipt, null);
      assert.ok(readFileSync(join(target.group.paths.blobs, blobs()[0]!)).equals(large));
      const more = Buffer.concat([large, Buffer.from("x")]);
      // The schema that every peer's request is parsed with.
      assert.throws(() => target.message({ attachments: [attachment(more)] }), /more than 10 MiB together/);
      assert.equal(blobs().length, 1);
    });
  });

  it("says that it can't now when the disk is full, and records nothing", async () => {
    const files = new (await import("../simulation/files.ts")).SimulatedFiles();
    const projects = {
      canonical: () => null,
      isDirectory: () => false,
      ownFolder: () => "/",
      folders: async () => ({ names: [], more: false }),
      gitOrigin: () => null,
      isSamePlace: () => false,
      openBelow: () => assert.fail(),
    };
    const home = await TestHome.open({ root: "/home", files, projects });
    const full = await Target.open("account", home);
    const message = full.message({ attachments: [attachment("file")] });
    files.fault = ({ name }) => (name === "write" || name === "create" ? "ENOSPC" : null);
    assert.equal(refused(await full.ask(deliverOperation(message, ["file"]))), "io_error");
    files.fault = null;
    assert.deepEqual(await full.receipt(message), { receipt: null });
    await full.deliver(message, ["file"]);
    assert.equal(full.messages().length, 1);
    await home.close();
  });
});
