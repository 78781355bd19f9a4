import assert from "node:assert/strict";
import { signStatement } from "../../daemon/peers/wire/statements.ts";
import { LedgerEventSchema } from "../../shared/events.ts";
import {
  DirectAddress,
  DirectEndpoint,
  DirectFrame,
  DirectHello,
  DirectInvitation,
  DirectState,
  invitationText,
  parseInvitationText,
} from "../../shared/wire/v1/direct.ts";
import { OutboxRecord } from "../../shared/wire/v1/outbox.ts";
import { requestStatement, responseStatement } from "../../shared/wire/v1/signing.ts";
import { verifies } from "../requirements.ts";
import { chatMessage } from "../support/events.ts";
import {
  ada,
  authorization,
  bob,
  cancellation,
  DIRECT_ID,
  EXTERNAL_ID,
  message,
  operations,
} from "./sample.ts";

const endpoint = (): DirectEndpoint => ({
  instance_id: ada.instance_id,
  public_key: ada.public_key,
  client_version: "0.5.0",
  name: "Ada's machine",
  group_id: "g_0123456789ab",
  generation: "one",
  title: "A Group",
});
const invitation = (): DirectInvitation => ({
  v: 1,
  id: DIRECT_ID,
  address: "ada.example:8847",
  host: endpoint(),
  expires_at: "2026-03-01T10:30:00.000Z",
  secret: "5".repeat(64),
});
const encoded = (value: unknown) =>
  `svc-direct:${Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url")}`;

describe("Direct invitation", () => {
  it("is a text that says who invites, where, into which Group and until when", () => {
    verifies("DRC-007", "DRC-008");
    const text = invitationText(invitation());
    assert.match(text, /^svc-direct:[A-Za-z0-9_-]+$/u);
    assert.deepEqual(parseInvitationText(`\n  ${text}\n`), invitation());
  });

  it("is refused with anything missing, surplus or changed in form", () => {
    verifies("DRC-008");
    const whole = invitation();
    const texts = [
      "",
      "svc-direct:",
      invitationText(whole).slice(0, -1),
      `${invitationText(whole)}=`,
      invitationText(whole).replace("svc-direct:", "svc-direct: "),
      invitationText(whole).replace("svc-", ""),
      `${invitationText(whole)} ${invitationText(whole)}`,
      encoded("not JSON"),
      encoded(JSON.stringify(whole).replace("{", '{"v":1,')),
      encoded({ ...whole, extra: 1 }),
      encoded({ ...whole, v: 2 }),
      encoded({ ...whole, id: EXTERNAL_ID }),
      encoded({ ...whole, address: "ada.example" }),
      encoded({ ...whole, secret: "5".repeat(63) }),
      encoded({ ...whole, secret: "A".repeat(64) }),
      encoded({ ...whole, expires_at: "soon" }),
      encoded({ ...whole, host: { ...endpoint(), extra: 1 } }),
      encoded({ ...whole, host: { ...endpoint(), public_key: bob.public_key } }),
      encoded({ ...whole, host: { ...endpoint(), instance_id: bob.instance_id } }),
    ];
    for (const text of texts) assert.equal(parseInvitationText(text), null, text);
    for (const name of Object.keys(whole)) {
      const { [name as "v"]: _, ...rest } = whole;
      assert.equal(parseInvitationText(encoded(rest)), null, `without ${name}`);
    }
  });

  it("is at most 8,192 characters long", () => {
    const spaced = (length: number) => {
      const json = JSON.stringify(invitation());
      return encoded(json + " ".repeat(length - json.length));
    };
    const largest = Math.floor(((8192 - "svc-direct:".length) * 3) / 4);
    assert.ok(spaced(largest).length <= 8192);
    assert.notEqual(parseInvitationText(spaced(largest)), null);
    assert.equal(parseInvitationText(spaced(largest + 3)), null);
  });
});

describe("Direct endpoint", () => {
  it("keeps to its bounds", () => {
    verifies("DRC-084");
    const accepted = (changes: Partial<DirectEndpoint>) =>
      DirectEndpoint.safeParse({ ...endpoint(), ...changes }).success;
    assert.ok(accepted({ title: "t".repeat(1024), name: "n".repeat(512), client_version: "v".repeat(64) }));
    assert.ok(accepted({ generation: "legacy:2024-05-06T07:08:09Z", title: "", name: "" }));
    for (const wrong of [
      { title: "t".repeat(1025) },
      { name: "n".repeat(513) },
      { name: "é".repeat(257) },
      { client_version: "" },
      { client_version: "v".repeat(65) },
      { generation: "" },
      { generation: "g".repeat(129) },
      { group_id: "" },
      { group_id: "a/b" },
    ])
      assert.ok(!accepted(wrong), JSON.stringify(wrong));
  });

  it("is reached by host and port", () => {
    for (const address of [
      "ada.example:8847",
      "a:1",
      "192.0.2.1:65535",
      "[::1]:8847",
      "[2001:db8::ffff:192.0.2.1]:1",
    ])
      assert.ok(DirectAddress.safeParse(address).success, address);
    for (const address of [
      "ada.example",
      ":8847",
      "ada.example:0",
      "ada.example:65536",
      "ada.example:08847",
      "::1:8847",
      "[::g]:8847",
      "[::1%eth0]:8847",
      "-ada.example:8847",
      "ada.example.:8847",
      "https://ada.example:8847",
      "user@ada.example:8847",
      "ada.example:8847/",
      "ada example:8847",
      `${"a".repeat(300)}:8847`,
    ])
      assert.ok(!DirectAddress.safeParse(address).success, address);
  });
});

