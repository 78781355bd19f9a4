import assert from "node:assert/strict";
import * as fc from "fast-check";
import { LIMITS } from "../../shared/limits.ts";
import { ConnectCancellation, ConnectMessage, Receipt } from "../../shared/wire/v1/message.ts";
import { untimelyDelivery } from "../../shared/wire/v1/timely.ts";
import { verifies } from "../requirements.ts";
import { cancellationDigest, messageDigest } from "./digests.ts";
import { ada, cancellation, DIRECT_ID, EXTERNAL_ID, type Kind, message } from "./sample.ts";

const KINDS: Kind[] = ["account", "external", "direct"];

/**
 * The first problem of a message with some members changed, as its field; null when it is taken.
 */
function problem(changes: Record<string, unknown>, kind?: Kind): string | null {
  const { error } = ConnectMessage.safeParse({ ...message(kind), ...changes });
  return error === undefined ? null : error.issues[0]!.path.join(".");
}

const actor = (id: string, generation = "one") => ({
  id,
  title: "",
  generation,
  enabled: true,
  role: "peer",
});
const file = (bytes: number, digit = "0") => ({ sha256: digit.repeat(64), bytes, name: "a", mime_type: "b" });

describe("ConnectMessage", () => {
  it("has exactly the fields of its kind of connection", () => {
    verifies("MSG-002", "MSG-003", "MSG-004", "MSG-005", "MSG-012", "DRC-020", "DRC-022");
    for (const kind of KINDS) {
      const whole = message(kind);
      assert.deepEqual(ConnectMessage.parse(whole), whole);
      for (const name of Object.keys(whole).filter((field) => field !== "connection_id")) {
        const { [name as "text"]: _, ...rest } = whole;
        assert.ok(!ConnectMessage.safeParse(rest).success, `${kind} without ${name}`);
      }
    }
    assert.ok(!("account_id" in message("direct") || "device_id" in message("direct").source));
    // Over a Direct connection nothing of an account, elsewhere all of it.
    assert.equal(problem({ connection_id: DIRECT_ID }), "account_origin");
    assert.equal(problem({ account_id: "acct_7" }, "direct"), "account_id");
    assert.equal(
      problem({ source: { ...message("direct").source, device_id: "x" } }, "direct"),
      "source.device_id",
    );
    assert.equal(problem({ target: message("direct").target }, "external"), "target.device_id");
    assert.equal(problem({ account_id: undefined }, "direct"), "account_id");
    assert.equal(problem({ connection_id: undefined }, "direct"), "connection_id");
    assert.equal(problem({ connection_id: null }), "connection_id");
    assert.equal(problem({ connection_id: EXTERNAL_ID }), null);
  });

  it("refuses what it doesn't know, at every depth", () => {
    verifies("PEER-005");
    const whole = message();
    for (const changes of [
      { extra: 1 },
      { source: { ...whole.source, extra: 1 } },
      { sender: { ...whole.sender, extra: 1 } },
      { recipients: [{ ...whole.recipients[0], extra: 1 }] },
      { attachments: [{ ...file(1), extra: 1 }] },
      { reply_to: { delivery_id: whole.delivery_id, event_id: whole.delivery_id, extra: 1 } },
    ])
      assert.notEqual(problem(changes), null, JSON.stringify(changes));
  });

  it("goes from one instance to another", () => {
    const { source } = message();
    assert.equal(problem({ target: { ...source, group_id: "g_other" } }), "target");
    assert.equal(problem({ source: { ...source, instance_id: "" } }), "source.instance_id");
    assert.equal(problem({ source: { ...source, group_id: "a/b" } }), "source.group_id");
  });

  it("keeps its times in order and within their limits", () => {
    verifies("LIM-033", "MSG-011");
    const at = (deliverBefore: string, replyBefore = deliverBefore) =>
      problem({ deliver_before: deliverBefore, reply_before: replyBefore });
    assert.equal(at("2026-03-01T10:15:00Z"), null);
    assert.equal(at("2026-03-01T11:15:00+01:00"), null);
    assert.equal(at("2026-03-01T10:15:00.000000001Z"), "deliver_before");
    assert.equal(at("2026-03-01T10:00:00Z"), "deliver_before");
    assert.equal(at("2026-03-01T10:00:00.000000001Z"), null);
    assert.equal(at("2026-03-01T10:15:00Z", "2026-03-01T10:14:59.999999999Z"), "reply_before");
    assert.equal(at("2026-03-01T10:15:00Z", "2026-03-08T10:00:00Z"), null);
    assert.equal(at("2026-03-01T10:15:00Z", "2026-03-08T10:00:00.000000001Z"), "reply_before");
    assert.equal(problem({ created_at: "yesterday" }), "created_at");
  });

  it("keeps its times byte for byte", () => {
    const changes = {
      created_at: "2026-03-01t11:00:00.5+01:00",
      deliver_before: "2026-03-01T10:15:00.250z",
      reply_before: "2026-03-08T10:00:00-00:00",
    };
    const parsed = ConnectMessage.parse({ ...message(), ...changes });
    assert.deepEqual({ ...parsed, ...changes }, parsed);
  });

  it("takes text and recipients up to their limits", () => {
    verifies("LIM-029", "LIM-030", "PEER-033");
    assert.equal(problem({ text: "x".repeat(65_536) }), null);
    assert.equal(problem({ text: "x".repeat(65_537) }), "text");
    assert.equal(problem({ text: "é".repeat(32_769) }), "text");
    assert.equal(problem({ text: "" }), "text");
    const many = Array.from({ length: 129 }, (_, index) => actor(`a${index}`));
    assert.equal(problem({ recipients: many.slice(1) }), null);
    assert.equal(problem({ recipients: many }), "recipients");
    assert.equal(problem({ recipients: [] }), "recipients");
    assert.equal(problem({ recipients: [actor("a"), actor("a", "two")] }), "recipients");
    assert.equal(problem({ text: "\ud800" }), "text");
  });

  it("takes attachments up to their limits", () => {
    verifies("LIM-031", "MSG-009", "PEER-033");
    assert.equal(problem({ text: "", attachments: [file(0)] }), null);
    assert.equal(problem({ attachments: Array.from({ length: 16 }, () => file(1)) }), null);
    assert.equal(problem({ attachments: Array.from({ length: 17 }, () => file(1)) }), "attachments");
    assert.equal(problem({ attachments: [file(10 * 1024 * 1024 - 1), file(1, "1")] }), null);
    assert.equal(problem({ attachments: [file(10 * 1024 * 1024), file(1, "1")] }), "attachments");
    assert.equal(problem({ attachments: [file(1), file(2)] }), "attachments");
    for (const bytes of [-1, 1.5, "1", null]) {
      assert.equal(problem({ attachments: [{ ...file(1), bytes }] }), "attachments.0.bytes");
    }
    assert.equal(problem({ attachments: [{ ...file(1), sha256: "A".repeat(64) }] }), "attachments.0.sha256");
    // Accepted as sent, whatever it looks like.
    assert.equal(problem({ attachments: [{ ...file(1), name: `../${"n".repeat(4093)}` }] }), null);
    assert.equal(problem({ attachments: [{ ...file(1), name: "n".repeat(4097) }] }), "attachments.0.name");
    assert.equal(
      problem({ attachments: [{ ...file(1), mime_type: "m".repeat(257) }] }),
      "attachments.0.mime_type",
    );
  });

  it("knows Actors by id and generation, and the person by having none", () => {
    verifies("MSG-007", "MSG-005");
    assert.equal(problem({ sender: actor("user", "") }), null);
    assert.equal(problem({ recipients: [actor("user", "")] }), null);
    assert.equal(problem({ sender: actor("user", "one") }), "sender.generation");
    assert.equal(problem({ sender: actor("claude", "") }), "sender.generation");
    assert.equal(problem({ sender: actor("claude", "g".repeat(128)) }), null);
    assert.equal(problem({ sender: actor("claude", "g".repeat(129)) }), "sender.generation");
    // What is reserved here needn't be elsewhere.
    for (const id of ["all", "foreman", "Reviewer 2", "é".repeat(64)])
      assert.equal(problem({ sender: actor(id) }), null);
    assert.equal(problem({ sender: actor("") }), "sender.id");
    assert.equal(problem({ sender: { ...actor("a"), role: "boss" } }), "sender.role");
    assert.equal(problem({ sender: { ...actor("a"), title: "t".repeat(4097) } }), "sender.title");
  });

  it("asks for no reply to a reply, and has modes and formats of ordinary messages", () => {
    verifies("RPL-001", "MSG-010", "MSG-008", "MSG-014");
    const { delivery_id: deliveryId } = message();
    const replyTo = { delivery_id: deliveryId, event_id: deliveryId.replaceAll("-", "") };
    for (const messageMode of ["send", "mail"])
      assert.equal(problem({ reply_to: replyTo, message_mode: messageMode }), null);
    assert.equal(problem({ message_mode: "request_reply" }), null);
    assert.equal(problem({ reply_to: replyTo, message_mode: "request_reply" }), "message_mode");
    assert.equal(problem({ message_mode: "shout" }), "message_mode");
    assert.equal(problem({ format: "html" }), "format");
    assert.equal(problem({ insight: "x".repeat(LIMITS.message.insightBytes + 1) }), "insight");
    assert.equal(problem({ reply_to: { delivery_id: deliveryId } }), "reply_to.event_id");
    assert.equal(problem({ delivery_id: "delivery-1" }), "delivery_id");
  });

  it("may be admitted from 30 seconds before its creation to the end of its window", () => {
    verifies("LIM-033");
    const created = Date.parse(message().created_at);
    const end = Date.parse(message().deliver_before);
    for (const work of [
      message(),
      { ...cancellation(), created_at: message().created_at, deliver_before: message().deliver_before },
    ]) {
      assert.equal(untimelyDelivery(work, created - 30_000), null);
      assert.match(untimelyDelivery(work, created - 30_001) ?? "", /future/u);
      assert.equal(untimelyDelivery(work, end - 1), null);
      assert.match(untimelyDelivery(work, end) ?? "", /window/u);
    }
  });
});

