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
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { NODE_BUNDLES, WEB_BUNDLES } from "./build/bundles.mjs";
import { buildInChunks } from "./build/chunks.mjs";
import { packBundles } from "./build/pack.mjs";

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

/** The terminal sees the document as the page's policy has it: what it makes as text becomes what the policy allows (webview/terminal/strict-document.ts). */
const strictTerminal = {
  name: "strict terminal",
  setup({ onLoad }) {
    onLoad({ filter: /@xterm[\\/]xterm[\\/]lib[\\/]xterm\.mjs$/ }, ({ path }) => ({
      contents: `import { strictDocument as document } from "./webview/terminal/strict-document.ts";\n${readFileSync(path, "utf8").replaceAll("window.document", "document")}`,
      resolveDir: import.meta.dirname,
    }));
  },
};

/** Two builds at once, or a build beside running tests, must not mix: everything is made apart and then moved into its place. */
function workshop() {
  mkdirSync(OUT, { recursive: true });
  return mkdtempSync(join(OUT, ".build-"));
}

async function buildForNode() {
  const { deriveTools, operationTexts } = await load("build/contracts.ts");
  const folder = workshop();
  const options = {
    bundle: true,
    platform: "node",
    target: "node20.19",
    minify: true,
    legalComments: "none",
    define: {
      SVC_OPERATION_TEXTS: JSON.stringify(operationTexts()),
      SVC_MCP_TOOLS: JSON.stringify(deriveTools()),
    },
    external: ["libsql"],
    plugins: [separateBundles, withoutAjv],
    logLevel: "warning",
  };
  try {
    await build({
      ...options,
      entryPoints: NODE_BUNDLES.filter(({ chunked }) => !chunked).map(({ name, entry }) => ({
        in: entry,
        out: name,
      })),
      outdir: folder,
      outExtension: { ".js": ".cjs" },
      format: "cjs",
      supported: { "dynamic-import": false },
      define: { ...options.define, "import.meta.url": "svcBundleUrl" },
      banner: { js: 'const svcBundleUrl = require("node:url").pathToFileURL(__filename).href;' },
    });
    for (const { name, entry, chunked } of NODE_BUNDLES)
      if (chunked) await buildInChunks(folder, name, entry, options);
    const bytesOf = (file) => statSync(join(folder, file)).size;
    const sizes = NODE_BUNDLES.map(({ name, chunked, budget }) => ({
      name,
      bytes: bytesOf(`${name}.cjs`) + (chunked ? bytesOf(`${name}.later`) : 0),
      budget,
    }));
    const launcher = join(folder, "svc.cjs");
    copyFileSync("build/launcher.cjs", launcher);
    chmodSync(launcher, 0o755);
    packBundles(
      folder,
      NODE_BUNDLES.filter(({ packed }) => packed).map(({ name }) => name),
    );
    // The daemon is also required by bundles that aren't packed.
    writeFileSync(join(folder, "daemon.cjs"), 'module.exports = require("./svc.cjs")("daemon");\n');
    for (const bundle of NODE_BUNDLES)
      for (const file of filesOf(bundle)) renameSync(join(folder, file), join(OUT, file));
    renameSync(launcher, join(OUT, "svc.cjs"));
    return sizes;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The files that a bundle ships as: what it opens comes before it. */
function filesOf({ name, packed, chunked }) {
  return [
    ...(chunked ? [`${name}.later`] : []),
    ...(packed ? [`${name}.bundle`] : []),
    ...(packed && !chunked ? [] : [`${name}.cjs`]),
  ];
}

async function buildForBrowsers() {
  const folder = workshop();
  const place = join(OUT, "webview");
  try {
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
      plugins: [strictTerminal],
      loader: { ".ttf": "file", ".woff2": "file", ".svg": "text" },
      minify: true,
      legalComments: "none",
      logLevel: "warning",
    });
    for (const { page } of WEB_BUNDLES) copyFileSync(page, join(folder, "index.html"));
    chmodSync(folder, 0o755);
    if (existsSync(place)) renameSync(place, `${folder}-old`);
    renameSync(folder, place);
  } finally {
    rmSync(folder, { recursive: true, force: true });
    rmSync(`${folder}-old`, { recursive: true, force: true });
  }
  return WEB_BUNDLES.map(({ budget }) => ({ name: "webview/", bytes: folderBytes(place), budget }));
}

function folderBytes(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((bytes, entry) => bytes + statSync(join(entry.parentPath, entry.name)).size, 0);
}

/** One table; says whether everything is within its budget. */
function reportSizes(rows) {
  const kib = (bytes) => (bytes / 1024).toFixed(0).padStart(5);
  for (const { name, bytes, budget } of rows)
    console.log(
      `${name.padEnd(12)}${kib(bytes)} KiB of ${kib(budget)}${bytes > budget ? "  OVER ITS BUDGET" : ""}`,
    );
  return rows.every(({ bytes, budget }) => bytes <= budget);
}

const only = process.argv[2];
const sizes = await Promise.all([
  only === "web" ? [] : buildForNode(),
  only === "node" ? [] : buildForBrowsers(),
]);
if (!reportSizes(sizes.flat())) process.exit(1);
