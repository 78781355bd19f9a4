/** What the figures were measured on: enough to judge them, but nothing that names a machine. */
import { closeSync, fdatasyncSync, openSync, statfsSync, writeSync } from "node:fs";
import { availableParallelism, cpus, totalmem } from "node:os";
import { median } from "./figure.ts";
import { scratchFolder, scratchPath } from "./folder.ts";

export interface Machine {
  platform: string;
  cores: number;
  processor: string;
  memory_gib: number;
  file_system: string;
  /** Median of a 4 KiB append with fdatasync, in microseconds. */
  sync_us: number;
  node: string;
  redis: string;
}

const FILE_SYSTEMS: Record<number, string> = {
  0xef53: "ext4",
  0x58465342: "xfs",
  0x9123683e: "btrfs",
  0x794c7630: "overlay",
  0x2fc12fc1: "zfs",
};

function syncMicroseconds(): number {
  const file = openSync(scratchPath("sync"), "a");
  const block = Buffer.alloc(4096, 0x0a);
  const times: number[] = [];
  for (let turn = 0; turn < 50; turn += 1) {
    const begin = performance.now();
    writeSync(file, block);
    fdatasyncSync(file);
    times.push((performance.now() - begin) * 1000);
  }
  closeSync(file);
  return Math.round(median(times));
}

export function describeMachine(redis: string): Machine {
  const kind = statfsSync(scratchFolder()).type;
  return {
    platform: `${process.platform} ${process.arch}`,
    cores: availableParallelism(),
    processor: cpus()[0]?.model ?? "unknown",
    memory_gib: Math.round(totalmem() / 2 ** 30),
    file_system: FILE_SYSTEMS[kind] ?? `0x${kind.toString(16)}`,
    sync_us: syncMicroseconds(),
    node: process.version,
    redis,
  };
}
