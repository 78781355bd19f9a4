/**
 * Splits the daemon's bundle: `daemon.cjs` has what every start needs, `daemon.later` the parts that are imported when they are first
 * needed, one behind the other. The running daemon keeps `daemon.later` open, so an upgrade or a build under it changes nothing for it.
 */
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { build, transform } from "esbuild";

const MARK_BYTES = 32;

/**
 * Builds folder/<name>.cjs and folder/<name>.later from `entry`. `options` are esbuild's for a bundle for Node. `import.meta.url` is the first
 * file's. Gives the bytes of both together.
 */
export async function buildInChunks(folder, name, entry, options) {
  const work = mkdtempSync(join(folder, "chunks-"));
  try {
    const { metafile } = await build({
      ...options,
      define: { ...options.define, "import.meta.url": "svcBundleUrl" },
      entryPoints: [{ in: entry, out: name }],
      outdir: work,
      splitting: true,
      format: "esm",
      chunkNames: "[hash]",
      metafile: true,
    });
    const outputs = new Map(Object.entries(metafile.outputs).map(([path, facts]) => [basename(path), facts]));
    const first = reachable(outputs, `${name}.js`);
    const later = await packLater(
      work,
      [...outputs.keys()].filter((file) => !first.has(file)),
      options,
    );
    writeFileSync(join(folder, `${name}.later`), later.bytes);
    const { places, mark } = later;
    await buildFirst(work, join(folder, `${name}.cjs`), { name, first, places, mark, options });
    return readFileSync(join(folder, `${name}.cjs`)).length + later.bytes.length;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** The chunks that `from` needs at once. */
function reachable(outputs, from, found = new Set()) {
  if (found.has(from)) return found;
  found.add(from);
  for (const { path, kind, external } of outputs.get(from).imports)
    if (kind === "import-statement" && !external) reachable(outputs, basename(path), found);
  return found;
}

/** Each chunk as a CommonJS module, behind a mark that no other build has. `places` tells where in `bytes` each one stands: [position, length]. */
async function packLater(work, files, { target, minify }) {
  const places = {};
  const parts = [];
  let position = MARK_BYTES;
  for (const file of files) {
    const source = readFileSync(join(work, file), "utf8");
    const { code } = await transform(source, {
      format: "cjs",
      platform: "node",
      target,
      minify,
      supported: { "dynamic-import": false },
    });
    const part = Buffer.from(code);
    places[`./${file}`] = [position, part.length];
    position += part.length;
    parts.push(part);
  }
  const mark = createHash("sha256").update(Buffer.concat(parts)).digest("hex").slice(0, MARK_BYTES);
  return { bytes: Buffer.concat([Buffer.from(mark), ...parts]), places, mark };
}

/** The entry and all that it needs at once as one CommonJS module, which also gives the later chunks what they need of it. */
async function buildFirst(work, outfile, { name, first, places, mark, options }) {
  const shared = [...first].filter((file) => file !== `${name}.js`);
  const contents = [
    ...shared.map((file, index) => `import * as chunk${index} from "./${file}";`),
    `export const svcChunks = {${shared.map((file, index) => `"./${file}": chunk${index}`).join(", ")}};`,
    `export * from "./${name}.js";`,
  ].join("\n");
  const laterStays = {
    name: "later-stays",
    setup({ onResolve }) {
      onResolve({ filter: /^\.\// }, ({ path }) =>
        Object.hasOwn(places, path) ? { path, external: true } : undefined,
      );
    },
  };
  await build({
    ...options,
    stdin: { contents, resolveDir: resolve(work) },
    outfile,
    format: "cjs",
    supported: { "dynamic-import": false },
    banner: { js: loader(name, places, mark) },
    plugins: [...options.plugins, laterStays],
  });
}

/** Puts itself in the place of `require`. Who asks for a chunk twice, also at the same time, gets the same one. */
function loader(name, places, mark) {
  return `const svcBundleUrl = require("node:url").pathToFileURL(__filename).href;
require = ((native) => {
  const fs = native("node:fs");
  const places = ${JSON.stringify(places)};
  const path = native("node:path").join(__dirname, "${name}.later");
  const file = fs.openSync(path, "r");
  const loaded = new Map();
  const read = (position, length) => {
    const bytes = Buffer.allocUnsafeSlow(length);
    for (let at = 0, got = -1; at < length && got !== 0; at += got) got = fs.readSync(file, bytes, at, length - at, position + at);
    return bytes.latin1Slice();
  };
  if (read(0, ${MARK_BYTES}) !== "${mark}") throw new Error("svc was replaced while it started; start it again");
  const load = (id) => {
    if (!Object.hasOwn(places, id)) return module.exports.svcChunks?.[id] ?? native(id);
    if (loaded.has(id)) return loaded.get(id).exports;
    const names = ["exports", "require", "module", "__filename", "__dirname", "svcBundleUrl"];
    const filename = path + id.slice(1);
    const run = native("node:vm").compileFunction(read(...places[id]), names, { filename });
    const chunk = { exports: {} };
    loaded.set(id, chunk);
    try {
      run(chunk.exports, load, chunk, __filename, __dirname, svcBundleUrl);
    } catch (error) {
      loaded.delete(id);
      throw error;
    }
    return chunk.exports;
  };
  return Object.assign(load, native);
})(require);`;
}
