/** The demo of three instances in one window, from the links to the end of one instance. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { collect } from "../cli/svc.ts";
import { plainEnvironment } from "../support/daemon-process.ts";
import { until } from "../support/until.ts";

const DEMO = join(import.meta.dirname, "workbench-demo.ts");

describe("demo of the Workbench", function () {
  this.timeout(240_000);
  let folder: string;

  /** The demo, with temporary files in a folder of its own. */
  const start = () => {
    const child = spawn(process.execPath, ["--import=tsx", DEMO], {
      env: { ...plainEnvironment(), TMPDIR: folder },
    });
    return { child, ran: collect(child), closed: once(child, "close") };
  };
  /** What it left there. The compiler and the browser keep files of their own. */
  const left = () =>
    readdirSync(folder).filter((name) => !/^(?:tsx|node-compile-cache|\.org\.chromium)/.test(name));

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "svc-test-"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it("shows the Groups of three instances, works in a remote one, and loses only the view of one that ends", async () => {
    const { child, ran, closed } = start();
    await closed;
    assert.equal(child.exitCode, 0, `${ran.err}\n${ran.out}`);
    for (const line of [
      /three instances: https:\/\/office\.localhost:\d+, https:\/\/lab\.localhost:\d+, https:\/\/studio\.localhost:\d+\./u,
      /One list has the Groups of all: Release 2\.4, Measurements, Website\./u,
      /asks the lab's lead inside the page\. Its answer is there\./u,
      /The page says: It can’t be reached\./u,
      /Nothing else is lost/u,
      /Done in \d+ seconds/u,
    ])
      assert.match(ran.out, line);
    assert.deepEqual(left(), []);
  });

  it("ends in order on Ctrl-C", async () => {
    const { child, ran, closed } = start();
    await until("the beginning", () => ran.out.includes("The account service is at"), 120_000);
    child.kill("SIGINT");
    await closed;
    assert.equal(child.exitCode, 0, `${ran.err}\n${ran.out}`);
    assert.doesNotMatch(ran.out, /Done/u);
    assert.deepEqual(left(), []);
  });
});
