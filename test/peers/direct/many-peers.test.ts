/** A real daemon among many peers over real sockets: some gone, some silent, some lying. */

import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { InstanceIdentity } from "../../../daemon/home/identity.ts";
import { freePort } from "../../../demo/free-port.ts";
import { RealRandom } from "../../../platform/real-random.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { verifies } from "../../requirements.ts";
import { SimulatedFiles } from "../../simulation/files.ts";
import { until } from "../../support/until.ts";
import { LightPeer } from "./light-peer.ts";
import { Side } from "./two-homes.ts";

const { records, recordsPerPeer } = LIMITS.outbox;
const PEERS = records / recordsPerPeer;
const PATIENCE_MS = 240_000;

describe("a daemon with many Direct peers", function () {
  this.timeout(600_000);
  let here: Side;
  const peers: LightPeer[] = [];
  const ids = new Map<LightPeer, string>();
  let sent = 0;

  before(async () => {
    here = await Side.started("Here");
    const at = `127.0.0.1:${await freePort()}`;
    await here.client.result("connect_direct_configure", { listener: { bind: at, address: at } });
    for (let made = 0; made < PEERS; made += 1) {
      const { invitation } = await here.client.result("connect_direct_invite", { group_id: here.group_id });
      const peer = await LightPeer.started();
      peers.push(peer);
      ids.set(peer, await peer.join(invitation));
    }
    for (const id of ids.values()) {
      await here.sees("who came", id, ({ state }) => state === "pending");
      await here.client.result("connect_direct_approve", { group_id: here.group_id, id });
    }
    await online(peers);
  });
  after(async () => {
    await here?.dispose();
    for (const peer of peers) await peer.dispose();
  });

  async function online(which: readonly LightPeer[]): Promise<void> {
    for (const peer of which) await here.sees("online", ids.get(peer)!, (relation) => relation.online);
  }

  async function send(peer: LightPeer, text: string): Promise<string> {
    sent += 1;
    const { source_event: sourceEvent } = await here.client.result("connect_send", {
      group_id: here.group_id,
      instance_id: peer.identity.instance_id,
      target_group_id: peer.group_id,
      client_id: `message-${sent}`,
      text,
      to: ["user"],
    });
    return sourceEvent.id;
  }

  function queued(): number {
    const outbox = join(here.daemon.home, "state", "connect", "outbox");
    return existsSync(outbox)
      ? readdirSync(outbox, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".json"))
          .length
      : 0;
  }

  it("keeps 1,024 messages for peers that are gone, over a kill -9, and delivers each once", async () => {
    verifies("LIM-035", "OUT-021", "OUT-024");
    for (const peer of peers) await peer.stop();
    for (const id of ids.values()) await here.sees("offline", id, (relation) => !relation.online);
    const events: string[] = [];
    for (let round = 0; round < recordsPerPeer; round += 1) {
      events.push(...(await Promise.all(peers.map((peer, at) => send(peer, `${at} ${round}`)))));
    }
    assert.equal(queued(), records);
    await assert.rejects(send(peers[0]!, "one too many"), /1024 messages can wait/u);
    await here.daemon.kill();
    await here.daemon.start();
    assert.equal(queued(), records);
    for (const peer of peers) await peer.start();
    await until("the outbox is empty", () => queued() === 0, PATIENCE_MS);
    for (const [at, peer] of peers.entries()) {
      const texts = [...peer.received.values()].map(({ text }) => text);
      const expected = Array.from({ length: recordsPerPeer }, (_, round) => `${at} ${round}`);
      assert.deepEqual(texts.sort(), expected.sort());
    }
    for (let from = 0; from < events.length; from += 1000) {
      const { statuses } = await here.client.result("ledger_statuses", {
        group_id: here.group_id,
        event_ids: events.slice(from, from + 1000),
      });
      for (const { connect_delivery: connectDelivery } of Object.values(statuses))
        assert.equal(connectDelivery?.state, "sent");
    }
  });

  it("serves the others while one takes everything and answers nothing", async () => {
    verifies("LIM-043", "LIM-046", "OUT-040");
    const [silent, ...healthy] = peers as [LightPeer, ...LightPeer[]];
    await online(peers);
    silent.answer = () => new Promise(() => {});
    const asked = silent.asked.length;
    const waiting = await send(silent, "into silence");
    await until("it was asked", () => silent.asked.length > asked);
    const events = await Promise.all(healthy.flatMap((peer) => [send(peer, "one"), send(peer, "two")]));
    for (const event of events) assert.equal((await here.delivered(event))?.state, "sent");
    assert.equal((await here.delivery(waiting))?.state, "queued");
    silent.answer = async (request) => silent.properly(request);
    // Requests that nobody answered keep their places of this channel; a new one has all of them.
    await silent.stop();
    await silent.start();
    assert.equal((await until("its fate", () => fate(waiting), PATIENCE_MS)).state, "sent");
    const [received, ...twice] = [...silent.received.values()].filter(({ text }) => text === "into silence");
    assert.deepEqual([received?.times, twice.length], [1, 0]);
  });

  it("believes no answer that the peer didn't sign itself, and asks again", async () => {
    verifies("PEER-021", "PEER-022", "OUT-023");
    const [, liar] = peers as [LightPeer, LightPeer];
    await online([liar]);
    const stranger = await InstanceIdentity.obtain(new SimulatedFiles(), new RealRandom(), "/identity");
    liar.answer = async (request) => {
      const answer = liar.properly(request, request.operation.op === "receipt" ? liar.identity : stranger);
      return request.operation.op === "receipt" ? { ...answer, request_sha256: "0".repeat(64) } : answer;
    };
    const from = liar.asked.length;
    const event = await send(liar, "true or not");
    await until("it asked for a receipt", () => liar.asked.slice(from).includes("receipt"), PATIENCE_MS);
    assert.equal((await here.delivery(event))?.state, "queued");
    assert.equal(liar.asked.slice(from).filter((op) => op === "deliver").length, 1);
    liar.answer = async (request) => liar.properly(request);
    const state = await until("its fate", () => fate(event), PATIENCE_MS);
    assert.equal(state.state, "sent");
    const [received] = [...liar.received.values()].filter(({ text }) => text === "true or not");
    assert.equal(state.remote_event_id, received?.receipt.event_id);
    assert.equal(received?.times, 1);
  });

  async function fate(event: string) {
    const delivery = await here.delivery(event);
    return delivery?.state === "queued" ? null : delivery;
  }
});
