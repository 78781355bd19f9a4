/**
 * The outbox on a disk that loses power or fails: what was taken in stays, what was noted stays
 * noted, nothing is torn.
 */
import assert from "node:assert/strict";
import { Outbox } from "../../daemon/peers/outbox/outbox.ts";
import type { OutboxEntry } from "../../daemon/peers/outbox/outbox-entry.ts";
import { clientKeyOf } from "../../daemon/peers/requests/source-event.ts";
import type { Files } from "../../platform/files.ts";
import { Refusal } from "../../shared/errors.ts";
import { MemoryLog } from "../operations/support.ts";
import { verifies } from "../requirements.ts";
import { enumerateCrashes, enumerateFaults, type Story, without } from "../simulation/crash.ts";
import type { Tree } from "../simulation/crash-states.ts";
import { SimulatedFiles } from "../simulation/files.ts";
import { type Piece, piece } from "./outbox-piece.ts";
import { newIdentity } from "./receiver-setting.ts";

const DIRECTORY = "/home/outbox";

/** What the story was told of one record. */
interface Known {
  accepted: boolean;
  /**
   * Every value of `needs_receipt` that may stand there: one when a change is durable, two while it
   * is under way.
   */
  needs: boolean[];
  /** Its removal was begun: it may be there, or not. */
  removed: boolean;
}
type Witness = Record<string, Known>;

const open = (files: Files): Promise<Outbox> =>
  Outbox.open({ files, log: new MemoryLog(), directory: DIRECTORY }, clientKeyOf);

async function setting(): Promise<{ from: Tree; pieces: Piece[] }> {
  const files = new SimulatedFiles();
  files.mkdir("/home");
  await new Promise<void>((resolve) => files.syncDir("/", () => resolve()));
  const [one, other] = [(await newIdentity()).instance_id, (await newIdentity()).instance_id];
  return { from: files.tree(), pieces: [await piece(one), await piece(one), await piece(other)] };
}

function storyOf(pieces: readonly Piece[]): Story<Witness> {
  const idOf = ({ work }: Piece) => work.data.delivery_id;
  return {
    begin: () =>
      Object.fromEntries(
        pieces.map((one) => [idOf(one), { accepted: false, needs: [false], removed: false }]),
      ),

    async run(files, witness) {
      const outbox = await open(files).catch(() => null);
      if (outbox === null) return;
      const accept = async (one: Piece): Promise<OutboxEntry | null> => {
        try {
          const entry = await outbox.accept(one.work, one.event);
          witness[idOf(one)]!.accepted = true;
          return entry;
        } catch (error) {
          assert.ok(error instanceof Refusal, String(error));
          assert.equal(outbox.byDelivery(idOf(one)), undefined, "what was refused is queued");
          return null;
        }
      };
      const note = async (entry: OutboxEntry, needsReceipt: boolean): Promise<void> => {
        const known = witness[entry.delivery_id]!;
        const before = entry.progress.needs_receipt;
        known.needs = [...new Set([...known.needs, needsReceipt])];
        try {
          await outbox.update(entry, outbox.read(entry), { needs_receipt: needsReceipt });
          known.needs = [needsReceipt];
        } catch {
          assert.equal(entry.progress.needs_receipt, before, "what wasn't noted counts");
        }
      };
      const [first, second, third] = pieces as [Piece, Piece, Piece];
      // Two at once for a peer whose directory isn't there yet.
      const [one, two] = await Promise.all([accept(first), accept(second)]);
      if (one !== null) await note(one, true);
      const three = await accept(third);
      if (three !== null) {
        await note(three, true);
        await note(three, false);
      }
      // What is as long as before may stand in place; anything else replaces the file.
      if (two !== null) {
        await note(two, true);
        const lastError = { code: "connect_unreachable", message: "Nobody listens." };
        await outbox.postpone(two, { next_attempt_at: "2026-01-01T00:00:05.000Z", last_error: lastError });
        await note(two, false);
      }
      for (const entry of [one, two]) {
        if (entry === null) continue;
        witness[entry.delivery_id]!.removed = true;
        try {
          outbox.remove(entry);
        } catch (error) {
          assert.ok(error instanceof Refusal && outbox.has(entry), "it is gone without being removed");
        }
      }
    },

    async check(files, witness) {
      const outbox = await open(files);
      assert.deepEqual(outbox.unreadable, [], "a record is torn");
      for (const one of pieces) {
        const { accepted, needs, removed } = witness[idOf(one)]!;
        const entry = outbox.byDelivery(idOf(one));
        if (entry === undefined) {
          assert.ok(!accepted || removed, "an accepted message is lost");
          continue;
        }
        const record = outbox.read(entry);
        assert.deepEqual([record.work, record.source_event], [one.work, one.event]);
        assert.ok(needs.includes(record.progress.needs_receipt), "a POST may have escaped, and nobody knows");
      }
      // It goes on: the same disk takes more.
      const more = await piece(pieces[0]!.work.data.target.instance_id);
      await outbox.accept(more.work, more.event);
      const again = await open(files);
      assert.ok(again.byDelivery(idOf(more)) !== undefined);
      assert.deepEqual(
        files
          .list(DIRECTORY)
          .flatMap((peer) => files.list(`${DIRECTORY}/${peer}`).filter((name) => name.endsWith(".tmp"))),
        [],
        "what a crash left behind stays",
      );
    },
  };
}

describe("the outbox when the power fails or the disk does", function () {
  this.timeout(300_000);

  it("keeps every record whole, with what was noted, at every crash point", async () => {
    verifies("OUT-002", "OUT-006");
    const { from, pieces } = await setting();
    const { points, states, violations } = await enumerateCrashes(storyOf(pieces), { from });
    assert.deepEqual(violations, []);
    assert.ok(points > 30 && states > 60, `${points} points, ${states} states`);
  });

  it("refuses, or keeps its promises, when any call fails", async () => {
    verifies("OUT-002");
    const { from, pieces } = await setting();
    const { points, violations } = await enumerateFaults(storyOf(pieces), { from });
    assert.deepEqual(violations, []);
    assert.ok(points > 60, `${points} faults`);
  });

  for (const sync of ["files", "directories"] as const) {
    it(`is shown to lose records when ${sync} aren't synced`, async () => {
      const { from, pieces } = await setting();
      const options = { from, isBrief: true, wrap: without(sync), violationsMax: 1 };
      const { violations } = await enumerateCrashes(storyOf(pieces), options);
      assert.equal(violations.length, 1);
    });
  }

  it("is shown to be torn when records are written in place", async () => {
    const { from, pieces } = await setting();
    const { violations } = await enumerateCrashes(storyOf(pieces), { from, wrap: inPlace, violationsMax: 1 });
    assert.equal(violations.length, 1);
  });
});

/** For `wrap`: a disk on which a record is changed where it stands instead of being replaced. */
function inPlace(files: Files): Files {
  return new Proxy(files, {
    get(target, name: keyof Files) {
      if (name !== "rename") return target[name].bind(target);
      return (from: string, to: string) => {
        if (target.stat(to) === null) return target.rename(from, to);
        const source = target.open(from, "read");
        const bytes = Buffer.alloc(source.size());
        source.read(bytes, 0);
        source.close();
        const file = target.open(to, "write");
        file.truncate(0);
        file.write(bytes, 0);
        file.close();
        target.unlink(from);
      };
    },
  });
}
