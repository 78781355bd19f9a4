/** An Actor's terminal from the command line, in a real terminal. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import * as fc from "fast-check";
import { TerminalOutput } from "../../client/terminal-output.ts";
import { API_PREFIX } from "../../shared/names.ts";
import { Setting } from "../runtimes/setting.ts";
import { TerminalClient } from "../runtimes/terminal-client.ts";
import { SVC } from "../support/daemon-process.ts";
import { Terminal } from "../support/terminal.ts";
import { until } from "../support/until.ts";
import { run } from "./svc.ts";

const require = createRequire(import.meta.url);
const headless = require("@xterm/headless") as typeof import("@xterm/headless");

/** The last of what `stty -a` says. */
const AS_IT_WAS = /[^-]icanon[^]*[^-]echo /;

describe("svc actor attach", () => {
  let setting: Setting;
  const terminals: Terminal[] = [];

  beforeEach(async () => {
    setting = await Setting.open();
    const { group_id: groupId } = setting;
    await setting.client.result("actor_add", {
      group_id: groupId,
      actor_id: "shell",
      runner: "pty",
      runtime: "custom",
      command: ["sh"],
      env: { PS1: "$ " },
    });
    await setting.startActor("shell");
  });
  afterEach(async () => {
    for (const terminal of terminals.splice(0)) terminal.kill();
    await setting.close();
  });

  const attach = (...args: string[]): Terminal => {
    const command = [process.execPath, SVC, "actor", "attach", ...args, "--group", setting.group_id];
    const env = { SVC_HOME: setting.home, TERM: "xterm-256color" };
    const terminal = new Terminal(command, { env, columns: 100, after: "stty -a" });
    terminals.push(terminal);
    return terminal;
  };
  /** The exit code of one that left its terminal as it was. */
  const ended = async (terminal: Terminal): Promise<number> => {
    const code = await terminal.ended();
    assert.match(terminal.text, AS_IT_WAS);
    return code;
  };
  /** Another viewer, as the Workbench is one. */
  const viewer = async (): Promise<TerminalClient> => {
    const { web_origin: webOrigin } = await setting.client.result("daemon_status", {});
    const { token } = await setting.client.result("access_token_create", { name: "viewer" });
    const url = `${webOrigin!.replace("http", "ws")}${API_PREFIX}/groups/${setting.group_id}/actors/shell/term`;
    return new TerminalClient(url, { authorization: `Bearer ${token}` }).opened();
  };

  it("shows what has scrolled away, views until it is taken, and detaches with Ctrl-]", async () => {
    const other = await viewer();
    other.send({ type: "take" });
    other.send({ type: "input", data: "for i in $(seq 60); do echo line-$i-; done\r" });
    await other.shows("line-60-");
    const terminal = attach("shell");
    await terminal.shows(/line-1-[^]*line-60-/);
    await terminal.shows(/someone else is writing, Ctrl-T takes over/);
    terminal.type("echo lost-$((1+1))\r");
    await until("it rings", () => terminal.text.endsWith("\u0007\u0007"));
    terminal.type("\u0014");
    await terminal.shows(/you write/);
    await other.message("writer", ({ writer }) => writer === "another");
    terminal.type("stty size\r");
    await terminal.shows(/30 100/);
    terminal.resize(90, 25);
    await other.message("size", ({ columns, rows }) => columns === 90 && rows === 25);
    terminal.type("echo pasted-$((2+2))\r");
    await terminal.shows(/pasted-4/);
    assert.doesNotMatch(terminal.text, /lost-2/);
    const before = terminal.text.length;
    other.send({ type: "take" });
    await until("it is told", () => terminal.text.slice(before).includes("someone else is writing"));
    terminal.type("\u001d");
    assert.equal(await ended(terminal), 0);
    assert.match(terminal.text, /Detached from shell\. It keeps running/);
    assert.notEqual((await setting.presence("shell")).state, "stopped");
    other.close();
  });

  it("says how the process ended, and shows the next one", async () => {
    const terminal = attach("shell", "--take");
    await terminal.shows(/you write/);
    terminal.type("exit 3\r");
    await terminal.shows(/shell has ended: exited with code 3/);
    await setting.startActor("shell");
    await terminal.shows(/has ended[^]*you write/);
    terminal.type("echo again-$((3+3))\r");
    await terminal.shows(/again-6/);
    await setting.daemon.stop();
    assert.equal(await ended(terminal), 3);
  });

  it("refuses what it can't show, and leaves the terminal as it was", async () => {
    const nobody = attach("nobody");
    assert.equal(await ended(nobody), 1);
    const { group_id: groupId } = setting;
    await setting.client.result("actor_add", { group_id: groupId, actor_id: "outside" });
    const outside = attach("outside");
    assert.equal(await ended(outside), 1);
    const piped = await run(["actor", "attach", "shell", "--group", groupId], { home: setting.home });
    assert.equal(piped.code, 2);
    assert.match(piped.err, /must be a terminal/);
    assert.equal(piped.out, "");
  });

  it("leaves the terminal as it was when a signal ends it", async () => {
    const terminal = attach("shell", "--take");
    await terminal.shows(/you write/);
    // As `kill` does.
    const children = readFileSync(`/proc/${terminal.pid}/task/${terminal.pid}/children`, "utf8");
    process.kill(Number.parseInt(children, 10), "SIGTERM");
    assert.equal(await ended(terminal), 143);
  });

  it("passes on no question in disguise, whatever a program writes", async () => {
    const isAsked = async (bytes: Buffer): Promise<boolean> => {
      const terminal = new headless.Terminal({ allowProposedApi: true, logLevel: "off" });
      let asked = false;
      const ask = (): boolean => (asked = true);
      terminal.onData(ask);
      terminal.parser.registerOscHandler(52, ask);
      await new Promise<void>((drawn) => terminal.write(bytes, drawn));
      terminal.dispose();
      return asked;
    };
    const disguised = [
      "\u009b6n",
      "\u009d52;c;aGk=\u009c",
      "\u0090$qm\u009c",
      "\u001b[6\nn",
      "\u001b[6\u0000n",
      "\u001b[\u007f6n",
      "\u001b\n[6n",
      "\u001b[06n",
      "\u001b[?02026$p",
      "\u001b]052;c;aGk=\u0007",
      "\u001b]5\n2;c;aGk=\u0007",
      "\u001bP1$qm\u001b\\",
    ];
    for (const text of disguised) {
      assert.ok(await isAsked(Buffer.from(text)), `a terminal answers ${JSON.stringify(text)}`);
      assert.equal(
        await isAsked(new TerminalOutput().filter(Buffer.from(text))),
        false,
        JSON.stringify(text),
      );
    }
    const parts = [
      ..."\u001b\u009b\u009d\u0090\u009c[]P\\?>=$052;:ncpqmZ \n\u0000\u0007\u0018\u007faé\u00c2".split(""),
      "]52;c;",
      "[6n",
      "[c",
    ];
    const texts = fc.array(fc.constantFrom(...parts), { minLength: 2, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(texts, async (some) => {
        const output = new TerminalOutput();
        const shown = some.map((part) => output.filter(Buffer.from(part)));
        assert.equal(await isAsked(Buffer.concat(shown)), false);
      }),
      { numRuns: 300 },
    );
  });

  it("passes on no question that this terminal would answer, and nothing for the clipboard", () => {
    const asked =
      "a\u001b[cb\u001b[>0qc\u001b[6nd\u001b[?2026$pe\u001b]11;?\u0007f\u001b]52;c;aGk=\u001b\\g\u001bP+q544e\u001b\\h\u0005i\u001b[?uj\u001b[18tk\u001bZ";
    const drawn = "\u001b[1;31mred\u001b[0m\u001b]0;title\u0007\u001b[?2004h\u001b(B\u001b[2J\u001b7é\u001b8";
    for (const size of [1, 2, 3, 1000]) {
      const output = new TerminalOutput();
      const bytes = Buffer.from(asked + drawn);
      const shown: Buffer[] = [];
      for (let at = 0; at < bytes.length; at += size)
        shown.push(output.filter(bytes.subarray(at, at + size)));
      assert.equal(Buffer.concat(shown).toString(), `abcdefghijk${drawn}`, `in pieces of ${size}`);
    }
  });
});
