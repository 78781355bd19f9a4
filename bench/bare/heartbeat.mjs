/**
 * Loaded into a daemon before its own code: a timer that beats each millisecond. SIGUSR2 writes the
 * longest pause since the last one, in ms.
 */
import { writeFileSync } from "node:fs";

const path = process.env.SVC_BENCH_HEARTBEAT;
let last = performance.now();
let longest = 0;
setInterval(() => {
  const now = performance.now();
  longest = Math.max(longest, now - last - 1);
  last = now;
}, 1).unref();
process.on("SIGUSR2", () => {
  writeFileSync(`${path}.${process.pid}`, `${longest}\n`);
  longest = 0;
});
