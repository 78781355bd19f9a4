/**
 * How the Workbench is bundled: for the package (esbuild.mjs) and while it is worked on
 * (build/dev.mjs).
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { WEB_BUNDLES, WORKER_BUNDLES } from "./bundles.mjs";

const ROOT = join(import.meta.dirname, "..");

/**
 * The terminal sees the document as the page's policy has it: what it makes as text becomes what
 * the policy allows (webview/terminals/strict-document.ts).
 */
const strictTerminal = {
  name: "strict terminal",
  setup({ onLoad }) {
    onLoad({ filter: /@xterm[\\/]xterm[\\/]lib[\\/]xterm\.mjs$/ }, ({ path }) => ({
      contents: `import { strictDocument as document } from "./webview/terminals/strict-document.ts";\n${readFileSync(path, "utf8").replaceAll("window.document", "document")}`,
      resolveDir: ROOT,
    }));
  },
};

/** The entries of bundles as esbuild takes them. */
export function entryPoints(bundles) {
  return bundles.map(({ name, entry }) => ({ in: entry, out: name }));
}

/** Options of esbuild; the caller adds where the files go. */
export const WEB_OPTIONS = {
  absWorkingDir: ROOT,
  entryPoints: entryPoints(WEB_BUNDLES),
  bundle: true,
  platform: "browser",
  target: ["es2022"],
  format: "esm",
  splitting: true,
  chunkNames: "chunk-[hash]",
  assetNames: "[name]-[hash]",
  plugins: [strictTerminal],
  alias: { entities: join(ROOT, "webview/controls/character-references.ts") },
  loader: { ".ttf": "file", ".woff2": "file", ".svg": "text" },
  legalComments: "none",
  logLevel: "warning",
};

/** The same for service workers. */
export const WORKER_OPTIONS = {
  absWorkingDir: ROOT,
  entryPoints: entryPoints(WORKER_BUNDLES),
  bundle: true,
  platform: "browser",
  target: ["es2022"],
  format: "iife",
  legalComments: "none",
  logLevel: "warning",
};
