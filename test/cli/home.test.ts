/** A Home that can't be used, and the daemon's log in one that can. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DaemonProcess, plainEnvironment } from "../support/daemon-process.ts";
import { until } from "../support/until.ts";
import { collect, run, SVC, start } from "./svc.ts";

/** Permissions bind root only without these capabilities. */
const BOUND = process.getuid?.() === 0 ? ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] : [];

describe("a Home that may not be written", () => {
  let folder: string;
  let home: string;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), "svc-read-only-"));
    home = join(folder, "home");
    mkdirSync(home, { mode: 0o700 });
    chmodSync(home, 0o500);
  });
  after(() => {
    chmodSync(home, 0o700);
    rmSync(folder, { recursive: true, force: true });
  });

  function svc(...args: string[]) {
    const [command, ...rest] = [...BOUND, process.execPath, SVC, ...args];
    return spawnSync(command!, rest, { encoding: "utf8", env: plainEnvironment(), cwd: "/" });
  }

  it("is told in words by every start, and by the doctor", () => {
    for (const place of [home, join(home, "below")])
      for (const command of [["daemon", "start"], ["daemon", "run"], ["up"]]) {
        const { status, stderr } = svc(...command, "--port", "0", "--home", place);
        assert.equal(status, 1, stderr);
        assert.match(stderr, /You can't write there \(EACCES\)\. .*--home or SVC_HOME/);
        assert.doesNotMatch(stderr, /mkdir|permission denied|\n\s+at /);
      }
    for (const place of [home, join(home, "below")]) {
      const { status, stdout } = svc("doctor", "--json", "--home", place);
      assert.equal(status, 1);
      const { checks } = (JSON.parse(stdout) as { result: { checks: { code: string }[] } }).result;
      assert.ok(
        checks.some(({ code }) => code === "home_not_writable"),
        stdout,
      );
    }
  });

  it("is told in words when it can't even be looked into", () => {
    chmodSync(home, 0);
    try {
      const { status, stderr } = svc("group", "list", "--home", join(home, "below"));
      assert.equal(status, 3, stderr);
      assert.match(stderr, /can't be read \(EACCES\)/);
      const logs = svc("daemon", "logs", "--home", join(home, "below"));
      assert.match(logs.stderr, /^svc: The Home \S+ can't be read \(EACCES\)\. [^\n]+\n$/);
      const doctor = svc("doctor", "--home", join(home, "below"));
      assert.equal(doctor.status, 1);
      assert.match(doctor.stdout, /You can't write to .* \(EACCES\)/);
    } finally {
      chmodSync(home, 0o500);
    }
  });
});

describe("svc daemon logs", () => {
  it("shows the end of the log, follows it over a change of files, and needs no daemon", async () => {
    const daemon = await DaemonProcess.started();
    try {
      const { home } = daemon;
      const ran = await run(["daemon", "logs"], { home });
      assert.equal(ran.code, 0, ran.err);
      assert.match(ran.out, /info .*started .*version=/);
      await daemon.stop();
      const path = join(home, "daemon", "log");
      const line = (msg: string) =>
        `${JSON.stringify({ level: "error", time: "2026-01-01T00:00:00.000Z", msg })}\n`;
      appendFileSync(path, line("one") + line("two") + line("\u001b[31mthree"));
      const last = await run(["daemon", "logs", "-n", "2"], { home });
      assert.deepEqual(
        last.out.split("\n").map((text) => /error\s+(.*)$/.exec(text)?.[1]),
        ["two", "\u241b[31mthree", undefined],
      );
      const raw = await run(["daemon", "logs", "-n", "1", "--json"], { home });
      assert.equal((JSON.parse(raw.out) as { msg: string }).msg, "\u001b[31mthree");

      const child = start(["daemon", "logs", "-f", "-n", "1"], { home });
      const followed = collect(child);
      await until("the last line", () => followed.out.includes("three"));
      appendFileSync(path, line("four"));
      renameSync(path, `${path}.1`);
      writeFileSync(path, line("five"), { mode: 0o600 });
      await until("the new file", () => followed.out.includes("five"));
      assert.match(followed.out, /three[^]*four[^]*five/);
      child.kill("SIGINT");
      await once(child, "close");
      assert.equal(child.exitCode, 130);
      const both = await run(["daemon", "logs"], { home });
      assert.match(both.out, /started[^]*four[^]*five/);
    } finally {
      await daemon.dispose();
    }
  });

  it("says so when there is none", async () => {
    const ran = await run(["daemon", "logs"], { home: join(tmpdir(), "svc-no-such-home") });
    assert.deepEqual([ran.code, ran.out], [0, ""]);
    assert.match(ran.err, /no log yet/);
  });
});
