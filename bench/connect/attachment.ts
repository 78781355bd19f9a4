/**
 * A file of 10 MiB to another instance compared with a plain copy over TCP, and what that does to
 * other work on the event loop.
 */
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LIMITS } from "../../shared/limits.ts";
import { absolute, compare, interleave, type Measurement, median } from "../figure.ts";
import { scratchPath } from "../folder.ts";
import { type Instance, Receipts, startStar, stopAll, until } from "./direct.ts";
import { Copy } from "./tcp-copy.ts";

const DELIVERED = "10 MiB attachment, accepted to delivered";
const STALL = "10 MiB attachment, longest stall of an event loop";
const BYTES = LIMITS.connect.blobBytes;
/**
 * They were 2 and 10 ms while a receiver kept a file's memory for the next one, and a timer let go
 * of it.
 */
const DELIVERED_GOAL = 2.5;
const STALL_GOAL_MS = 20;
const HEARTBEAT = join(import.meta.dirname, "..", "bare", "heartbeat.mjs");

/** Longest pause of a daemon's event loop since this was asked last, in ms. */
async function stall({ daemon }: Instance, prefix: string): Promise<number> {
  const path = `${prefix}.${daemon.pid}`;
  rmSync(path, { force: true });
  process.kill(daemon.pid, "SIGUSR2");
  return until("the heartbeat's answer", async () => {
    const text = existsSync(path) ? readFileSync(path, "utf8") : "";
    return text.endsWith("\n") ? Number(text) : null;
  });
}

export const attachment: Measurement = {
  figures: [DELIVERED, STALL],
  async run({ short }) {
    const prefix = scratchPath("heartbeat");
    const { center, around } = await startStar(1, {
      flags: ["--import", HEARTBEAT],
      environment: { SVC_BENCH_HEARTBEAT: prefix },
    });
    const [peer] = around as [Instance];
    const project = scratchPath("project");
    mkdirSync(join(project, ".git"), { recursive: true });
    await center.daemon.client.result("attach", { path: project, group_id: center.group_id });
    const receipts = await Receipts.of(center);
    const copy = await Copy.open();
    const stalls: number[] = [];
    let made = 0;
    const file = (): string => {
      made += 1;
      const path = join(project, `file-${made}.bin`);
      writeFileSync(path, randomBytes(BYTES));
      return path;
    };
    const ours = async (): Promise<number> => {
      const path = file();
      await Promise.all([center, peer].map((one) => stall(one, prefix)));
      const { source_event: sourceEvent } = await center.daemon.client.result("connect_send_files", {
        group_id: center.group_id,
        instance_id: peer.instance_id,
        target_group_id: peer.group_id,
        client_id: `file-${made}`,
        text: "A file",
        to: ["agent"],
        paths: [path],
      });
      const accepted = performance.now();
      const took = (await receipts.seen(sourceEvent.id)) - accepted;
      stalls.push(...(await Promise.all([center, peer].map((one) => stall(one, prefix)))));
      return took;
    };
    const sides = { ours, theirs: () => copy.carry(file()) };
    await interleave(short ? 1 : 3, sides);
    stalls.length = 0;
    const times = await interleave(short ? 2 : 11, sides);
    receipts.close();
    await copy.close();
    await stopAll([center, peer]);
    const longest: number[] = [];
    for (let at = 0; at < stalls.length; at += 2) longest.push(Math.max(stalls[at]!, stalls[at + 1]!));
    return [
      compare({
        name: DELIVERED,
        unit: "ms",
        value: times.ours,
        against: "a file copied over TCP with SHA-256 at both ends, synced",
        against_value: times.theirs,
        goal: DELIVERED_GOAL,
        floor: 4,
        better: "lower",
      }),
      absolute({
        name: STALL,
        unit: "ms",
        value: median(longest),
        against: `ms (the worst of ${longest.length} files: ${Math.max(...longest).toFixed(1)})`,
        goal: STALL_GOAL_MS,
        floor: 50,
        better: "lower",
      }),
    ];
  },
};
