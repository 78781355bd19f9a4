/**
 * Writes extension/package.json and extension/package.nls.json from the tables in
 * extension/contributions/. `node --import=tsx build/extension-manifest.ts`; a test fails if the
 * files differ from its output.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { manifestFiles } from "../extension/contributions/manifest.ts";

for (const [name, text] of Object.entries(manifestFiles()))
  writeFileSync(join(import.meta.dirname, "../extension", name), text);