describe("Direct frames", () => {
  it("are a hello, a state, requests, responses and pings, and nothing else", () => {
    verifies("DRC-020", "DRC-079", "DRC-080", "DRC-084");
    const hello = { id: DIRECT_ID, secret: "5".repeat(64), endpoint: endpoint() };
    assert.equal(JSON.stringify(DirectHello.parse(hello)), JSON.stringify(hello));
    assert.ok(!DirectHello.safeParse({ ...hello, extra: 1 }).success);
    assert.deepEqual(DirectState.options, ["invited", "pending", "active", "expired", "revoked"]);

    const proof = signStatement(requestStatement, ada, authorization("direct"));
    const result = { ok: true as const, result: { receipt: null } };
    const response = signStatement(responseStatement, bob, {
      request_id: proof.request_id,
      request_sha256: "0".repeat(64),
      result,
    });
    const frames = [
      ...Object.values(operations("direct")).map((operation) => ({
        kind: "request",
        request: { proof, operation },
      })),
      { kind: "response", id: proof.request_id, response: { ok: true, result: { response } } },
      {
        kind: "response",
        id: proof.request_id,
        response: { ok: false, error: { code: "connect_peer_denied", message: "No.", details: {} } },
      },
      { kind: "ping" },
    ];
    for (const frame of frames) {
      assert.equal(JSON.stringify(DirectFrame.parse(frame)), JSON.stringify(frame));
      assert.ok(!DirectFrame.safeParse({ ...frame, extra: 1 }).success);
    }
    for (const frame of [
      {},
      { kind: "exec" },
      { kind: "request" },
      { kind: "response", id: "1", response: { ok: true, result: { response } } },
      { kind: "response", id: proof.request_id, response },
      { kind: "response", id: proof.request_id, response: { ok: true, result: response } },
      { kind: "response", id: proof.request_id, response: { ok: false } },
      "ping",
      null,
    ])
      assert.ok(!DirectFrame.safeParse(frame).success, JSON.stringify(frame));
  });
});

describe("the envelope of an answer", () => {
  const id = "9f1c2a34-0000-4000-8000-000000000001";

  it("may have members that aren't known, as the daemon's own has", () => {
    const error = { code: "shutting_down", message: "Later.", details: {} };
    const frame = DirectFrame.parse({
      kind: "response",
      id,
      response: { v: 1, ok: false, error: { ...error, more: 1 } },
    });
    assert.deepEqual(frame, { kind: "response", id, response: { ok: false, error } });
    const bare = { v: 1, ok: false, error: { code: "shutting_down", message: "Later." } };
    assert.deepEqual(DirectFrame.parse({ kind: "response", id, response: bare }), frame);
  });
});

describe("outbox record", () => {
  it("is work, source event and progress, written as it was read", () => {
    const sourceEvent = LedgerEventSchema.parse({
      v: 1,
      id: message().source_event_id,
      ts: "2026-03-01T10:00:00.000Z",
      kind: "chat.message",
      group_id: "g_0123456789ab",
      scope_key: "s_0123456789ab",
      by: "claude-1",
      data: { ...chatMessage({ text: "Hello", to: ["codex"] }), anything: { b: 1, a: 2 } },
    });
    const progress = {
      source_projected: false,
      attempts: 3,
      needs_receipt: true,
      next_attempt_at: "2026-03-01T10:01:00.000Z",
      last_error: { code: "io_error", message: "Later." },
    };
    for (const work of [
      { kind: "message", data: message("direct") },
      { kind: "cancel", data: cancellation("direct") },
    ]) {
      const record = { work, source_event: sourceEvent, progress };
      assert.equal(JSON.stringify(OutboxRecord.parse(record)), JSON.stringify(record));
      assert.ok(!OutboxRecord.safeParse({ ...record, extra: 1 }).success);
      assert.ok(!OutboxRecord.safeParse({ ...record, progress: { ...progress, extra: 1 } }).success);
      assert.ok(!OutboxRecord.safeParse({ ...record, work: { ...work, kind: "other" } }).success);
    }
  });
});
