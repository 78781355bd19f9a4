/** `kill -9` at random moments under load (issue: What it must withstand). */
import assert from "node:assert/strict";
import { Chance, seedOfRun, withSeed } from "../support/chance.ts";
import { crashRounds, type Tally } from "./crash-rounds.ts";
import { smallSegments, smallSegmentsOnForgetfulDisk } from "./variants.ts";

/** On each of two Homes at once. */
const ROUNDS = Number(process.env["WITHSTAND_ROUNDS"] ?? 100);

describe("kill -9 under load", function () {
  this.timeout(15 * 60_000);
  const disposals: (() => void)[] = [];
  after(() => {
    for (const dispose of disposals) dispose();
  });

  it("loses nothing that was acknowledged, doubles nothing and starts again by itself", async () => {
    const { program, dispose } = smallSegments();
    disposals.push(dispose);
    await withSeed(async (chance) => {
      const tallies = await Promise.all(
        ["one", "two"].map((home) => crashRounds(ROUNDS, chance.stream(home), { program })),
      );
      console.log(tallies.map(sentence).join("\n"));
    });
  });

  it("would be found to lose messages on a disk that forgets", async () => {
    const { program, dispose } = smallSegmentsOnForgetfulDisk();
    disposals.push(dispose);
    const rounds = crashRounds(30, new Chance(String(seedOfRun())), { program });
    await assert.rejects(rounds, /is lost|can't be opened/);
  });
});

function sentence({ rounds, duringStart, events, shortGroups, slowestStart }: Tally): string {
  return `      ${rounds} kills under load, ${duringStart} while starting; ${events} events, ${shortGroups} short Groups; slowest start ${Math.round(slowestStart)} ms`;
}
