/**
 * `npm run dev` on a copy of the tree: the link, a restart on a change of the daemon, a new
 * Workbench on one of its own, the end.
 */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import layers from "../../build/layers.cjs";
import { daemonProcess } from "../../client/connection.ts";
import { isAlive } from "../../client/process-state.ts";
import { ENVIRONMENT } from "../../shared/names.ts";
import { plainEnvironment } from "../support/daemon-process.ts";
import { until } from "../support/until.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const COPIED = [
  ...layers.productFolders,
  "build",
  "esbuild.mjs",
  "package.json",
  "package-lock.json",
  "tsconfig.json",
];

describe("npm run dev", () => {
  let folder: string;
  let home: string;
  let dev: ChildProcess;
  let output = "";

  before(() => {
    folder = mkdtempSync(join(tmpdir(), "svc-dev-"));
    home = join(folder, ".svc-dev");
    for (const name of COPIED)
      cpSync(join(ROOT, name), join(folder, name), { recursive: true, preserveTimestamps: true });
    symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
    dev = spawn(process.execPath, ["build/dev.mjs"], {
      cwd: folder,
      env: { ...plainEnvironment(), [ENVIRONMENT.webPort]: "0" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [dev.stdout, dev.stderr])
      stream?.on("data", (chunk: Buffer) => (output += chunk.toString("utf8")));
  });
  after(async () => {
    const pid = daemonProcess(home);
    if (dev.exitCode === null && dev.signalCode === null) {
      const ended = once(dev, "exit");
      dev.kill("SIGKILL");
      await ended;
      if (pid !== null && isAlive(pid)) process.kill(pid, "SIGKILL");
    }
    rmSync(folder, { recursive: true, force: true });
  });

  const printed = (pattern: RegExp): Promise<RegExpMatchArray> =>
    until(`${pattern} from npm run dev`, () => {
      assert.ok(dev.exitCode === null && dev.signalCode === null, `it ended:\n${output}`);
      return output.match(pattern);
    });
  const built = (): number => output.split("Workbench built").length - 1;

  it("renews what changes, without a second start, and leaves no process when it ends", async () => {
    const [link] = await printed(/^http:\/\/127\.0\.0\.1:\d+\/#login=\S+$/m);
    const first = daemonProcess(home)!;
    const page = await fetch(new URL("/", link));
    assert.equal(page.status, 200);
    const script = new URL("/workbench.js", link);
    const asset = async (): Promise<string> => (await fetch(script)).text();
    assert.doesNotMatch(await asset(), /seen by the test/);

    const builds = built();
    appendFileSync(join(folder, "webview/apps/workbench/main.ts"), 'document.title = "seen by the test";\n');
    await until("the Workbench built again", () => built() > builds);
    assert.match(await asset(), /seen by the test/);
    assert.equal(daemonProcess(home), first, "a change of the Workbench restarts no daemon");

    appendFileSync(join(folder, "daemon/main.ts"), 'process.stdout.write("the changed daemon\\n");\n');
    await printed(/^the changed daemon$/m);
    await printed(/daemon restarted/);
    const second = daemonProcess(home)!;
    assert.notEqual(second, first);
    assert.ok(!isAlive(first));
    assert.equal(output.match(/#login=/g)?.length, 1, "one link");

    const ended = once(dev, "exit");
    dev.kill("SIGINT");
    assert.deepEqual(await ended, [0, null], output);
    assert.ok(!isAlive(second));
    assert.ok(readFileSync(join(folder, "dist/webview/.development")), "npm start builds the real one");
  });
});
