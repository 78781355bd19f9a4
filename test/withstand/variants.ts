/** Variants of the bundle that ships, for what would take too long or never happen by itself. */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DIST } from "../support/daemon-process.ts";

/** Below node_modules, so that the copies find the packages. */
const CACHE = join(import.meta.dirname, "../../node_modules/.cache");
const EXTEND_BYTES = 32 * 1024;
const SEGMENT_BYTES = 256 * 1024;

export interface Variant {
  /** What Node runs. */
  program: string[];
  dispose: () => void;
}

/**
 * The bundle with two numbers changed, so that segments are sealed and files extended all the time.
 */
export function smallSegments(): Variant {
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(join(CACHE, "svc-withstand-"));
  cpSync(DIST, folder, { recursive: true });
  const changed = readdirSync(folder)
    .filter((name) => /^daemon.*\.mjs$/.test(name))
    .map((name) => join(folder, name))
    .filter((chunk) => {
      const source = readFileSync(chunk, "utf8");
      const smaller = source.replace(
        /extendBytes:[^,}]+,segmentBytes:[^,}]+,/,
        `extendBytes:${EXTEND_BYTES},segmentBytes:${SEGMENT_BYTES},`,
      );
      if (smaller !== source) writeFileSync(chunk, smaller);
      return smaller !== source;
    });
  if (changed.length !== 1) throw new Error("the bundle doesn't show its ledger limits as it used to");
  return {
    program: [join(folder, "svc.cjs"), "daemon", "run"],
    dispose: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** The same on a disk that keeps some of what was synced in a memory that the kill takes along. */
export function smallSegmentsOnForgetfulDisk(): Variant {
  const { program, dispose } = smallSegments();
  const preload = join(program[0]!, "../forgetful-disk.cjs");
  writeFileSync(preload, FORGETFUL_DISK);
  return { program: ["--require", preload, ...program], dispose };
}

const FORGETFUL_DISK = `
const fs = require("node:fs");
const { readSync, writeSync } = fs;
const kept = new Map();
const begun = Date.now();
function pieces(descriptor) {
  const { ino } = fs.fstatSync(descriptor);
  if (!kept.has(ino)) kept.set(ino, []);
  return kept.get(ino);
}
fs.writeSync = function (descriptor, data, offset, length, position) {
  const forgets = Date.now() - begun > 150 && fs.readlinkSync("/proc/self/fd/" + descriptor).endsWith("/active.jsonl");
  if (!forgets) return writeSync.call(fs, descriptor, data, offset, length, position);
  pieces(descriptor).push({ position, data: Buffer.from(data.subarray(offset, offset + length)) });
  return length;
};
fs.readSync = function (descriptor, buffer, offset, length, position) {
  let end = readSync.call(fs, descriptor, buffer, offset, length, position);
  for (const piece of pieces(descriptor)) {
    const from = Math.max(piece.position, position);
    const to = Math.min(piece.position + piece.data.length, position + length);
    if (from >= to) continue;
    piece.data.copy(buffer, offset + from - position, from - piece.position, to - piece.position);
    end = Math.max(end, to - position);
  }
  return end;
};
`;
