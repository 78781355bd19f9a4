/**
 * Builds dist/: the daemon, the command line, the MCP server and the demo for Node, the Workbench
 * for browsers, and the extension for the editor. `node esbuild.mjs [node|web|extension]`; with a
 * word it builds that part alone. What may be large and how large is in build/bundles.mjs.
 */
import "./build/node-version.cjs";
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
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build, transform } from "esbuild";
import {
  EXTENSION_BUNDLES,
  NODE_BUNDLES,
  PAGE_FILES,
  SOURCE_MAPS_BUDGET,
  WEB_BUNDLES,
  WEBVIEW_BUNDLES,
  WORKER_BUNDLES,
} from "./build/bundles.mjs";
import { bundledPackages, notices } from "./build/notices.mjs";
import { entryPoints, WEB_OPTIONS, WORKER_OPTIONS } from "./build/web-options.mjs";

const OUT = "dist";
/** A build of one part leaves it. */
const NOTICES = "THIRD_PARTY_NOTICES";

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

/**
 * Another bundle's entry stays a bundle of its own: `import("../daemon/main.ts")` becomes
 * `import("./daemon.mjs")`.
 */
function separate(bundles) {
  return {
    name: "separate-bundles",
    setup({ onResolve }) {
      onResolve({ filter: /^\..*\.ts$/ }, ({ path, kind, resolveDir }) => {
        if (kind !== "dynamic-import") return undefined;
        const file = join(resolveDir, path);
        const other = bundles.find(({ entry }) => join(import.meta.dirname, entry) === file);
        return other ? { path: `./${other.name}.${other.split ? "mjs" : "cjs"}`, external: true } : undefined;
      });
    },
  };
}

/** The SDK's JSON Schema validator: unused here, since the operations check their own arguments. */
const withoutAjv = {
  name: "without-ajv",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^ajv(-formats)?$/ }, ({ path }) => ({ path, namespace: "without-ajv" }));
    onLoad({ filter: /.*/, namespace: "without-ajv" }, () => ({ contents: "module.exports = {};" }));
  },
};

/** Tables of old encodings, for body parsers of Express that the account service doesn't use. */
const withoutIconv = {
  name: "without-iconv",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^iconv-lite$/ }, ({ path }) => ({ path, namespace: "without-iconv" }));
    onLoad({ filter: /.*/, namespace: "without-iconv" }, () => ({ contents: "module.exports = {};" }));
  },
};

/**
 * Two builds at once, or a build beside running tests, must not mix: everything is made apart and
 * then moved into its place. Beside `dist`, so that the paths in source maps stay right.
 */
function workshop() {
  mkdirSync(OUT, { recursive: true });
  return mkdtempSync(".svc-build-");
}

/**
 * Names stay as they are written, so that a stack can be read even where Node doesn't follow source
 * maps.
 */
function nodeOptions({ deriveTools, operationTexts }) {
  return {
    bundle: true,
    platform: "node",
    target: "node20.19",
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: "none",
    sourcemap: "linked",
    // A stack needs the sources' names and lines; their text is in the repository.
    sourcesContent: false,
    define: {
      SVC_OPERATION_TEXTS: JSON.stringify(operationTexts()),
      SVC_MCP_TOOLS: JSON.stringify(deriveTools()),
    },
    external: ["libsql"],
    // Without the part that writes pictures.
    alias: { qrcode: "qrcode/lib/browser.js" },
    plugins: [separate(NODE_BUNDLES), withoutAjv],
    logLevel: "warning",
    metafile: true,
  };
}

/** What packages in CommonJS expect around them, for an ES module. */
const COMMON_JS = `import { createRequire as svcCreateRequire } from "node:module";
const require = svcCreateRequire(import.meta.url);`;

