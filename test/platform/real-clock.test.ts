/** The machine's clock. */
import assert from "node:assert/strict";
import { RealClock } from "../../platform/real-clock.ts";

describe("RealClock", () => {
  it("runs nothing before its time", async () => {
    const clock = new RealClock();
    const early: number[] = [];
    const wait = (milliseconds: number) =>
      new Promise<void>((resolve) => {
        const due = clock.monotonic() + milliseconds;
        clock.after(milliseconds, () => {
          if (clock.monotonic() < due) early.push(due - clock.monotonic());
          resolve();
        });
      });
    for (let turn = 0; turn < 40; turn += 1) await wait(1 + turn / 7);
    assert.deepEqual(early, []);
  });

  it("runs nothing that was cancelled", async () => {
    const clock = new RealClock();
    let ran = false;
    const timer = clock.after(0.5, () => {
      ran = true;
    });
    timer.cancel();
    await new Promise<void>((resolve) => clock.after(2, resolve));
    assert.equal(ran, false);
  });
});
