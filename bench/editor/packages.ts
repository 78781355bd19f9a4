/** The sizes of what an editor installs and loads. */
import { spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import { PRODUCT_VERSION } from "../../shared/version.ts";
import { absolute, type Measurement } from "../figure.ts";

const HOST = "editor: bundle of the extension host";
const UNIVERSAL = "editor: VSIX without a daemon";
const WHOLE = "editor: VSIX with the daemon";
const SIZES = [
  { name: HOST, file: "dist/extension/extension.cjs", unit: "KiB", bytes: 1024, goal: 200, floor: 300 },
  {
    name: UNIVERSAL,
    file: `dist/vsix/svc-${PRODUCT_VERSION}.vsix`,
    unit: "MiB",
    bytes: 1024 ** 2,
    goal: 2,
    floor: 3,
  },
  {
    name: WHOLE,
    file: `dist/vsix/svc-${PRODUCT_VERSION}-${process.platform}-${process.arch}.vsix`,
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
  needsEditor: true,
  async run() {
    pack();
    return SIZES.map(({ name, file, unit, bytes, goal, floor }) =>
      absolute({
        name,
        unit,
        value: statSync(file).size / bytes,
        against: unit,
        goal,
        floor,
        better: "lower",
      }),
    );
  },
};
