/**
 * `kill -9` of either end of a Direct connection at random moments, while both ends write to each
 * other.
 */
import assert from "node:assert/strict";
import { DaemonUnreachable } from "../../client/failures.ts";
import { connect, Side } from "../peers/direct/two-homes.ts";
import { verifies } from "../requirements.ts";
import { withSeed } from "../support/chance.ts";

const ROUNDS = Number(process.env["WITHSTAND_ROUNDS"] ?? 100);
/** After so many rounds everything sent so far is waited for: a message has 15 minutes. */
const ROUNDS_BETWEEN_CHECKS = 10;
const MOMENT_MS = 60;

interface Sending {
  from: Side;
  to: Side;
  text: string;
  /** Null as long as nobody has acknowledged it. */
  event_id: string | null;
}

describe("kill -9 of either end of a Direct connection", function () {
  this.timeout(30 * 60_000);
  let host: Side;
  let joiner: Side;

  before(async () => {
    [host, joiner] = await Promise.all([Side.started("Host"), Side.started("Joiner")]);
    await connect(host, joiner);
  });
  after(async () => {
    await Promise.all([host?.dispose(), joiner?.dispose()]);
  });

  /**
   * As whoever sends does: the same key until it is acknowledged. Leaves it open when the daemon is
   * killed meanwhile.
   */
  async function send(sending: Sending): Promise<void> {
    try {
      const { source_event: sourceEvent } = await sending.from.send(sending.to, sending.text, sending.text);
      sending.event_id = sourceEvent.id;
    } catch (error) {
      if (!(error instanceof DaemonUnreachable)) throw error;
    }
  }

  async function settle(sendings: readonly Sending[]): Promise<void> {
    for (const sending of sendings) {
      if (sending.event_id === null) await send(sending);
      assert.ok(sending.event_id !== null);
      assert.equal((await sending.from.delivered(sending.event_id)).state, "sent", sending.text);
    }
  }

  it("loses and doubles nothing, whichever end dies and whenever", async () => {
    verifies("OUT-021", "OUT-034", "OUT-038", "OUT-039", "MSG-056", "PEER-041");
    await withSeed(async (chance) => {
      const all: Sending[] = [];
      let open: Sending[] = [];
      for (let round = 1; round <= ROUNDS; round += 1) {
        const sendings = [host, joiner].map((from, at): Sending => {
          const to = from === host ? joiner : host;
          return { from, to, text: `round ${round} ${at}`, event_id: null };
        });
        all.push(...sendings);
        open.push(...sendings);
        const victim = chance.below(2) === 0 ? host : joiner;
        const under = Promise.all(sendings.map(send));
        await new Promise((resolve) => setTimeout(resolve, chance.below(MOMENT_MS)));
        await victim.daemon.kill();
        await under;
        await victim.daemon.start();
        if (round % ROUNDS_BETWEEN_CHECKS === 0 || round === ROUNDS) {
          await settle(open);
          open = [];
        }
      }
      for (const to of [host, joiner]) {
        const arrived = (await to.messages()).filter(({ by }) => by.startsWith("connect:"));
        const texts = arrived.map(({ data }) => data.text).sort();
        const expected = all.filter((sending) => sending.to === to).map(({ text }) => text);
        assert.deepEqual(texts, expected.sort());
      }
    });
  });
});
