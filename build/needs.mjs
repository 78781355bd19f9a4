/** What a test needs besides Node and npm's packages, by the modules that it imports. */
import { relative, resolve } from "node:path";

/** Debian's packages by their command, or the path of a file in them. `build`: dist/. */
export const NEEDS = {
  "test/support/daemon-process.ts": { build: true },
  "test/account/pooler.test.ts": { "/usr/sbin/pgbouncer": "pgbouncer" },
  "test/account/postgres.ts": { pg_ctlcluster: "postgresql" },
  "test/browser/setting.ts": {
    chromium: "chromium",
    "chromium-headless-shell": "chromium-headless-shell",
  },
  "test/account/process.test.ts": { curl: "curl" },
  "test/cli/few-descriptors.test.ts": { prlimit: "util-linux" },
  "test/cli/worktrees.test.ts": { git: "git" },
  "test/docs/english.test.ts": { git: "git" },
  "test/docs/links.test.ts": { git: "git" },
  "test/gates/gates.test.ts": { git: "git" },
  "test/groups/scopes.test.ts": { git: "git" },
  "test/package/notices.test.ts": { build: true },
  "test/package/package.test.ts": { build: true },
  "test/package/vsix.test.ts": { build: true },
  "test/interop/caddy.test.ts": { caddy: "caddy" },
  "test/interop/gnutls.ts": {
    cc: "gcc",
    "gnutls-cli": "gnutls-bin",
    "/usr/include/gnutls/gnutls.h": "libgnutls28-dev",
  },
};

/** The needs of these test files: whether they need dist/, and Debian's packages by command. */
export async function needsOf(files) {
  const programs = {};
  let build = false;
  for (const path of await modules(files)) {
    const { build: isBuilt, ...needed } = NEEDS[path] ?? {};
    build ||= isBuilt === true;
    Object.assign(programs, needed);
  }
  return { build, programs };
}

/** These files and what they import, as paths in this repository. */
async function modules(files) {
  const { build } = await import("esbuild");
  const { metafile } = await build({
    entryPoints: files,
    bundle: true,
    write: false,
    metafile: true,
    outdir: "dist",
    platform: "node",
    format: "esm",
    packages: "external",
    logLevel: "silent",
  });
  return Object.keys(metafile.inputs).map((path) => relative("", resolve(path)).replaceAll("\\", "/"));
}
