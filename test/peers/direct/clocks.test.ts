/** Two daemons whose clocks are apart: both people are told, and nothing is tried in vain. */

import assert from "node:assert/strict";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PeerClocks } from "../../../daemon/peers/direct/clocks.ts";
import { run } from "../../cli/svc.ts";
import { verifies } from "../../requirements.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { until } from "../../support/until.ts";
import { connect, Side } from "./two-homes.ts";

const MINUTE = 60_000;
/**
 * Loaded into a daemon before anything else: its wall clock is off by the milliseconds in a file.
 */
const SHIFTS = `
const { readFileSync } = require("node:fs");
const right = Date.now;
Date.now = () => right() + Number(readFileSync(process.env.TEST_CLOCK, "utf8"));
`;

describe("two daemons whose clocks are apart", function () {
  this.timeout(180_000);
  let folder: string;
  let right: Side;
  let wrong: Side;
  let id: string;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "svc-clock-"));
    setClock(0);
    const preload = join(folder, "preload.cjs");
    writeFileSync(preload, SHIFTS);
    const shifted = { NODE_OPTIONS: `--require=${preload}`, TEST_CLOCK: join(folder, "clock") };
    [right, wrong] = await Promise.all([Side.started("Right"), Side.started("Wrong", shifted)]);
    id = await connect(right, wrong);
  });
  after(async () => {
    await Promise.all([right?.dispose(), wrong?.dispose()]);
    rmSync(folder, { recursive: true, force: true });
  });

  function setClock(ahead: number): void {
    // A daemon that finds the file empty would have the right time for a moment.
    writeFileSync(join(folder, "next"), String(ahead));
    renameSync(join(folder, "next"), join(folder, "clock"));
  }

  const inDoctor = async (side: Side) => {
    const { checks } = await side.client.result("health", {});
    return checks.find(({ code }) => code === "direct");
  };

  it("say so on both sides, stay connected, and go on when the clocks are right again", async () => {
    verifies("DRC-057");
    setClock(3 * MINUTE);
    const { source_event: sourceEvent } = await wrong.send(right, "first", "What time is it?");
    for (const [side, words] of [
      [wrong, "The other side's clock is about 3 minutes behind this machine's."],
      [right, "The other side's clock is about 3 minutes ahead of this machine's."],
    ] as const) {
      const { error } = await side.sees("it is said", id, (relation) => relation.error !== null);
      assert.ok(error?.startsWith(words), error ?? "");
      const shown = await run(["direct", "status"], { home: side.daemon.home });
      assert.match(shown.out, /online, messages are refused/u);
      assert.ok(shown.out.includes(words), shown.out);
      const found = await inDoctor(side);
      assert.equal(found?.severity, "warning");
      assert.ok(found.text.includes(words), found.text);
      assert.match(found.remedy ?? "", /time server/u);
    }
    // Nobody dials in vain, and the message is still kept.
    for (const side of [wrong, right]) assert.ok((await side.relation(id))?.online);
    assert.equal((await wrong.delivery(sourceEvent.id))?.state, "queued");
    const back = await right.send(wrong, "back", "Late.");

    setClock(20 * MINUTE);
    const ended = await wrong.delivered(sourceEvent.id);
    assert.equal(ended.state, "unconfirmed");
    assert.match(ended.error?.message ?? "", /The other side's clock is about \d+ minutes behind/u);

    setClock(0);
    const again = await wrong.send(right, "second", "Thanks.");
    assert.equal((await wrong.delivered(again.source_event.id)).state, "sent");
    assert.equal((await right.delivered(back.source_event.id)).state, "sent");
    for (const side of [wrong, right]) {
      await side.sees("nothing is wrong any more", id, ({ online, error }) => online && error === null);
      await until("the doctor is content", async () => (await inDoctor(side))?.severity === "ok");
    }
    assert.equal(
      (await right.messages()).filter(({ data }) => data["text"] === "What time is it?").length,
      0,
    );
  });
});

describe("what is known of a peer's clock", () => {
  const ID = "direct-00000000-0000-4000-8000-000000000001";
  let clock: ManualClock;
  let changes: number;
  let clocks: PeerClocks;
  beforeEach(() => {
    clock = new ManualClock();
    changes = 0;
    clocks = new PeerClocks(clock, () => (changes += 1));
  });
  const at = (ahead: number): string => new Date(clock.now() + ahead).toISOString();

  it("is by requests that can't be in time, whatever the way took, and by what a refusal says", () => {
    for (const [ahead, words] of [
      [0, null],
      [30_000, null],
      [-59_000, null],
      [31_000, "about 31 seconds ahead of"],
      [150_000, "about 3 minutes ahead of"],
      [-90_000, "about 90 seconds behind"],
      [-49 * 3_600_000, "about 2 days behind"],
    ] as const) {
      clocks.heard(ID, at(ahead));
      const expected = words === null ? null : `The other side's clock is ${words} this machine's.`;
      assert.equal(clocks.problem(ID), expected);
    }
    clocks.heard(ID, at(0));
    assert.equal(clocks.problem(ID), null);
    clocks.told(ID, "soon");
    assert.equal(clocks.problem(ID), null);
    clocks.told(ID, at(-40_000));
    assert.match(clocks.problem(ID) ?? "", /40 seconds behind/u);
  });

  it("is nothing to tell when the refused request was only long on its way", () => {
    for (const ahead of [0, 900, -900, 30_000, -30_000]) {
      clocks.told(ID, at(ahead));
      assert.equal(clocks.problem(ID), null, String(ahead));
    }
    assert.equal(changes, 0);
    clocks.told(ID, at(31_000));
    assert.match(clocks.problem(ID) ?? "", /31 seconds ahead/u);
  });

  it("stays known while one way works and the other doesn't, until both do", () => {
    clocks.told(ID, at(-40_000));
    assert.equal(changes, 1);
    // From 40 s behind requests are still in time here.
    clocks.heard(ID, at(-40_000));
    assert.match(clocks.problem(ID) ?? "", /40 seconds behind/u);
    assert.equal(changes, 1);
    clocks.agreed(ID);
    assert.equal(clocks.problem(ID), null);
    assert.equal(changes, 2);
    clocks.told(ID, at(-40_000));
    clocks.keep(() => false);
    assert.equal(clocks.problem(ID), null);
  });
});