async function buildForNode() {
  const options = nodeOptions(await load("build/contracts.ts"));
  const folder = workshop();
  try {
    const whole = await build({
      ...options,
      entryPoints: entryPoints(NODE_BUNDLES.filter(({ split }) => !split)),
      outdir: folder,
      outExtension: { ".js": ".cjs" },
      format: "cjs",
      define: { ...options.define, "import.meta.url": "svcBundleUrl" },
      banner: { js: 'const svcBundleUrl = require("node:url").pathToFileURL(__filename).href;' },
    });
    const outputs = { ...whole.metafile.outputs };
    for (const bundle of NODE_BUNDLES.filter(({ split }) => split)) {
      const { metafile } = await build({
        ...options,
        plugins: [...options.plugins, ...(bundle.name === "account" ? [withoutIconv] : [])],
        entryPoints: entryPoints([bundle]),
        outdir: folder,
        outExtension: { ".js": ".mjs" },
        chunkNames: `${bundle.name}-[hash]`,
        format: "esm",
        splitting: true,
        banner: { js: COMMON_JS },
      });
      Object.assign(outputs, metafile.outputs);
    }
    writeLauncher(join(folder, "svc.cjs"));
    moveIntoPlace(folder);
    return { sizes: sizesOf(outputs), outputs };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function writeLauncher(launcher) {
  const parts = ["build/node-version.cjs", "build/launcher.cjs"].map((file) => readFileSync(file, "utf8"));
  writeFileSync(launcher, `#!/usr/bin/env node\n${parts.join("")}`);
  chmodSync(launcher, 0o755);
}

/** Chunks come before the entries that name them; what an earlier build left goes last. */
function moveIntoPlace(folder) {
  const files = readdirSync(folder).sort((a, b) => Number(isEntry(a)) - Number(isEntry(b)));
  for (const file of files) renameSync(join(folder, file), join(OUT, file));
  for (const { name } of readdirSync(OUT, { withFileTypes: true }).filter((entry) => entry.isFile()))
    if (!files.includes(name) && name !== NOTICES) rmSync(join(OUT, name), { force: true });
}

function isEntry(file) {
  return (
    file === "svc.cjs" || NODE_BUNDLES.some(({ name }) => file === `${name}.cjs` || file === `${name}.mjs`)
  );
}

/** The code of each bundle, chunks included, and all source maps together. */
function sizesOf(outputs) {
  const files = Object.entries(outputs).map(([path, { bytes }]) => ({ file: basename(path), bytes }));
  const sum = (wanted) => files.filter(({ file }) => wanted(file)).reduce((all, { bytes }) => all + bytes, 0);
  const ofBundle = (name) => (file) =>
    !file.endsWith(".map") && (file.startsWith(`${name}.`) || file.startsWith(`${name}-`));
  return [
    ...NODE_BUNDLES.map(({ name, budget }) => ({ name, bytes: sum(ofBundle(name)), budget })),
    { name: "source maps", bytes: sum((file) => file.endsWith(".map")), budget: SOURCE_MAPS_BUDGET },
  ];
}

/**
 * The part of the extension that runs in the editor's extension host: CommonJS files that share
 * chunks, so that starting the editor compiles only what `activate` needs.
 */
async function buildExtension() {
  const top = workshop();
  // As deep as its place, so that the paths in source maps stay right.
  const folder = join(top, "extension");
  const place = join(OUT, "extension");
  try {
    const { outputFiles, metafile } = await build({
      metafile: true,
      bundle: true,
      platform: "node",
      target: "node20.19",
      // The UMD file of jsonc-parser names its parts in a way that no bundler follows.
      mainFields: ["module", "main"],
      // Only ES modules share chunks. They become CommonJS below.
      format: "esm",
      splitting: true,
      minify: true,
      keepNames: true,
      legalComments: "none",
      sourcemap: "inline",
      sourcesContent: false,
      external: ["vscode"],
      logLevel: "warning",
      write: false,
      entryPoints: entryPoints(EXTENSION_BUNDLES),
      outdir: folder,
      outExtension: { ".js": ".cjs" },
    });
    mkdirSync(folder);
    const sizes = new Map();
    for (const { path, text } of outputFiles) {
      const file = basename(path);
      const { code, map } = await toCommonJs(text, path);
      writeFileSync(join(folder, file), `${code}//# sourceMappingURL=${file}.map\n`);
      writeFileSync(join(folder, `${file}.map`), map);
      sizes.set(file, Buffer.byteLength(code));
    }
    const pages = await buildWebviews(join(folder, "webview"));
    mkdirSync(place, { recursive: true });
    rmSync(join(place, "webview"), { recursive: true, force: true });
    const files = readdirSync(folder);
    for (const file of files) renameSync(join(folder, file), join(place, file));
    for (const file of readdirSync(place)) if (!files.includes(file)) rmSync(join(place, file));
    const chunks = [...sizes].filter(([file]) => file.startsWith("chunk-"));
    const bytesOf = (name) =>
      sizes.get(`${name}.cjs`) +
      (name === "extension" ? chunks.reduce((sum, [, bytes]) => sum + bytes, 0) : 0);
    const own = EXTENSION_BUNDLES.map(({ name, budget }) => ({ name, bytes: bytesOf(name), budget }));
    return {
      sizes: [...own, ...pages.sizes],
      outputs: { ...metafile.outputs, ...pages.outputs },
    };
  } finally {
    rmSync(top, { recursive: true, force: true });
  }
}

/**
 * The editor's API is taken as it is: esbuild would copy its hundreds of members for each file that
 * imports it, which took a third of the time to load the extension.
 */
function toCommonJs(text, path) {
  const taken = text.replaceAll(/import ?\* ?as ([\w$]+) from ?"vscode";/g, 'const $1=require("vscode");');
  if (taken.includes('from"vscode"'))
    throw new Error(`${basename(path)} imports the editor's API in a way that the build doesn't know.`);
  return transform(taken, {
    platform: "node",
    target: "node20.19",
    format: "cjs",
    // The editor finds the extension that asks for its API by the files that require each other.
    supported: { "dynamic-import": false },
    minify: true,
    sourcemap: "external",
    sourcesContent: false,
    sourcefile: path,
  });
}

/** The pages of the extension's webviews, which share their chunks. */
async function buildWebviews(outdir) {
  const { metafile } = await build({
    ...WEB_OPTIONS,
    entryPoints: entryPoints(WEBVIEW_BUNDLES),
    outdir,
    minify: true,
    metafile: true,
  });
  const sizes = WEBVIEW_BUNDLES.map(({ name, budget }) => {
    const first = [...firstLoad(metafile, name)];
    const bytes = first.reduce((sum, file) => sum + statSync(join(outdir, file)).size, 0);
    return { name: `${name} tab`, bytes, budget };
  });
  return { sizes, outputs: metafile.outputs };
}

async function buildForBrowsers() {
  const folder = workshop();
  const place = join(OUT, "webview");
  try {
    const { metafile } = await build({ ...WEB_OPTIONS, outdir: folder, minify: true, metafile: true });
    const worker = await build({ ...WORKER_OPTIONS, outdir: folder, minify: true, metafile: true });
    const sizes = compressForBrowsers(folder);
    const rows = WEB_BUNDLES.flatMap(({ name, budget, laterBudget }) => {
      const first = firstLoad(metafile, name);
      const sum = (wanted) =>
        [...sizes]
          .filter(([file]) => first.has(file) === wanted && !isWorker(file))
          .reduce((all, [, bytes]) => all + bytes, 0);
      return [
        { name: "first load", bytes: sum(true), budget },
        { name: "later", bytes: sum(false), budget: laterBudget },
      ];
    });
    for (const { name, budget } of WORKER_BUNDLES)
      rows.push({ name, bytes: sizes.get(`${name}.js`), budget });
    for (const { page } of WEB_BUNDLES) copyFileSync(page, join(folder, "index.html"));
    for (const file of PAGE_FILES) copyFileSync(file, join(folder, basename(file)));
    chmodSync(folder, 0o755);
    if (existsSync(place)) renameSync(place, `${folder}-old`);
    renameSync(folder, place);
    return { sizes: rows, outputs: { ...metafile.outputs, ...worker.metafile.outputs } };
  } finally {
    rmSync(folder, { recursive: true, force: true });
    rmSync(`${folder}-old`, { recursive: true, force: true });
  }
}

/** A service worker is loaded apart from the page, and only once the person wants it. */
function isWorker(file) {
  return WORKER_BUNDLES.some(({ name }) => file === `${name}.js`);
}

/**
 * Puts a compressed version beside each file, as daemon/http/web/workbench-files.ts serves it;
 * answers the bytes of each with Brotli.
 */
function compressForBrowsers(folder) {
  const sizes = new Map();
  for (const file of readdirSync(folder)) {
    const bytes = readFileSync(join(folder, file));
    const small = brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } });
    writeFileSync(join(folder, `${file}.br`), small);
    writeFileSync(join(folder, `${file}.gz`), gzipSync(bytes, { level: 9 }));
    sizes.set(file, small.length);
  }
  return sizes;
}

