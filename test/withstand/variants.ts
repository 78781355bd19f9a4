/** Variants of the bundle that ships, for what would take too long or never happen by itself. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DIST } from "./daemon-process.ts";

/** Below node_modules, so that the copies find the packages. */
const CACHE = join(import.meta.dirname, "../../node_modules/.cache");
const EXTEND_BYTES = 32 * 1024;
const SEGMENT_BYTES = 256 * 1024;

export interface Variant {
  /** What Node runs. */
  program: string[];
  dispose: () => void;
}

/** The bundle with two numbers changed, so that segments are sealed and files extended all the time. */
export function smallSegments(): Variant {
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(join(CACHE, "svc-withstand-"));
  cpSync(DIST, folder, { recursive: true });
  const bundle = join(folder, "daemon.cjs");
  const source = readFileSync(bundle, "utf8");
  const changed = source.replace(
    /extendBytes:[^,}]+,segmentBytes:[^,}]+,/,
    `extendBytes:${EXTEND_BYTES},segmentBytes:${SEGMENT_BYTES},`,
  );
  if (changed === source) throw new Error("the bundle doesn't show its ledger limits as it used to");
  writeFileSync(bundle, changed);
  return {
    program: [bundle],
    dispose: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** The same on a disk that now and then drops a ledger line and says that it wrote it. */
export function smallSegmentsOnLyingDisk(): Variant {
  const { program, dispose } = smallSegments();
  const preload = join(program[0]!, "../lying-disk.cjs");
  writeFileSync(preload, LYING_DISK);
  return { program: ["--require", preload, ...program], dispose };
}

const LYING_DISK = `
const fs = require("node:fs");
const { writeSync } = fs;
let lines = 0;
fs.writeSync = function (descriptor, data, offset, length, position) {
  const isLedger = data instanceof Uint8Array && data[offset] === 0x7b && position > 0;
  if (isLedger && ++lines % 40 === 0) return length;
  return writeSync.call(fs, descriptor, data, offset, length, position);
};
`;
