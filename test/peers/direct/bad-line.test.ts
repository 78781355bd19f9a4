/**
 * Two real daemons over a bad line. Loss and reordering of packets are TCP's to repair, so what a
 * Direct connection sees of them is delay, silence and breaks; a relay in this process makes those
 * on any machine.
 */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../../demo/free-port.ts";
import { verifies } from "../../requirements.ts";
import { until } from "../../support/until.ts";
import { BadLine } from "./bad-line.ts";
import { connect, Side } from "./two-homes.ts";

const PATIENCE_MS = 240_000;
const FILE_BYTES = 2 * 1024 * 1024;

describe("two daemons over a bad line", function () {
  this.timeout(600_000);
  let host: Side;
  let joiner: Side;
  let line: BadLine;
  let id: string;

  before(async () => {
    [host, joiner] = await Promise.all([Side.started("Host"), Side.started("Joiner")]);
    const port = await freePort();
    line = await BadLine.to(port);
    const listener = { bind: `127.0.0.1:${port}`, address: line.address };
    await host.client.result("connect_direct_configure", { listener });
    id = await connect(host, joiner);
  });
  after(async () => {
    await Promise.all([host?.dispose(), joiner?.dispose()]);
    await line?.close();
  });

  /** Their fates, once all are known. */
  function fates(from: Side, events: readonly string[]) {
    return until(
      `the fates of ${events.length} messages`,
      async () => {
        const { statuses } = await from.client.result("ledger_statuses", {
          group_id: from.group_id,
          event_ids: [...events],
        });
        const states = Object.values(statuses).map(
          ({ connect_delivery: connectDelivery }) => connectDelivery?.state,
        );
        return states.includes("queued") ? null : states;
      },
      PATIENCE_MS,
    );
  }

  const textsFrom = async (side: Side, other: Side): Promise<string[]> =>
    (await side.messages())
      .filter(({ by }) => by === `connect:${other.instance_id}`)
      .map(({ data }) => data.text)
      .sort();

  it("that breaks off in the middle of everything: each message arrives once, each file whole", async () => {
    verifies("OUT-038", "OUT-039", "PEER-041", "DRC-049");
    const sent = new Map<Side, string[]>([
      [host, []],
      [joiner, []],
    ]);
    // In a request, in an answer, in a handshake, in a file; the first one soon.
    line.breaksAfter.push(700, 9000, FILE_BYTES / 2, 20_000);
    line.delayMs = 1;
    line.pieceBytes = 1400;
    const file = join(host.project, "file.bin");
    writeFileSync(file, randomBytes(FILE_BYTES));
    line.breakNow();
    const { source_event: sourceEvent } = await host.client.result("connect_send_files", {
      group_id: host.group_id,
      instance_id: joiner.instance_id,
      target_group_id: joiner.group_id,
      client_id: "file",
      text: "file",
      to: ["lead"],
      paths: [file],
    });
    sent.get(host)?.push(sourceEvent.id);
    for (let at = 0; at < 15; at += 1) {
      for (const [from, to] of [
        [host, joiner],
        [joiner, host],
      ] as const) {
        const answer = await from.send(to, `broken-${at}`, `message ${String(at).padStart(2, "0")}`);
        sent.get(from)?.push(answer.source_event.id);
      }
    }
    for (const [from, events] of sent) {
      assert.deepEqual([...new Set(await fates(from, events))], ["sent"]);
    }
    assert.ok(line.broken >= 4, `${line.broken} breaks`);
    const texts = Array.from({ length: 15 }, (_, at) => `message ${String(at).padStart(2, "0")}`);
    assert.deepEqual(await textsFrom(host, joiner), texts);
    assert.deepEqual(await textsFrom(joiner, host), ["file", ...texts]);
  });

  it("that goes silent: what waits arrives once when it speaks again, and the silence is noticed", async () => {
    verifies("LIM-058", "DRC-071");
    line.delayMs = 0;
    line.pieceBytes = 64 * 1024;
    await host.sees("online", id, (relation) => relation.online);
    line.silent = true;
    const { source_event: sourceEvent } = await joiner.send(host, "silent", "into the silence");
    await joiner.sees("offline", id, (relation) => !relation.online);
    assert.equal((await joiner.delivery(sourceEvent.id))?.state, "queued");
    line.silent = false;
    assert.deepEqual(await fates(joiner, [sourceEvent.id]), ["sent"]);
    assert.equal((await textsFrom(host, joiner)).filter((text) => text === "into the silence").length, 1);
  });
});