describe("ConnectCancellation", () => {
  it("binds all of the original, of the account and of both Groups", () => {
    verifies("CAN-008");
    for (const kind of KINDS) {
      const whole = cancellation(kind);
      const digest = cancellationDigest(whole);
      assert.deepEqual(ConnectCancellation.parse(whole), whole);
      for (const name of Object.keys(whole).filter((field) => field !== "connection_id")) {
        const { [name as "sender"]: _, ...rest } = whole;
        assert.ok(!ConnectCancellation.safeParse(rest).success, `${kind} without ${name}`);
      }
      const others: Partial<ConnectCancellation>[] = [
        { original_delivery_id: EXTERNAL_ID },
        { original_message_sha256: "1".repeat(64) },
        { original_source_event_id: EXTERNAL_ID },
        { original_deliver_before: "2026-03-01T10:15:01.000Z" },
        { source: { ...whole.source, group_id: "other" } },
        { target: { ...whole.target, group_id: "other" } },
      ];
      for (const other of others) assert.notEqual(cancellationDigest({ ...whole, ...other }), digest);
    }
  });

  it("has a window of 15 minutes of its own", () => {
    const at = (deliverBefore: string) =>
      ConnectCancellation.safeParse({ ...cancellation(), deliver_before: deliverBefore }).success;
    assert.ok(at("2026-03-01T10:16:00Z"));
    assert.ok(!at("2026-03-01T10:16:00.001Z"));
    assert.ok(!at("2026-03-01T10:01:00.000Z"));
    assert.ok(
      !ConnectCancellation.safeParse({ ...cancellation(), target: { ...cancellation().source } }).success,
    );
  });
});