/**
 * What every visit loads: the entry, what it imports, and what it begins to load at once; with
 * fonts and styles.
 */
function firstLoad({ outputs }, name) {
  const inFolder = (path) => path.slice(path.lastIndexOf("/") + 1);
  const found = new Set();
  const visit = (path, isEntry) => {
    if (found.has(inFolder(path))) return;
    found.add(inFolder(path));
    for (const { path: next, kind } of outputs[path]?.imports ?? [])
      if (isEntry || kind !== "dynamic-import") visit(next, false);
  };
  const entry = Object.keys(outputs).find((path) => inFolder(path) === `${name}.js`);
  visit(entry, true);
  if (outputs[entry].cssBundle !== undefined) visit(outputs[entry].cssBundle, true);
  return found;
}

/** One table; says whether everything is within its budget. */
function reportSizes(rows) {
  const kib = (bytes) => (bytes / 1024).toFixed(0).padStart(5);
  for (const { name, bytes, budget } of rows) {
    const row = `${name.padEnd(12)}${kib(bytes)} KiB of ${kib(budget)}`;
    if (bytes > budget) console.error(`${row}  OVER ITS BUDGET`);
    else console.log(row);
  }
  return rows.every(({ bytes, budget }) => bytes <= budget);
}

const only = process.argv[2];
const PARTS = { node: buildForNode, web: buildForBrowsers, extension: buildExtension };
const wanted = only === undefined ? Object.values(PARTS) : [PARTS[only]];
if (wanted.includes(undefined)) {
  console.error(`There is no part ${only}: node, web or extension.`);
  process.exit(2);
}
const built = await Promise.all(wanted.map((make) => make()));
// Those of one part say nothing of the others.
if (only === undefined) {
  const packages = built.flatMap(({ outputs }) => bundledPackages(outputs));
  writeFileSync(join(OUT, NOTICES), notices(packages));
}
if (!reportSizes(built.flatMap(({ sizes }) => sizes))) process.exit(1);
