/** What the extension's files for other platforms hold. Nothing of them is built elsewhere. */
import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const ROOT = join(import.meta.dirname, "../..");
/** Each with the packages that only it has. */
const NATIVE = {
  "linux-arm64": ["@libsql/linux-arm64-gnu", "@lydell/node-pty-linux-arm64"],
  "darwin-arm64": ["@libsql/darwin-arm64", "@lydell/node-pty-darwin-arm64"],
  "win32-x64": ["@libsql/win32-x64-msvc", "@lydell/node-pty-win32-x64"],
};

describe("the extension's files for other platforms", function () {
  this.timeout(300_000);
  const list = async (target: string): Promise<string[]> => {
    const program = ["build/vsix.mjs", "--list", "--target", target];
    const { stdout } = await promisify(execFile)(process.execPath, program, { cwd: ROOT });
    return stdout.split("\n").filter((line) => !/^(?:$|Installing |added )/.test(line));
  };

  it("have the native packages of their platform and no other's, and no debugging symbols", async () => {
    const all = Object.entries(NATIVE);
    const lists = await Promise.all(all.map(([target]) => list(target)));
    for (const [at, [target, natives]] of all.entries()) {
      const files = lists[at]!;
      const found = files.flatMap(
        (path) => /^daemon\/node_modules\/((?:@[^/]+\/)?[^/]+)\/.*\.node$/.exec(path)?.[1] ?? [],
      );
      assert.deepEqual([...new Set(found)].sort(), natives, target);
      const packages = files.flatMap(
        (path) => /^daemon\/node_modules\/((?:@[^/]+\/)?[^/]+)\/package\.json$/.exec(path)?.[1] ?? [],
      );
      const shared = ["@lydell/node-pty", "@neon-rs/load", "detect-libc", "libsql"];
      assert.deepEqual(packages.sort(), [...natives, ...shared].sort(), target);
      for (const name of [
        "package.json",
        "LICENSE",
        "THIRD_PARTY_NOTICES",
        "dist/extension.cjs",
        "daemon/dist/svc.cjs",
        "daemon/dist/daemon.mjs",
      ])
        assert.ok(files.includes(name), `${target}: ${name}`);
      assert.deepEqual(
        files.filter((path) => /\.pdb$|(?:^|\/)account[^/]*\.mjs$/.test(path)),
        [],
        target,
      );
    }
  });

  it("aren't made for a platform that a native package is missing for", async () => {
    await assert.rejects(list("win32-arm64"), /There is no native package of libsql for win32-arm64/);
  });

  it("are made without running a script of a package", () => {
    const folder = mkdtempSync(join(tmpdir(), "svc-scripts-"));
    try {
      const mark = join(folder, "ran");
      const scripts = {
        preinstall: `touch '${mark}'`,
        install: `touch '${mark}'`,
        postinstall: `touch '${mark}'`,
      };
      mkdirSync(join(folder, "package"));
      const manifest = { name: "with-scripts", version: "1.0.0", scripts };
      writeFileSync(join(folder, "package/package.json"), JSON.stringify(manifest));
      execFileSync("tar", ["-czf", "with-scripts.tgz", "package"], { cwd: folder });
      const code = `import { installCached } from "./build/cache.mjs";
        console.log(installCached("set", { "with-scripts": ${JSON.stringify(`file:${folder}/with-scripts.tgz`)} }));`;
      const environment = { ...process.env, SVC_AGENTS_CACHE: join(folder, "cache") };
      execFileSync(process.execPath, ["--input-type=module", "-e", code], { cwd: ROOT, env: environment });
      assert.ok(existsSync(join(folder, "cache/set/node_modules/with-scripts/package.json")));
      assert.equal(existsSync(mark), false);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
