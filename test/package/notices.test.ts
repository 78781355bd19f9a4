/** The packages of others in the built files are named with their licences. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type BuildOptions, build } from "esbuild";
import { WEBVIEW_BUNDLES } from "../../build/bundles.mjs";
import { entryPoints, WEB_OPTIONS, WORKER_OPTIONS } from "../../build/web-options.mjs";

interface Map {
  readonly sources: readonly string[];
}

/** Names of the installed packages whose files a source map names. */
function packagesOf({ sources }: Map): string[] {
  const names = sources.flatMap((path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []);
  // A map of a package can lead to sources that it ships without.
  return names.filter((name) => existsSync(join("node_modules", name)));
}

/** Source maps of pages, which are shipped without. */
async function mapsOf(options: BuildOptions): Promise<Map[]> {
  const built = await build({ ...options, write: false, sourcemap: "external", outdir: "dist" });
  const maps = built.outputFiles.filter(({ path }) => path.endsWith(".map"));
  return maps.map(({ text }) => JSON.parse(text) as Map);
}

const text = readFileSync("dist/THIRD_PARTY_NOTICES", "utf8");

describe("the notices of third parties", () => {
  const named = new Set([...text.matchAll(/\n-{80}\n(\S+) \S+ \(/gu)].map(([, name]) => name));

  it("name every package that a source map of a built file names", async () => {
    const shipped = ["dist", "dist/extension"].flatMap((folder) =>
      readdirSync(folder)
        .filter((name) => name.endsWith(".map"))
        .map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")) as Map),
    );
    const pages = await mapsOf(WEB_OPTIONS);
    const webviews = await mapsOf({ ...WEB_OPTIONS, entryPoints: entryPoints(WEBVIEW_BUNDLES) });
    const workers = await mapsOf(WORKER_OPTIONS);
    for (const maps of [shipped, pages, webviews]) assert.ok(maps.flatMap(packagesOf).length > 0);
    for (const name of [...shipped, ...pages, ...webviews, ...workers].flatMap(packagesOf))
      assert.ok(named.has(name), `${name} isn't named`);
    // Of which only files are taken.
    assert.ok(named.has("@vscode/codicons"));
  });

  it("have a licence's text for each", () => {
    for (const part of text.split(/\n-{80}\n/u).slice(1))
      assert.match(part, /permission|redistribution|licen[cs]e/iu, part);
  });
});
