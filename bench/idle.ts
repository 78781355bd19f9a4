/** What an idle daemon costs, compared with a Node process that only listens. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { makeGroup, startDaemon } from "./daemon.ts";
import { absolute, compare, type Measurement, median } from "./figure.ts";
import { scratchPath } from "./folder.ts";
import { listening, start, stop } from "./processes.ts";

const MEMORY = "idle daemon, memory";
const WAKE_UPS = "idle daemon, wake-ups";

const pause = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

/**
 * Resident memory in MiB. Not the proportional share: that depends on how many other Node processes
 * run.
 */
function memory(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)![1]) / 1024;
}

/** How often any of its threads has begun to wait: each wake-up ends in one more. */
function waits(pid: number): number {
  const tasks = `/proc/${pid}/task`;
  const counts = readdirSync(tasks).map((task) => {
    const status = readFileSync(join(tasks, task, "status"), "utf8");
    return Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(status)![1]);
  });
  return counts.reduce((sum, count) => sum + count, 0);
}

export const idle: Measurement = {
  figures: [MEMORY, WAKE_UPS],
  async run({ short }) {
    const daemon = await startDaemon();
    await makeGroup(daemon);
    daemon.client.close();
    const socket = scratchPath("bare.sock");
    const bare = start(process.execPath, [join(import.meta.dirname, "bare", "endpoint.mjs"), socket]);
    await listening(bare, socket);
    // What follows a start (code loaded, garbage collected, a connection closed) is over then.
    await pause(short ? 2 : 40);

    const seconds = short ? 3 : 60;
    const before = { ours: waits(daemon.pid), theirs: waits(bare.pid!) };
    await pause(seconds);
    const wakeUps = {
      ours: (waits(daemon.pid) - before.ours) / seconds,
      theirs: (waits(bare.pid!) - before.theirs) / seconds,
    };
    const ours: number[] = [];
    const theirs: number[] = [];
    for (let turn = 0; turn < 5; turn += 1) {
      ours.push(memory(daemon.pid));
      theirs.push(memory(bare.pid!));
    }
    await daemon.stop();
    await stop(bare);
    return [
      compare({
        name: MEMORY,
        unit: "MiB",
        value: median(ours),
        against: "a Node process that listens",
        against_value: median(theirs),
        // 1.5 needed code compiled at build time and a file format for its parts; reading source
        // maps costs 3 MiB.
        goal: 1.8,
        floor: 2,
        better: "lower",
      }),
      absolute({
        name: WAKE_UPS,
        unit: "per second",
        value: wakeUps.ours,
        against: `per second (a Node process that listens: ${wakeUps.theirs.toFixed(2)})`,
        goal: 0.1,
        floor: 1.2,
        better: "lower",
      }),
    ];
  },
};
