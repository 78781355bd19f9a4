/** Exit codes, output forms and completion, by real processes; no daemon needed. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { COMMANDS } from "../../cli/table.ts";
import { PRODUCT_VERSION } from "../../shared/version.ts";
import { verifies } from "../requirements.ts";
import { envelope, NOWHERE, run } from "./svc.ts";

describe("using the command line", () => {
  let folder: string;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), "svc-usage-"));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it("tells its version", async () => {
    verifies("VER-005");
    for (const args of [["--version"], ["-v"], ["version"]])
      assert.deepEqual(await run(args), { code: 0, out: `svc ${PRODUCT_VERSION}\n`, err: "" });
    assert.deepEqual(envelope(await run(["version", "--json"])).result, { version: PRODUCT_VERSION });
  });

  it("ends with 3 and a remedy where no daemon runs, and makes nothing", async () => {
    for (const args of [
      ["send", "x"],
      ["group", "list", "--json"],
      ["tail", "-f"],
      ["daemon", "stop"],
      ["whoami", "--home", "/an other"],
    ]) {
      const { code, out, err } = await run(args);
      assert.equal(code, 3, args.join(" "));
      assert.equal(out, "");
      const option = args.includes("--home") ? " --home '/an other'" : "";
      assert.equal(err.split("Start it with: ")[1], `svc daemon start${option}\n`);
    }
    const status = await run(["daemon", "status", "--json"]);
    assert.equal(status.code, 3);
    assert.equal(envelope<{ running: boolean }>(status).result.running, false);
    const doctor = await run(["doctor", "--json"]);
    assert.equal(doctor.code, 1);
    assert.ok(
      envelope<{ checks: { code: string }[] }>(doctor).result.checks.some(
        ({ code }) => code === "daemon_not_running",
      ),
    );
    assert.ok(!existsSync(NOWHERE));
  });

  it("ends with 2 on wrong use, on standard error only", async () => {
    const { code, out, err } = await run(["send", "x", "--no-such"]);
    assert.deepEqual([code, out], [2, ""]);
    assert.match(err, /Unknown option --no-such\.\nHelp: svc send --help\n/);
  });

  it("refuses a socket directory that others may enter", async () => {
    const home = join(folder, "home");
    spawnSync("bash", [
      "-c",
      `mkdir -p -m 700 '${home}' && mkdir -m 777 '${home}/daemon' && chmod 777 '${home}/daemon'`,
    ]);
    const address = {
      pid: 1,
      version: "0",
      socket: join(home, "daemon", "socket"),
      web_origin: null,
      started_at: "",
    };
    writeFileSync(join(home, "daemon", "address.json"), JSON.stringify(address), { mode: 0o600 });
    writeFileSync(join(home, "daemon", "key"), "x".repeat(43), { mode: 0o600 });
    const { code, err } = await run(["group", "list"], { home });
    assert.equal(code, 3);
    assert.match(err, /Others can enter/);
  });

  it("prints a service before it writes one", async () => {
    const env = { XDG_CONFIG_HOME: join(folder, "config"), HOME: folder, PATH: "/opt/an agent/bin:/usr/bin" };
    const path = join(folder, "config", "systemd", "user", "svc.service");
    const printed = await run(["daemon", "install-service", "--home", "/a b/%h"], { env });
    assert.equal(printed.code, 0, printed.err);
    assert.match(printed.out, /ExecStart=".*node" ".*svc\.cjs" "daemon" "run"/);
    assert.match(printed.out, /Environment="SVC_HOME=\/a b\/%%h"/);
    // The programs of agents are often where only the person's own shell looks.
    assert.match(printed.out, /Environment="PATH=\/opt\/an agent\/bin:\/usr\/bin"/);
    assert.ok(!existsSync(path));
    assert.equal((await run(["daemon", "install-service", "--yes", "--home", "/a b/%h"], { env })).code, 0);
    assert.ok(printed.out.includes(readFileSync(path, "utf8").trim()));
  });

  it("completes commands, groups of commands and options in bash", async () => {
    const { out } = await run(["completion", "bash"]);
    const script = join(folder, "svc.bash");
    writeFileSync(script, out);
    const complete = (words: string[]): string[] => {
      const program = `source '${script}'; COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length - 1}; _svc; printf '%s\\n' "\${COMPREPLY[@]}"`;
      const { stdout, stderr, status } = spawnSync("bash", ["-c", program], { encoding: "utf8" });
      assert.deepEqual([status, stderr], [0, ""]);
      return stdout.split("\n").filter((word) => word !== "");
    };
    const first = new Set(COMMANDS.map(({ words }) => words.split(" ")[0]));
    assert.deepEqual(new Set(complete(["svc", ""])), first);
    assert.deepEqual(complete(["svc", "comp"]), ["completion"]);
    assert.ok(complete(["svc", "group", ""]).includes("set-state"));
    assert.deepEqual(complete(["svc", "connect", ""]), ["invite", "accept"]);
    assert.deepEqual(complete(["svc", "send", "--ins"]), ["--insight"]);
    assert.deepEqual(complete(["svc", "group", "settings", "--se"]), ["--set"]);
    assert.deepEqual(complete(["svc", "send", "--mode", "re"]), ["request-reply"]);
  });

  it("writes completion scripts that their shells can read", async () => {
    for (const [shell, check] of [
      ["bash", ["-n"]],
      ["zsh", ["-n"]],
      ["fish", ["--no-execute"]],
    ] as const) {
      const { code, out } = await run(["completion", shell]);
      assert.equal(code, 0);
      for (const { words } of COMMANDS)
        assert.ok(out.includes(words.split(" ").at(-1) ?? ""), `${shell}: ${words}`);
      const script = join(folder, `script.${shell}`);
      writeFileSync(script, out);
      const { error, status, stderr } = spawnSync(shell, [...check, script], { encoding: "utf8" });
      if (error) continue;
      assert.deepEqual([status, stderr], [0, ""], shell);
    }
    assert.equal((await run(["completion", "tcsh"])).code, 2);
  });
});
