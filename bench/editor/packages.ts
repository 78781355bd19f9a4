/** The sizes of what an editor installs and loads. */
import { spawnSync } from "node:child_process";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { PRODUCT_VERSION } from "../../shared/version.ts";
import { absolute, type Measurement } from "../figure.ts";

const HOST = "editor: bundle of the extension host";
const UNIVERSAL = "editor: VSIX without a daemon";
const WHOLE = "editor: VSIX with the daemon";
const EXTENSION = "dist/extension";
const VSIX = `dist/vsix/svc-${PRODUCT_VERSION}`;

/** The entry and the chunks: what is loaded when the editor starts. */
function firstLoad(): string[] {
  return readdirSync(EXTENSION)
    .filter((file) => /^(?:extension|chunk-\w+)\.cjs$/.test(file))
    .map((file) => join(EXTENSION, file));
}

const SIZES = [
  { name: HOST, files: firstLoad, unit: "KiB", bytes: 1024, goal: 200, floor: 300 },
  { name: UNIVERSAL, files: () => [`${VSIX}.vsix`], unit: "MiB", bytes: 1024 ** 2, goal: 2, floor: 3 },
  {
    name: WHOLE,
    files: () => [`${VSIX}-${process.platform}-${process.arch}.vsix`],
    unit: "MiB",
    bytes: 1024 ** 2,
    goal: 8,
    floor: 12,
  },
] as const;

let isPacked = false;

/** Packs the extension as it is built, once in a run. Throws if that fails. */
export function pack(): void {
  if (isPacked) return;
  const { status, stderr } = spawnSync(process.execPath, ["build/vsix.mjs"], { encoding: "utf8" });
  if (status !== 0) throw new Error(`the extension can't be packed:\n${stderr}`);
  isPacked = true;
}

export const packages: Measurement = {
  figures: SIZES.map(({ name }) => name),
  needsBrowser: true,
  async run() {
    pack();
    return SIZES.map(({ name, files, unit, bytes, goal, floor }) =>
      absolute({
        name,
        unit,
        value: files().reduce((sum, file) => sum + statSync(file).size, 0) / bytes,
        against: unit,
        goal,
        floor,
        better: "lower",
      }),
    );
  },
};