describe("Receipt", () => {
  it("names delivery, digest, event and time, and nothing else", () => {
    const { delivery_id: deliveryId, source_event_id: eventId, created_at: deliveredAt } = message();
    const receipt = {
      delivery_id: deliveryId,
      message_sha256: "0".repeat(64),
      event_id: eventId,
      delivered_at: deliveredAt,
    };
    assert.equal(JSON.stringify(Receipt.parse({ ...receipt })), JSON.stringify(receipt));
    assert.ok(!Receipt.safeParse({ ...receipt, extra: 1 }).success);
    for (const name of Object.keys(receipt))
      assert.ok(!Receipt.safeParse({ ...receipt, [name]: "x" }).success, name);
  });
});

describe("any valid message", () => {
  const uuid = fc.uuid().chain((id) => fc.constantFrom(id, id.replaceAll("-", "")));
  const text = (maxLength: number) =>
    fc.string({ unit: "grapheme", maxLength }).filter((value) => value.isWellFormed());
  const anyActor = fc.record({
    id: text(20).filter((id) => id !== "" && id !== "user"),
    title: text(50),
    generation: text(20).filter((value) => value !== ""),
    enabled: fc.boolean(),
    role: fc.constantFrom("foreman", "peer", null),
  });
  const anyMessage = fc
    .record({
      kind: fc.constantFrom(...KINDS),
      delivery_id: uuid,
      source_event_id: uuid,
      sender: anyActor,
      recipients: fc.uniqueArray(anyActor, { minLength: 1, maxLength: 5, selector: ({ id }) => id }),
      text: text(200).filter((value) => value !== ""),
      format: fc.constantFrom("plain", "markdown"),
      insight: fc.option(text(100)),
      message_mode: fc.constantFrom("send", "mail"),
      attachments: fc.uniqueArray(
        fc.record({
          sha256: fc.stringMatching(/^[0-9a-f]{64}$/),
          bytes: fc.nat(65_536),
          name: text(40),
          mime_type: text(20),
        }),
        { maxLength: 16, selector: ({ sha256 }) => sha256 },
      ),
      reply_to: fc.option(fc.record({ delivery_id: uuid, event_id: uuid })),
    })
    .map(({ kind, ...fields }) => ({ ...message(kind), ...fields }));

  it("is taken, is written in one way whatever the order of members, and changes its digest with anything in it", () => {
    fc.assert(
      fc.property(anyMessage, (value) => {
        const written = JSON.stringify(ConnectMessage.parse(value));
        const shuffled = Object.fromEntries(Object.entries(value).reverse());
        assert.equal(JSON.stringify(ConnectMessage.parse(shuffled)), written);
        assert.equal(JSON.stringify(ConnectMessage.parse(JSON.parse(written))), written);
        const changed = ConnectMessage.parse({ ...value, text: `${value.text}.` });
        assert.notEqual(messageDigest(changed), messageDigest(ConnectMessage.parse(value)));
      }),
      { numRuns: 200 },
    );
  });

  it("is refused from our own instance to itself", () => {
    assert.equal(problem({ target: { ...message().target, instance_id: ada.instance_id } }), "target");
  });
});
