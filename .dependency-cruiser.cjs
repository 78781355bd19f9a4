/**
 * Who may import what (docs/architecture.md, build/layers.cjs): arrows run downward only, no
 * circles.
 */
const { fronts, layers } = require("./build/layers.cjs");

const folders = layers.map(({ folder }) => folder);
const anyOf = (paths) => `^(${paths.map((path) => path.replace(".", "\\.")).join("|")})(/|$)`;
/** Folders that are layers of their own inside another layer. */
const within = (folder) => folders.filter((other) => other.startsWith(`${folder}/`));

const downward = layers.map(({ folder, imports }) => ({
  name: `${folder} imports only what stands beneath it`,
  severity: "error",
  from: { path: `^${folder}/`, ...(within(folder).length > 0 && { pathNot: anyOf(within(folder)) }) },
  to: {
    path: "^(shared|platform|client|account|daemon|cli|extension|mcp-server|webview|test|bench|demo|build)/",
    pathNot: anyOf([folder, ...imports]),
  },
}));
/** A layer inside the one that imports isn't reached through its folder. */
const outward = layers.flatMap(({ folder, imports }) =>
  [folder, ...imports]
    .flatMap(within)
    .filter((inner) => inner !== folder && !imports.includes(inner) && !folder.startsWith(inner))
    .map((inner) => ({
      name: `${folder} does not import ${inner}`,
      severity: "error",
      from: { path: `^${folder}/`, pathNot: anyOf(within(folder).length > 0 ? within(folder) : ["-"]) },
      to: { path: `^${inner}/` },
    })),
);
/** Everything in a folder, without layers that lie inside it. */
const own = (folder) =>
  `^${folder}/${within(folder)
    .map((inner) => `(?!${inner.slice(folder.length + 1)}/)`)
    .join("")}`;
const onlyByFronts = fronts.map(({ folder, files }) => ({
  name: `${folder} is imported by its front`,
  severity: "error",
  from: { path: anyOf(folders.map((layer) => layer.split("/")[0])), pathNot: own(folder) },
  to: { path: own(folder), pathNot: anyOf(files.map((file) => `${folder}/${file}`)) },
}));

module.exports = {
  forbidden: [
    { name: "no-circles", severity: "error", from: {}, to: { circular: true } },
    { name: "no-unresolved", severity: "error", from: {}, to: { couldNotResolve: true, pathNot: "^(vscode$|svc:|virtual:)" } },
    ...downward,
    ...outward,
    ...onlyByFronts,
    { name: "shared-runs-in-a-browser", severity: "error", from: { path: "^shared/" }, to: { dependencyTypes: ["core"] } },
    { name: "one-importer-of-the-mcp-sdk", severity: "error", from: { pathNot: "^(mcp-server/sdk\\.ts|test/|demo/|bench/)" }, to: { path: "node_modules/@modelcontextprotocol/sdk" } },
    { name: "one-importer-of-the-toolkit", severity: "error", from: { path: "^webview/", pathNot: "^webview/controls/toolkit\\.ts" }, to: { path: "node_modules/@vscode/webview-ui-toolkit" } },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: { exportsFields: ["exports"], mainFields: ["module", "main"], extensions: [".ts", ".mjs", ".cjs", ".js", ".json"], conditionNames: ["import", "require", "node", "default", "types"] },
  },
};
