/**
 * `npm test` says how it ended: in its exit code and its last line, and why a test failed once.
 */
import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../support/until.ts";

const TESTS = `
it("passes", () => undefined);
it("ends the process", () => process.exit(0));
it("waits", () => { console.log("waiting"); return new Promise(() => setInterval(() => undefined, 1000)); });
`;

describe("npm test", () => {
  let folder: string;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), "svc-suite-"));
    // As this repository's.
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    writeFileSync(join(folder, "some.test.ts"), TESTS);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  /** Runs the tests of this name. `interrupt` presses Ctrl-C when one waits. */
  async function run(name: string, { interrupt = false } = {}) {
    const args = ["build/test.mjs", join(folder, "some.test.ts"), "--grep", name];
    const child = spawn(process.execPath, args, { detached: true, stdio: ["ignore", "pipe", "inherit"] });
    const ended = new Promise((resolve) => child.once("close", (...end) => resolve(end)));
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
    if (interrupt) {
      await until("a test that waits", () => output.includes("waiting"));
      process.kill(-child.pid!, "SIGINT");
    }
    return { ended: await ended, last: output.trimEnd().split("\n").at(-1) };
  }

  it("fails if no test has the name, a test ends the process, or somebody interrupts it", async () => {
    const all = await Promise.all([
      run("passes"),
      run("nothing"),
      run("process"),
      run("waits", { interrupt: true }),
    ]);
    const [good, missing, crashed, interrupted] = all;
    assert.deepEqual(good, { ended: [0, null], last: "1 passed, 0 failed" });
    assert.deepEqual(missing, { ended: [1, null], last: "0 passed, 1 failed" });
    assert.deepEqual(crashed, { ended: [1, null], last: "0 passed, 1 failed" });
    assert.deepEqual(interrupted.ended, [130, null]);
  });

  it("names what fails next to others and passes alone, and says why it failed", () => {
    const file = join(folder, "unsteady.test.ts");
    const seen = JSON.stringify(join(folder, "seen"));
    writeFileSync(
      file,
      `import { existsSync, writeFileSync } from "node:fs";
      it("is unsteady", () => {
        const isFirst = !existsSync(${seen});
        writeFileSync(${seen}, "");
        if (isFirst) throw new Error("the first time");
      });`,
    );
    const suite = `import { runSuite } from "./build/suite.mjs";
      const counts = await runSuite({ files: [${JSON.stringify(file)}], show: (text) => process.stdout.write(text) });
      console.log(JSON.stringify(counts));`;
    const output = execFileSync(process.execPath, ["--input-type=module", "-e", suite], { encoding: "utf8" });
    const marked = output.split("\n").filter((line) => line.startsWith("Unsteady"));
    assert.match(marked[0]!, /^Unsteady, which is a defect: .*unsteady\.test\.ts$/);
    assert.match(marked.slice(1).join("\n"), /is unsteady:[^]*the first time/);
    assert.match(output, /\{"passed":1,"failed":0\}\n$/);
  });

  it("loads a module once, also when it is imported later", () => {
    writeFileSync(join(folder, "class.ts"), "export class Refusal {}\n");
    const file = join(folder, "once.test.ts");
    writeFileSync(
      file,
      `import { Refusal } from "./class.ts";
      it("is the same", async () => {
        const later = await import("./class.ts");
        if (later.Refusal !== Refusal) throw new Error("loaded twice");
      });`,
    );
    const { status, stdout } = spawnSync(process.execPath, ["build/test.mjs", file], { encoding: "utf8" });
    assert.equal(stdout.trimEnd().split("\n").at(-1), "1 passed, 0 failed");
    assert.equal(status, 0);
  });
});
