/**
 * `npm run package:vsix`: the extension as files that an editor installs, in dist/vsix/: one for
 * every platform without a daemon, and one for this platform with daemon, command line and native
 * packages. `-- --target linux-arm64` (or another of vsce's targets, several times if wanted)
 * builds those of other platforms from npm's packages for them, without running a script.
 * `--only-universal` and `--only-this` build one file. `--list` builds none, but prints what would
 * be in them. `--folder` builds a folder of the same shape around the built files, which an editor
 * runs as an extension in development.
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { createVSIX } from "@vscode/vsce";
import { VSIX_BUDGETS } from "./bundles.mjs";
import { installCached } from "./cache.mjs";

const OUT = join("dist", "vsix");
/** What goes into an extension beside its built files. */
const MANIFEST = ["package.json", "package.nls.json", "README.md", "CHANGELOG.md", "media"];
const LEGAL = ["LICENSE", join("dist", "THIRD_PARTY_NOTICES")];
const THIS = `${process.platform}-${process.arch}`;
/** What `svc` needs from npm at run time: its dependencies, as package.json names them. */
const { version, dependencies } = JSON.parse(readFileSync("package.json", "utf8"));

/** Folder whose node_modules has the dependencies as a platform needs them. */
function dependenciesFor(target) {
  if (target === THIS) return ".";
  const [os, cpu] = target.split("-");
  const libc = os === "linux" ? ["--libc=glibc"] : [];
  const versions = Object.values(dependencies).join("-");
  return installCached(`vsix-${target}-${versions}`, dependencies, undefined, [
    `--os=${os}`,
    `--cpu=${cpu}`,
    ...libc,
  ]);
}

const manifestOf = (from, name) =>
  JSON.parse(readFileSync(join(from, "node_modules", name, "package.json"), "utf8"));

/** The packages that `names` need, themselves included, as far as they are installed in `from`. */
function needed(from, names, target, found = new Set()) {
  for (const name of names) {
    if (found.has(name) || !existsSync(join(from, "node_modules", name))) continue;
    const { os, cpu, ...rest } = manifestOf(from, name);
    const fits = (list, value) => list === undefined || list.includes(value);
    const [platform, arch] = target.split("-");
    if (!fits(os, platform) || !fits(cpu, arch)) continue;
    // vsce has its own targets for systems with musl.
    if (name.endsWith("-musl")) continue;
    found.add(name);
    needed(from, Object.keys({ ...rest.dependencies, ...rest.optionalDependencies }), target, found);
  }
  return found;
}

/** Debugging symbols are larger than all the rest. */
const isShipped = (path) => !path.endsWith(".pdb");
const copy = (from, to) => cpSync(from, to, { recursive: true, dereference: true, filter: isShipped });

/** Puts together what goes into the file; `target` is null for the one without a daemon. */
function stage(folder, target) {
  for (const name of MANIFEST) copy(join("extension", name), join(folder, name));
  // Everything in the folder is meant to be in the file.
  writeFileSync(join(folder, ".vscodeignore"), "");
  for (const path of LEGAL) copy(path, join(folder, basename(path)));
  copy(join("dist", "extension"), join(folder, "dist"));
  if (target === null) return;
  const daemon = join(folder, "daemon");
  mkdirSync(join(daemon, "dist"), { recursive: true });
  // The account service runs on a server.
  const isNeeded = (name) => /\.[cm]js$/.test(name) && !name.startsWith("account");
  for (const name of readdirSync("dist").filter(isNeeded))
    copy(join("dist", name), join(daemon, "dist", name));
  copy(join("dist", "webview"), join(daemon, "dist", "webview"));
  const from = dependenciesFor(target);
  const packages = needed(from, Object.keys(dependencies), target);
  for (const name of Object.keys(dependencies)) {
    const { optionalDependencies } = manifestOf(from, name);
    if (!Object.keys(optionalDependencies).some((native) => packages.has(native)))
      throw new Error(`There is no native package of ${name} for ${target}.`);
  }
  for (const name of packages) copy(join(from, "node_modules", name), join(daemon, "node_modules", name));
}

/** Prints the files, relative to the extension's folder. */
function list(target) {
  const folder = mkdtempSync(join(tmpdir(), "svc-vsix-"));
  try {
    stage(folder, target);
    for (const path of readdirSync(folder, { recursive: true }).sort())
      if (statSync(join(folder, path)).isFile()) console.log(path.replaceAll("\\", "/"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Builds one file; says whether it is within its budget. */
async function pack(target) {
  const folder = mkdtempSync(join(tmpdir(), "svc-vsix-"));
  try {
    stage(folder, target);
    const packagePath = join(OUT, `svc-${version}${target === null ? "" : `-${target}`}.vsix`);
    await createVSIX({
      cwd: folder,
      packagePath: join(process.cwd(), packagePath),
      dependencies: false,
      allowMissingRepository: true,
      // The pictures of the README are in the file.
      rewriteRelativeLinks: false,
      ...(target === null ? {} : { target }),
    });
    const { size } = statSync(packagePath);
    const budget = target === null ? VSIX_BUDGETS.universal : VSIX_BUDGETS.withDaemon;
    const kib = (bytes) => `${Math.round(bytes / 1024)} KiB`;
    console.log(`${packagePath}: ${kib(size)} of ${kib(budget)}${size > budget ? "  OVER ITS BUDGET" : ""}`);
    return size <= budget;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The folder for an extension in development. The built files stay where their source maps fit. */
function linkFolder() {
  const folder = join(OUT, "folder");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, "daemon"), { recursive: true });
  for (const name of MANIFEST) symlinkSync(resolve("extension", name), join(folder, name));
  symlinkSync(resolve("dist", "extension"), join(folder, "dist"));
  symlinkSync(resolve("dist"), join(folder, "daemon", "dist"));
}

const options = process.argv.slice(2);
const named = options.flatMap((option, index) => (option === "--target" ? [options[index + 1]] : []));
const targets =
  named.length > 0
    ? named
    : options.includes("--only-universal")
      ? [null]
      : options.includes("--only-this")
        ? [THIS]
        : [null, THIS];
if (options.includes("--folder")) linkFolder();
else if (options.includes("--list")) for (const target of targets) list(target);
else {
  mkdirSync(OUT, { recursive: true });
  // What is still being written is written to its end.
  for (const target of targets) if (!(await pack(target))) process.exitCode = 1;
}
