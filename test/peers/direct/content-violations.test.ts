/**
 * An approved peer over a real socket whose operations break the rules of their contents: it gets a
 * signed, definite answer, and the channel goes on.
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { sha256Hex } from "../../../daemon/peers/wire/digests.ts";
import { signStatement, verifyStatement } from "../../../daemon/peers/wire/statements.ts";
import { VerifyingKey } from "../../../platform/keys.ts";
import { ConnectMessage } from "../../../shared/wire/v1/message.ts";
import type { ConnectPeerAnswer } from "../../../shared/wire/v1/peer.ts";
import { isPassing } from "../../../shared/wire/v1/refusals.ts";
import { requestStatement, responseStatement } from "../../../shared/wire/v1/signing.ts";
import { verifies } from "../../requirements.ts";
import { PLAIN_MESSAGE } from "../../support/plain-message.ts";
import { until } from "../../support/until.ts";
import { violationsOf } from "../content-violations.ts";
import { frameOf, type HostileLine, HostilePeer, PEER_GROUP } from "./hostile-peer.ts";
import { Side } from "./two-homes.ts";

describe("a daemon and an approved peer that breaks the rules of contents", function () {
  this.timeout(180_000);
  let here: Side;
  let peer: HostilePeer;
  let line: HostileLine;

  before(async () => {
    here = await Side.started("Here");
    peer = await HostilePeer.approved(here);
    line = await peer.online();
  });
  after(async () => {
    peer?.dispose();
    await here?.dispose();
  });

  function message(): ConnectMessage {
    const at = (milliseconds: number) => new Date(Date.now() + milliseconds).toISOString();
    const person = { id: "user", title: "Person", generation: "", enabled: true, role: null };
    const now = at(0);
    return ConnectMessage.parse({
      connection_id: peer.id,
      delivery_id: randomUUID(),
      source: { instance_id: peer.identity.instance_id, group_id: PEER_GROUP, title: "Hostile" },
      sender: person,
      source_event_id: randomUUID().replaceAll("-", ""),
      target: { instance_id: here.instance_id, group_id: here.group_id, title: "Here" },
      recipients: [person],
      text: "hello",
      ...PLAIN_MESSAGE,
      created_at: now,
      deliver_before: new Date(Date.parse(now) + 15 * 60_000).toISOString(),
      reply_before: new Date(Date.parse(now) + 7 * 24 * 60 * 60_000).toISOString(),
    });
  }

  /** The signed result of an operation, whatever it is. */
  async function ask(operation: object, signed: object = operation) {
    const now = Date.now();
    const proof = signStatement(requestStatement, peer.identity, {
      connection_id: peer.id,
      source_instance_id: peer.identity.instance_id,
      target_instance_id: here.instance_id,
      request_id: randomUUID(),
      issued_at: new Date(now).toISOString(),
      expires_at: new Date(now + 60_000).toISOString(),
      operation_sha256: sha256Hex(JSON.stringify(signed)),
    });
    void line.send(frameOf(JSON.stringify({ kind: "request", request: { proof, operation } })));
    // The daemon asks for the catalog meanwhile.
    const frame = await until("the answer", async () => {
      const next = await line.frame<{ kind: string; id?: string; response?: ConnectPeerAnswer }>();
      return next.kind === "response" && next.id === proof.request_id ? next : null;
    });
    const { response } = frame;
    assert.ok(response?.ok, JSON.stringify(response));
    const key = VerifyingKey.admit(peer.invitation.host.public_key);
    assert.ok(verifyStatement(responseStatement, key, response.result.response));
    return response.result.response.result;
  }

  it("refuses each for good, signed, and records nothing", async () => {
    verifies("PEER-058");
    for (const { name, operation } of violationsOf(message())) {
      const result = await ask(operation);
      assert.ok(!result.ok, `${name}: it was accepted`);
      assert.equal(result.error.code, "connect_message_invalid", name);
      assert.ok(!isPassing(result.error.code));
      assert.match(result.error.message, /^(It|'[a-z_.0-9]+') .+\.$/u, name);
    }
    assert.deepEqual(await here.messages(), []);
    assert.ok(!line.isEnded);
  });

  it("takes the members in any order, and a message that breaks none", async () => {
    verifies("PEER-058");
    const { operation } = violationsOf(message())[0]!;
    const turned = Object.fromEntries(Object.entries(operation["message"] as object).toReversed());
    const result = await ask({ ...operation, message: turned }, operation);
    assert.ok(!result.ok && result.error.code === "connect_message_invalid");
    const right = await ask({ op: "deliver", message: message(), blobs: [] });
    assert.ok(right.ok, JSON.stringify(right));
    assert.equal((await here.messages()).length, 1);
  });

  it("ends the channel with one that the proof isn't for, or of no known kind", async () => {
    const { operation } = violationsOf(message())[0]!;
    for (const [sent, signed] of [
      [operation, { op: "deliver", message: message(), blobs: [] }],
      [{ op: "exec" }, { op: "exec" }],
    ] as const) {
      line = await peer.online();
      await assert.rejects(ask(sent, signed), /connection ended/u);
      await here.sees("offline", peer.id, ({ online }) => !online);
    }
  });
});
