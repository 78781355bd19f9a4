/**
 * Builds dist/: the daemon, the command line, the MCP server and the demo for Node, the Workbench for browsers.
 * `node esbuild.mjs [node|web]`; with a word it builds that half and leaves the other alone.
 * What may be large and how large is in build/bundles.mjs.
 */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { NODE_BUNDLES, WEB_BUNDLES } from "./build/bundles.mjs";
import { writeCodeCaches } from "./build/code-cache.mjs";

const OUT = "dist";

/** Loads a TypeScript module of the build itself. */
async function load(entry) {
  const folder = mkdtempSync(join(tmpdir(), "svc-build-"));
  try {
    const outfile = join(folder, "module.mjs");
    await build({
      entryPoints: [entry],
      outfile,
      bundle: true,
      platform: "node",
      format: "esm",
      logLevel: "warning",
    });
    return await import(pathToFileURL(outfile).href);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Another bundle's entry stays a bundle of its own: `import("../daemon/main.ts")` becomes `require("./daemon.cjs")`. */
const separateBundles = {
  name: "separate-bundles",
  setup({ onResolve }) {
    onResolve({ filter: /\/main\.ts$/ }, ({ path, kind }) => {
      const other = kind === "dynamic-import" && NODE_BUNDLES.find(({ entry }) => path.endsWith(`/${entry}`));
      return other ? { path: `./${other.name}.cjs`, external: true } : undefined;
    });
  },
};

/** The SDK's JSON Schema validator: unused here, since the operations check their own arguments. */
const withoutAjv = {
  name: "without-ajv",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^ajv(-formats)?$/ }, ({ path }) => ({ path, namespace: "without-ajv" }));
    onLoad({ filter: /.*/, namespace: "without-ajv" }, () => ({ contents: "module.exports = {};" }));
  },
};

async function buildForNode() {
  const { deriveTools, operationTexts } = await load("build/contracts.ts");
  const { SVC_OPERATION_TEXTS, SVC_MCP_TOOLS } = {
    SVC_OPERATION_TEXTS: JSON.stringify(operationTexts()),
    SVC_MCP_TOOLS: JSON.stringify(deriveTools()),
  };
  await build({
    entryPoints: NODE_BUNDLES.filter(({ entry }) => existsSync(entry)).map(({ name, entry }) => ({
      in: entry,
      out: name,
    })),
    outdir: OUT,
    outExtension: { ".js": ".cjs" },
    bundle: true,
    platform: "node",
    target: "node20.19",
    format: "cjs",
    minify: true,
    keepNames: false,
    legalComments: "none",
    supported: { "dynamic-import": false },
    define: { SVC_OPERATION_TEXTS, SVC_MCP_TOOLS, "import.meta.url": "svcBundleUrl" },
    banner: { js: 'const svcBundleUrl = require("node:url").pathToFileURL(__filename).href;' },
    external: ["libsql"],
    plugins: [separateBundles, withoutAjv],
    logLevel: "warning",
  });
  copyFileSync("build/launcher.cjs", join(OUT, "svc.cjs"));
  chmodSync(join(OUT, "svc.cjs"), 0o755);
  const cached = NODE_BUNDLES.filter(({ cache }) => cache).map(({ name }) => name);
  await writeCodeCaches(OUT, cached);
}

async function buildForBrowsers() {
  const folder = join(OUT, "webview");
  rmSync(folder, { recursive: true, force: true });
  await build({
    entryPoints: WEB_BUNDLES.map(({ name, entry }) => ({ in: entry, out: name })),
    outdir: folder,
    bundle: true,
    platform: "browser",
    target: ["es2022"],
    format: "esm",
    splitting: true,
    chunkNames: "chunk-[hash]",
    assetNames: "[name]-[hash]",
    loader: { ".ttf": "file", ".woff2": "file", ".svg": "text" },
    minify: true,
    legalComments: "none",
    logLevel: "warning",
  });
  for (const { page } of WEB_BUNDLES) copyFileSync(page, join(folder, "index.html"));
}

function folderBytes(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((bytes, entry) => bytes + statSync(join(entry.parentPath, entry.name)).size, 0);
}

/** One table; false when something is over its budget. */
function reportSizes() {
  const rows = [
    ...NODE_BUNDLES.map(({ name, budget }) => ({
      name: `${name}.cjs`,
      budget,
      path: join(OUT, `${name}.cjs`),
    })),
    ...WEB_BUNDLES.map(({ budget }) => ({ name: "webview/", budget, path: join(OUT, "webview") })),
  ].filter(({ path }) => existsSync(path));
  let holds = true;
  for (const { name, budget, path } of rows) {
    const bytes = statSync(path).isDirectory() ? folderBytes(path) : statSync(path).size;
    const over = bytes > budget;
    holds &&= !over;
    console.log(
      `${name.padEnd(12)} ${(bytes / 1024).toFixed(0).padStart(6)} KiB of ${(budget / 1024).toFixed(0).padStart(5)}${over ? "  OVER ITS BUDGET" : ""}`,
    );
  }
  return holds;
}

mkdirSync(OUT, { recursive: true });
const only = process.argv[2];
await Promise.all([
  only === "web" ? undefined : buildForNode(),
  only === "node" ? undefined : buildForBrowsers(),
]);
if (!reportSizes()) process.exit(1);
