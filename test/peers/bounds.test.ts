/** What the sending half takes, asks and waits for at most. */
import assert from "node:assert/strict";
import { Outbox } from "../../daemon/peers/outbox/outbox.ts";
import { clientKeyOf } from "../../daemon/peers/requests/source-event.ts";
import { LIMITS } from "../../shared/limits.ts";
import { refusal } from "../messaging/setting.ts";
import { MemoryLog } from "../operations/support.ts";
import { verifies } from "../requirements.ts";
import { SimulatedFiles } from "../simulation/files.ts";
import { type Seen, signed, UP } from "./memory-transport.ts";
import { piece } from "./outbox-piece.ts";
import { newIdentity } from "./receiver-setting.ts";
import { grantOf, Pair, rest, SECOND } from "./sending-setting.ts";

const DIRECTORY = "/outbox";
const MiB = 1024 * 1024;

async function emptyOutbox() {
  const files = new SimulatedFiles();
  const open = () => Outbox.open({ files, log: new MemoryLog(), directory: DIRECTORY }, clientKeyOf);
  const written = () =>
    files.list(DIRECTORY).reduce((sum, peer) => sum + files.list(`${DIRECTORY}/${peer}`).length, 0);
  return { open, written, outbox: await open() };
}

async function accept(outbox: Outbox, peer: string, bytes: readonly number[] = []) {
  const { work, event } = await piece(peer, bytes);
  return outbox.accept(work, event);
}

describe("the outbox of all peers together", function () {
  this.timeout(120_000);

  it("takes 1,024 messages and no more, and says so", async () => {
    verifies("LIM-035", "ERR-017");
    const { open, outbox, written } = await emptyOutbox();
    const { records, recordsPerPeer } = LIMITS.outbox;
    const peers: string[] = [];
    for (let made = 0; made * recordsPerPeer < records; made += 1) {
      const { instance_id: instanceId } = await newIdentity();
      peers.push(instanceId);
      for (let at = 0; at < recordsPerPeer; at += 1) await accept(outbox, instanceId);
    }
    assert.equal(outbox.size, 1024);
    const { instance_id: instanceId } = await newIdentity();
    for (const full of [outbox, await open()]) {
      await assert.rejects(accept(full, instanceId), refusal("outbox_full", { limit: 1024 }));
      assert.equal(written(), 1024);
    }
    const [done] = outbox.entries();
    assert.ok(done !== undefined);
    outbox.remove(done);
    await accept(outbox, instanceId);
    assert.equal(outbox.size, 1024);
  });

  it("takes 256 MiB of files and no more, and says so", async () => {
    verifies("LIM-037", "ERR-017");
    const { open, outbox, written } = await emptyOutbox();
    for (let made = 0; made < 4; made += 1) {
      const { instance_id: instanceId } = await newIdentity();
      for (let at = 0; at < 8; at += 1) await accept(outbox, instanceId, [3 * MiB, 5 * MiB]);
    }
    const before = written();
    const { instance_id: instanceId } = await newIdentity();
    for (const full of [outbox, await open()]) {
      await assert.rejects(accept(full, instanceId, [1]), refusal("outbox_full", { limit: 256 * MiB }));
      assert.equal(written(), before);
    }
    // What has no files needs no room for them.
    await accept(outbox, instanceId);
    assert.equal(written(), before + 1);
  });
});

describe("the sending half", () => {
  let pair: Pair;
  beforeEach(async () => {
    pair = await Pair.open("direct");
  });
  afterEach(() => pair.close());

  it("waits for a Group's permit five seconds, and tries again", async () => {
    verifies("LIM-045");
    const { here, there } = pair;
    let release = (): void => {};
    here.transport.wire = async ({ operation }, carry) => {
      const answer = await carry();
      if (operation.op === "deliver") release = await here.group.permit.acquireWrite();
      return answer;
    };
    const { source_event: sourceEvent } = await pair.send();
    await pair.eventually(() => there.messages().length === 1);
    here.transport.wire = UP;
    await rest();
    assert.equal(here.records()[0]?.progress.last_error, null);
    pair.clock.advance(4 * SECOND);
    await rest();
    assert.equal(here.records()[0]?.progress.last_error, null);
    pair.clock.advance(SECOND);
    await rest();
    assert.equal(here.records()[0]?.progress.last_error?.code, "group_busy");
    release();
    await pair.ended(here);
    assert.equal((await here.delivery(sourceEvent.id))?.state, "sent");
    assert.equal(there.messages().length, 1);
  });

  it("asks eight peers for their catalogs at a time", async () => {
    verifies("LIM-020");
    const { here, there } = pair;
    await pair.pass(10 * SECOND);
    const usual = grantOf("direct", here, there);
    here.transport.wire = () => new Promise(() => {});
    here.transport.mostOpen = 0;
    const others = await Promise.all(
      Array.from({ length: 10 }, async (_, at) => {
        const { instance_id: instanceId, public_key: publicKey } = await newIdentity();
        const connectionId = `direct-00000000-0000-4000-8000-00000000000${at}`;
        return {
          ...usual,
          connection_id: connectionId,
          remote: { ...usual.remote, instance_id: instanceId, public_key: publicKey },
          route: { via: "direct" as const, connection_id: connectionId, instance_id: instanceId },
        };
      }),
    );
    here.authority.grants = others;
    here.authority.changed();
    await pair.eventually(() => here.transport.mostOpen > 0);
    await pair.pass(4 * SECOND);
    assert.equal(here.transport.mostOpen, 8);
    // Those that don't answer make room for the others.
    const asked = () => new Set(here.transport.seen.map(({ to }) => to));
    await pair.eventually(() => others.every(({ remote }) => asked().has(remote.instance_id)));
    assert.equal(here.transport.mostOpen, 8);
  });

  it("gives a catalog thirty seconds, and publishes none that takes longer", async () => {
    verifies("LIM-023");
    const { here, there } = pair;
    const known = async () => {
      const found = await here.home.call("connect_catalog", {
        group_id: here.group_id,
        instance_id: there.instance_id,
        target_group_id: there.group_id,
      });
      return "catalog" in found ? found.catalog : null;
    };
    const before = await known();
    let pages = 0;
    here.transport.wire = async (request) => {
      pages += 1;
      const next = pages % 16 === 0 ? null : String(pages);
      await new Promise<void>((resolve) => void pair.clock.after(4 * SECOND, resolve));
      return signed(there.identity, request, { ok: true, result: { groups: [], next } });
    };
    await pair.eventually(() => pages > 0);
    const [{ at: begun }] = here.transport.seen.slice(-1) as [Seen];
    await pair.pass(29 * SECOND - (pair.clock.now() - begun));
    assert.equal(here.transport.open.get(there.instance_id), 1);
    const asked = pages;
    // The page that is under way is given up as well.
    await pair.pass(SECOND);
    await pair.eventually(() => here.transport.open.get(there.instance_id) === 0);
    assert.equal(pair.clock.now() - begun, LIMITS.connect.catalog.refreshBudgetSeconds * SECOND);
    assert.equal(pages, asked);
    assert.ok(pages <= 8, `${pages} pages`);
    assert.deepEqual(await known(), before);
  });
});
