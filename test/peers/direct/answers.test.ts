/**
 * What a daemon answers over a Direct connection, read by somebody who has nothing but the contract
 * and the keys.
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { operationDigest, requestDigest, sha256Hex } from "../../../daemon/peers/wire/digests.ts";
import { signStatement, verifyStatement } from "../../../daemon/peers/wire/statements.ts";
import { VerifyingKey } from "../../../platform/keys.ts";
import { DirectFrame } from "../../../shared/wire/v1/direct.ts";
import { type ConnectPeerAnswer, ConnectPeerOperation, ReceiptResult } from "../../../shared/wire/v1/peer.ts";
import { requestStatement, responseStatement } from "../../../shared/wire/v1/signing.ts";
import { verifies } from "../../requirements.ts";
import { ada } from "../../wire/sample.ts";
import { frameOf, type HostileLine, HostilePeer, PEER_GROUP } from "./hostile-peer.ts";
import { Side } from "./two-homes.ts";

describe("the answers of a daemon to an approved peer", function () {
  this.timeout(120_000);
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

  /** The answer to an operation that this key signed, and the digest that it has to name. */
  async function ask(
    operation: ConnectPeerOperation,
    signer: { sign(bytes: Uint8Array): Uint8Array } = peer.identity,
  ): Promise<{ answer: ConnectPeerAnswer; request_id: string; request_sha256: string }> {
    const now = Date.now();
    const proof = signStatement(requestStatement, signer, {
      connection_id: peer.id,
      source_instance_id: peer.identity.instance_id,
      target_instance_id: here.instance_id,
      request_id: randomUUID(),
      issued_at: new Date(now).toISOString(),
      expires_at: new Date(now + 60_000).toISOString(),
      operation_sha256: await operationDigest(operation),
    });
    await line.send(frameOf(JSON.stringify({ kind: "request", request: { proof, operation } })));
    for (;;) {
      const frame = DirectFrame.parse(await line.frame());
      // It asks for a catalog meanwhile.
      if (frame.kind !== "response") continue;
      assert.equal(frame.id, proof.request_id);
      return { answer: frame.response, request_id: frame.id, request_sha256: requestDigest(proof) };
    }
  }

  const pair = () => ({
    connection_id: peer.id,
    source_group_id: PEER_GROUP,
    target_group_id: here.group_id,
  });
  const delivery = (recipient: string, text: string): ConnectPeerOperation => {
    const now = Date.now();
    const after = (minutes: number) => new Date(now + minutes * 60_000).toISOString();
    const address = (instanceId: string, groupId: string) => ({
      instance_id: instanceId,
      group_id: groupId,
      title: "",
    });
    const person = { id: "user", title: "", generation: "", enabled: true, role: null };
    const message = {
      connection_id: peer.id,
      delivery_id: randomUUID(),
      source: address(peer.identity.instance_id, PEER_GROUP),
      sender: person,
      source_event_id: randomUUID(),
      target: address(here.instance_id, here.group_id),
      recipients: [
        recipient === "user" ? person : { ...person, id: recipient, generation: "g", role: "peer" },
      ],
      text,
      format: "plain",
      insight: null,
      message_mode: "send",
      attachments: [],
      reply_to: null,
      created_at: after(0),
      deliver_before: after(15),
      reply_before: after(60),
    };
    return ConnectPeerOperation.parse({ op: "deliver", message, blobs: [] });
  };

  it("are signed by its key, results and refusals alike, for this request and no other", async () => {
    verifies("DRC-058", "DRC-059", "PEER-019", "PEER-020");
    const key = VerifyingKey.admit(peer.invitation.host.public_key);
    const unknown = { delivery_id: randomUUID(), message_sha256: sha256Hex("unknown") };
    const digests = new Set<string>();
    for (const [operation, code] of [
      [ConnectPeerOperation.parse({ op: "catalog", ...pair() }), null],
      [ConnectPeerOperation.parse({ op: "receipt", ...pair(), ...unknown }), null],
      [delivery("user", "Hello"), null],
      [delivery("nobody-here", "Hello"), "connect_recipient_replaced"],
    ] as const) {
      const { answer, request_id: requestId, request_sha256: requestSha256 } = await ask(operation);
      assert.ok(answer.ok, JSON.stringify(answer));
      const { response } = answer.result;
      assert.ok(verifyStatement(responseStatement, key, response), operation.op);
      assert.deepEqual([response.request_id, response.request_sha256], [requestId, requestSha256]);
      digests.add(requestSha256);
      assert.equal(response.result.ok ? null : response.result.error.code, code);
      for (const altered of [
        { ...response, request_sha256: sha256Hex("another request") },
        { ...response, request_id: randomUUID() },
        { ...response, result: { ok: true as const, result: { receipt: null, more: 1 } } },
      ]) {
        assert.ok(!verifyStatement(responseStatement, key, altered));
      }
      assert.ok(!verifyStatement(responseStatement, VerifyingKey.admit(ada.public_key), response));
      if (operation.op === "deliver" && response.result.ok)
        assert.ok(ReceiptResult.parse(response.result.result).receipt !== null);
    }
    assert.equal(digests.size, 4);
    assert.deepEqual(
      (await here.messages()).map(({ data }) => data["text"]),
      ["Hello"],
    );
  });

  it("are refusals without a signature where a request isn't authentic, and the channel goes on", async () => {
    verifies("DRC-054", "DRC-092");
    const { answer } = await ask(delivery("user", "Forged"), ada);
    assert.ok(!answer.ok);
    assert.equal(answer.error.code, "connect_peer_denied");
    assert.doesNotMatch(JSON.stringify(answer), /signature|wrong/u);
    assert.ok(!(await here.messages()).some(({ data }) => data["text"] === "Forged"));
    assert.ok((await ask(delivery("user", "Real"))).answer.ok);
    assert.ok((await here.messages()).some(({ data }) => data["text"] === "Real"));
  });
});
