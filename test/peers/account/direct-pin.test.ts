/**
 * Two daemons of one account with a Direct connection between the same two Groups, revoked at one
 * end and removed at the other: where the record is left, the account is no way around it.
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { operationDigest } from "../../../daemon/peers/wire/digests.ts";
import { signStatement } from "../../../daemon/peers/wire/statements.ts";
import type { MessageEvent } from "../../../shared/events.ts";
import { CatalogPage, ConnectPeerOperation, groupsOf } from "../../../shared/wire/v1/peer.ts";
import { requestStatement } from "../../../shared/wire/v1/signing.ts";
import { verifies } from "../../requirements.ts";
import { PLAIN_MESSAGE } from "../../support/plain-message.ts";
import { until } from "../../support/until.ts";
import { connect, type Side } from "../direct/two-homes.ts";
import { identityOf, LinkedPair } from "./linked-pair.ts";

describe("a revoked Direct connection of two Groups within an account", function () {
  this.timeout(180_000);
  const pair = new LinkedPair();
  let one: Side;
  let two: Side;
  let id: string;
  /** Requests by account, written before there was a Direct connection. */
  let toTwo: MessageEvent;
  let toOne: MessageEvent;

  async function exchanged(
    from: Side,
    to: Side,
    text: string,
  ): Promise<{ sent: string; there: MessageEvent }> {
    await catalogOf(from, to);
    const { source_event: sent } = await from.client.result("connect_send", {
      group_id: from.group_id,
      instance_id: to.instance_id,
      target_group_id: to.group_id,
      client_id: text,
      text,
      to: ["lead"],
      message_mode: "request_reply",
    });
    const { remote_event_id: there } = await from.delivered(sent.id);
    return { sent: sent.id, there: (await to.messages()).find((event) => event.id === there)! };
  }

  async function catalogOf(from: Side, to: Side): Promise<void> {
    await until("the catalog", async () => {
      const found = await from.client.result("connect_catalog", {
        group_id: from.group_id,
        instance_id: to.instance_id,
      });
      return "catalog" in found && found.catalog?.groups.some(({ group_id: id }) => id === to.group_id);
    });
  }

  /** As instance two would ask one within the account, at this moment. */
  async function ask(asked: ConnectPeerOperation) {
    const operation = ConnectPeerOperation.parse(asked);
    const { connect: known } = await two.client.result("connect_status", {});
    const { directory, account_origin: origin } = known!;
    const device = (side: Side) =>
      directory!.instances.find((entry) => entry.instance_id === side.instance_id)!.device_id;
    const proof = signStatement(requestStatement, identityOf(two), {
      account_origin: origin,
      account_id: directory!.account_id,
      source_instance_id: two.instance_id,
      source_device_id: device(two),
      target_instance_id: one.instance_id,
      target_device_id: device(one),
      request_id: randomUUID(),
      issued_at: new Date().toISOString(),
      expires_at: new Date(Date.now() + 50_000).toISOString(),
      operation_sha256: await operationDigest(operation),
    });
    const envelope = { proof, operation };
    const groupId = groupsOf(operation).target ?? "";
    const handed = await one.client.call("connect_peer_receive", { group_id: groupId, envelope });
    if (!handed.ok) return handed.error.code;
    const { result } = handed.result.response;
    return result.ok ? result.result : result.error.code;
  }

  async function message(createdAt: number): Promise<ConnectPeerOperation> {
    const received = toTwo.data.connect_message as Record<"source" | "target", object> & {
      account_origin: string;
      account_id: string;
    };
    const person = { id: "user", title: "Person", generation: "", enabled: true, role: null };
    const at = (milliseconds: number) => new Date(createdAt + milliseconds).toISOString();
    return ConnectPeerOperation.parse({
      op: "deliver",
      message: {
        delivery_id: randomUUID(),
        account_origin: received.account_origin,
        account_id: received.account_id,
        source: received.target,
        sender: person,
        source_event_id: randomUUID().replaceAll("-", ""),
        target: received.source,
        recipients: [person],
        text: "by account",
        ...PLAIN_MESSAGE,
        created_at: at(0),
        deliver_before: at(15 * 60_000),
        reply_before: at(24 * 60 * 60_000),
      },
      blobs: [],
    });
  }

  before(async () => {
    await pair.start();
    ({ one, two } = pair);
    toTwo = (await exchanged(one, two, "from one, by account")).there;
    toOne = (await exchanged(two, one, "from two, by account")).there;
    id = await connect(one, two);
    await one.client.result("connect_direct_revoke", { group_id: one.group_id, id });
    await two.sees("it was revoked", id, ({ state }) => state === "revoked");
    await two.client.result("connect_direct_remove", { group_id: two.group_id, id });
  });
  after(() => pair.dispose());

  it("is no way for a new message, a reply or a file at the end that holds the record", async () => {
    verifies("DRC-094");
    const reply = { group_id: one.group_id, event_id: toOne.id, text: "back", client_id: "back" };
    for (const refused of [
      await one.client.call("reply", reply),
      await one.daemon.actorClient(one.tokenFile).call("reply", reply),
      await one.client.call("connect_send", {
        group_id: one.group_id,
        instance_id: two.instance_id,
        target_group_id: two.group_id,
        client_id: "new",
        text: "new",
        to: ["lead"],
      }),
    ]) {
      assert.ok(!refused.ok);
      assert.equal(refused.error.code, "connect_not_granted");
      assert.match(refused.error.message, /revoked/u);
    }
    assert.ok((await two.messages()).every(({ data }) => data.text !== "back" && data.text !== "new"));
  });

  it("takes no withdrawal to the other end, which ends here", async () => {
    verifies("DRC-094");
    const sent = (await one.messages()).find(({ data }) => data.text === "from one, by account")!;
    const { event, cancelled } = await one.client.result("reply_request_cancel", {
      group_id: one.group_id,
      event_id: sent.id,
    });
    assert.equal(cancelled.length, 1);
    const { statuses } = await one.client.result("ledger_statuses", {
      group_id: one.group_id,
      event_ids: [sent.id],
    });
    const { connect_cancellation: propagation } = statuses[sent.id]!;
    assert.equal(propagation?.state, "unconfirmed");
    assert.match(propagation.error?.message ?? "", /revoked/u);
    const again = await one.client.result("reply_request_cancel", {
      group_id: one.group_id,
      event_id: sent.id,
    });
    assert.equal(again.event.id, event.id);
    const { events } = await two.client.result("ledger_tail", { group_id: two.group_id, limit: 200 });
    assert.ok(events.every(({ kind }) => kind !== "chat.reply_request.cancelled"));
  });

  it("lets nothing new arrive, whatever the other end believes", async () => {
    verifies("DRC-094");
    await two.send(one, "late", "sent without a record");
    const cancelled = (await two.messages()).find(({ data }) => data.text === "from two, by account")!;
    await two.client.result("reply_request_cancel", { group_id: two.group_id, event_id: cancelled.id });
    const log = join(one.daemon.home, "daemon", "log");
    await until("both are refused", () => {
      const text = readFileSync(log, "utf8");
      return ["deliver", "cancel"].every((op) => new RegExp(`"${op}".*peer_denied`, "u").test(text));
    });
    assert.equal(await ask(await message(Date.now())), "connect_peer_denied");
    assert.ok(
      (await one.messages()).every(
        ({ data }) => !["sent without a record", "by account"].includes(data.text),
      ),
    );
    const { events } = await one.client.result("ledger_tail", { group_id: one.group_id, limit: 200 });
    const controls = events.filter(({ kind }) => kind === "chat.reply_request.cancelled");
    assert.ok(controls.every(({ by }) => by === "user"));
  });

  it("hides the two Groups from each other in the account's catalogs", async () => {
    verifies("DRC-094");
    const catalog = { op: "catalog" as const, after: null, target_group_id: one.group_id };
    assert.equal(await ask({ ...catalog, source_group_id: two.group_id }), "connect_peer_denied");
    const listed = async (sourceGroupId: string) => {
      const page = await ask({ ...catalog, source_group_id: sourceGroupId, target_group_id: null });
      return CatalogPage.parse(page).groups.map(({ group_id: groupId }) => groupId);
    };
    assert.deepEqual(await listed(two.group_id), []);
    // Another Group there, and the machine as a whole, may still ask.
    assert.deepEqual(await listed(""), [one.group_id]);
    assert.deepEqual(await listed("g_000000000001"), [one.group_id]);
    assert.equal(typeof (await ask({ ...catalog, source_group_id: "g_000000000001" })), "object");
    const here = await one.client.result("connect_catalog", {
      group_id: one.group_id,
      instance_id: two.instance_id,
    });
    assert.ok("catalog" in here);
    assert.deepEqual(here.catalog?.groups, []);
  });

  it("leaves what was written before it on its way, and tells what arrived before", async () => {
    verifies("DRC-094");
    const { connections } = await one.client.result("connection_list", { group_id: one.group_id });
    const { since } = connections.find((connection) => connection.id === id)!;
    const receipt = await ask({
      op: "receipt",
      source_group_id: two.group_id,
      target_group_id: one.group_id,
      delivery_id: String(toOne.data.delivery_id),
      message_sha256: String(toOne.data.connect_message_sha256),
    });
    assert.equal((receipt as { receipt: { event_id: string } | null }).receipt?.event_id, toOne.id);
    const before = await ask(await message(Date.parse(since ?? "") - 1));
    assert.ok((before as { receipt: object | null }).receipt !== null, JSON.stringify(before));
  });

  it("is the account's again once the record is removed", async () => {
    verifies("DRC-064");
    await one.client.result("connect_direct_remove", { group_id: one.group_id, id });
    await one.client.result("reply", {
      group_id: one.group_id,
      event_id: toOne.id,
      text: "back at last",
      client_id: "back at last",
    });
    await until("it arrives", async () =>
      (await two.messages()).some(({ data }) => data.text === "back at last"),
    );
    await until("what waited arrives", async () =>
      (await one.messages()).some(({ data }) => data.text === "sent without a record"),
    );
  });
});
