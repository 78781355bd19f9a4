/**
 * An approved peer that means ill, over a real socket to a real daemon: frames that would fill the
 * memory or hold everybody up.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { LIMITS } from "../../../shared/limits.ts";
import { verifies } from "../../requirements.ts";
import { until } from "../../support/until.ts";

import { frameOf, HostilePeer } from "./hostile-peer.ts";
import { Side } from "./two-homes.ts";

const MiB = 1024 * 1024;
/** What a frame and its parsing may take, with room; what is held off would take gigabytes. */
const GROWTH_BYTES = 256 * MiB;

/** The most memory that a process has had, and null where the system doesn't say. */
function peakBytes(pid: number): number | null {
  const status = `/proc/${pid}/status`;
  if (!existsSync(status)) return null;
  return Number(/^VmHWM:\s+(\d+) kB$/mu.exec(readFileSync(status, "utf8"))?.[1]) * 1024;
}

describe("a daemon and an approved peer that means ill", function () {
  this.timeout(180_000);
  let here: Side;
  let peer: HostilePeer;
  let peak: number | null;

  before(async () => {
    here = await Side.started("Here");
    peer = await HostilePeer.approved(here);
  });
  beforeEach(() => {
    peak = peakBytes(here.daemon.pid);
  });
  after(async () => {
    peer?.dispose();
    await here?.dispose();
  });

  async function isWell(): Promise<void> {
    assert.equal((await here.client.result("daemon_status", {})).pid, here.daemon.pid);
    const grown = (peakBytes(here.daemon.pid) ?? 0) - (peak ?? 0);
    assert.ok(grown < GROWTH_BYTES, `it took ${Math.round(grown / MiB)} MiB`);
  }

  /** Whatever fills a frame. */
  const filled = (head: string, filling: string, tail: string, bytes: number): Buffer =>
    frameOf(head + filling.repeat((bytes - head.length - tail.length) / filling.length) + tail);

  it("takes no catalog that is too large, after which the channel goes on, nor one of millions of Actors", async () => {
    verifies("LIM-018");
    const line = await peer.online();
    const more = Array.from({ length: 300 }, () => "x".repeat(4096));
    const page = { groups: [], next: null };
    await line.send(peer.answer(await peer.request(line), { ...page, more }));
    // It asks again over the same channel.
    await line.send(peer.answer(await peer.request(line), { ...page, groups: "none" }));
    assert.ok((await here.relation(peer.id))?.online);
    assert.ok(!line.isEnded);
    line.end();
    await here.sees("offline", peer.id, ({ online }) => !online);
    for (const bytes of [LIMITS.direct.frameBytes, 2 * MiB, MiB]) {
      const line = await peer.online();
      const { proof, operation } = await peer.request(line);
      assert.equal(operation.op, "catalog");
      const id = proof.request_id;
      const head = `{"kind":"response","id":"${id}","response":{"ok":true,"result":{"response":{"request_id":"${id}","request_sha256":"${"0".repeat(64)}","result":{"ok":true,"result":{"groups":[{"group_id":"a","title":"","actors":[{}`;
      const tail = `]}],"next":null}},"signature":"${Buffer.alloc(64).toString("base64")}"}}}}`;
      await line.send(filled(head, ",{}", tail, bytes));
      await isWell();
      line.end();
      await here.sees("offline", peer.id, ({ online }) => !online);
    }
  });

  it("ends the channel with a frame of more JSON than any has", async () => {
    for (const [head, filling, tail] of [
      ['{"kind":"request","request":[{}', ",{}", "]}"],
      ['{"kind":"request","request":[1', ",1", "]}"],
      ['{"kind":"request","request":[""', ',""', "]}"],
      ['{"kind":"request","request":["', "a", '"]}'],
      ['{"kind":"request","request":"', "a", '","more":1}'],
      ['{"request":', "[", "]}"],
      ["[", "[", "]"],
    ] as const) {
      const line = await peer.online();
      await line.send(filled(head, filling, tail, LIMITS.direct.frameBytes));
      await until("the channel ends", async () => line.isEnded);
      await isWell();
      const { error } = await here.sees("offline", peer.id, ({ online }) => !online);
      assert.match(error ?? "", /^The peer sent (a frame that|something that)/u);
      assert.doesNotMatch(error ?? "", /closed the connection/u);
    }
  });

  it("ends the channel with the fifth answer to what nobody asked, and builds none of them", async () => {
    const stray = (filling: string, bytes: number): Buffer =>
      filled(`{"kind":"response","id":"${randomUUID()}","response":[1`, filling, "]}", bytes);
    const line = await peer.online();
    for (let count = 0; count <= LIMITS.direct.strayAnswers; count += 1)
      await line.send(stray(",1", 100_000));
    await until("the channel ends", async () => line.isEnded);
    const { error } = await here.sees("offline", peer.id, ({ online }) => !online);
    assert.match(error ?? "", /an answer without a request/u);
    await isWell();
  });

  it("ends the channel of a peer that pings all the time", async () => {
    const line = await peer.online();
    const ping = frameOf('{"kind":"ping"}');
    await line.send(Buffer.concat(Array.from({ length: LIMITS.direct.pings + 1 }, () => ping)));
    await until("the channel ends", async () => line.isEnded);
    const { error } = await here.sees("offline", peer.id, ({ online }) => !online);
    assert.match(error ?? "", /more pings/u);
  });
});
