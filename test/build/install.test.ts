/** What is missing in a checkout is installed and built once, however many commands ask for it. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const BUILD = pathToFileURL(join(import.meta.dirname, "..", "..", "build")).href;
const LOCK = { packages: { "": {}, "node_modules/a": { version: "1.0.0", integrity: "sha512-a" } } };

describe("installing npm packages", () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "svc-install-"));
    mkdirSync(join(folder, "node_modules"));
    write("package-lock.json", LOCK);
    // The npm of this test notes when it begins and ends, and installs what the lock file names.
    mkdirSync(join(folder, "bin"));
    const npm = `#!/bin/sh\necho begin >>log\nsleep 0.3\ncp package-lock.json node_modules/.package-lock.json\necho end >>log\n`;
    writeFileSync(join(folder, "bin", "npm"), npm, { mode: 0o755 });
    appendFileSync(join(folder, "log"), "");
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  function write(path: string, value: unknown) {
    writeFileSync(join(folder, path), JSON.stringify(value));
  }

  async function install() {
    const script = `import { alone } from "${BUILD}/alone.mjs";
      import { installDependencies } from "${BUILD}/dependencies.mjs";
      alone(installDependencies);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
      cwd: folder,
      stdio: ["ignore", "ignore", "inherit"],
      env: { ...process.env, PATH: `${join(folder, "bin")}:${process.env["PATH"]}` },
    });
    assert.equal(await new Promise((resolve) => child.once("close", resolve)), 0);
  }
  const log = () => readFileSync(join(folder, "log"), "utf8").split("\n").filter(Boolean);

  it("happens once when several commands begin at the same time", async () => {
    await Promise.all([install(), install(), install()]);
    assert.deepEqual(log(), ["begin", "end"]);
  });

  it("happens when a package is another than the lock file's, not when the lock file is newer", async () => {
    write("node_modules/.package-lock.json", LOCK);
    utimesSync(join(folder, "node_modules", ".package-lock.json"), 0, 0);
    await install();
    assert.deepEqual(log(), []);
    write("package-lock.json", {
      packages: { ...LOCK.packages, "node_modules/b": { version: "1.0.0", integrity: "sha512-b" } },
    });
    await install();
    assert.deepEqual(log(), ["begin", "end"]);
  });
});
