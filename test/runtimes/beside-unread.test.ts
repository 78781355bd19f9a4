/**
 * A terminal whose program reads nothing slows nobody else. Two daemons take turns, so that a busy
 * machine is as slow for both: one has such terminals, the other runs the same programs and has
 * nothing to pass on to them. No time is asserted but the ratio of both.
 */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DaemonClient } from "../../client/client.ts";
import { LIMITS } from "../../shared/limits.ts";
import { DaemonProcess } from "../support/daemon-process.ts";
import { until } from "../support/until.ts";
import { TerminalClient } from "./terminal-client.ts";

const MIB = 1024 * 1024;
const PIECE = 16 * 1024;
const RAW = "stty raw -echo";
const QUESTIONS = 100_000;
/** In what a terminal says to the question where its cursor is. */
const ANSWER_BYTES = "\u001b[1;1R".length;
const ROUNDS = 100;
/** Of the medians. Both are alike; a daemon that waits for a terminal is many times slower. */
const RATIO = 3;

const PROGRAMS = {
  deaf: `${RAW}; echo ready; exec sleep 1000`,
  asking: `${RAW}; echo ready; until [ -e ask ]; do sleep 0.1; done; cat ask; echo asked; until [ -e read ]; do sleep 0.1; done; exec cat > answers`,
} as const;

/** A daemon that runs the programs, in a project of its own. */
class Side {
  readonly project = realpathSync(mkdtempSync(join(tmpdir(), "svc-beside-")));
  readonly daemon: DaemonProcess;
  readonly client: DaemonClient;
  readonly times = { list: [] as number[], send: [] as number[] };
  #group = "";
  #sent = 0;

  private constructor(daemon: DaemonProcess) {
    this.daemon = daemon;
    this.client = daemon.client(null);
  }

  static async open(): Promise<Side> {
    const side = new Side(await DaemonProcess.started());
    const { client } = side;
    ({ group_id: side.#group } = await client.result("attach", { path: side.project }));
    const at = (actorId: string) => ({ group_id: side.#group, actor_id: actorId });
    await client.result("actor_add", at("reader"));
    for (const [actorId, script] of Object.entries(PROGRAMS)) {
      const command = ["/bin/sh", "-c", script];
      await client.result("actor_add", { ...at(actorId), runner: "pty", command });
      await client.result("actor_start", at(actorId));
    }
    return side;
  }

  async close(): Promise<void> {
    await this.daemon.dispose();
    rmSync(this.project, { recursive: true, force: true });
  }

  file(name: string): string {
    return join(this.project, name);
  }

  /** The writer of a terminal whose program has begun. */
  async writer(actorId: string): Promise<TerminalClient> {
    const { web_origin: origin } = await this.client.result("daemon_status", {});
    const { token } = await this.client.result("access_token_create", { name: actorId });
    const url = `${origin!.replace("http", "ws")}/api/v1/groups/${this.#group}/actors/${actorId}/term`;
    const writer = await new TerminalClient(url, { authorization: `Bearer ${token}` }).opened();
    await writer.shows("ready");
    writer.send({ type: "take" });
    await writer.message("writer", ({ writer: who }) => who === "you");
    return writer;
  }

  async row(actorId: string): Promise<string> {
    const at = { group_id: this.#group, actor_id: actorId };
    return (await this.client.result("actor_show", at)).actor.presence.reason;
  }

  /** Lists the Actors and sends a message, and notes how long each took. */
  async round(): Promise<void> {
    const at = { group_id: this.#group };
    const began = performance.now();
    const { actors } = await this.client.result("actor_list", at);
    const listed = performance.now();
    this.#sent += 1;
    await this.client.result("send", { ...at, text: `message ${this.#sent}`, to: ["reader"] });
    this.times.list.push(listed - began);
    this.times.send.push(performance.now() - listed);
    assert.equal(actors.length, 3);
  }
}

function median(times: readonly number[]): number {
  return times.toSorted((one, other) => one - other)[Math.floor(times.length / 2)]!;
}

describe("beside a terminal that isn't read", () => {
  const sides: Side[] = [];
  after(() => Promise.all(sides.map((side) => side.close())));

  it("listing Actors and sending take as long as without one", async () => {
    sides.push(...(await Promise.all([Side.open(), Side.open()])));
    const [beside, without] = sides as [Side, Side];
    const deaf = await beside.writer("deaf");
    const asking = await beside.writer("asking");
    for (let at = 0; at < 4 * MIB; at += PIECE) deaf.send({ type: "input", data: "x".repeat(PIECE) });
    writeFileSync(beside.file("ask"), "\u001b[6n".repeat(QUESTIONS));
    await asking.shows("asked");
    await deaf.message("input", ({ unread }) => unread > 3 * MIB);

    for (const side of sides) await side.round();
    for (const { times } of sides) times.list.length = times.send.length = 0;
    for (let round = 0; round < ROUNDS; round += 1)
      for (const side of round % 2 === 0 ? [beside, without] : [without, beside]) await side.round();

    for (const what of ["list", "send"] as const) {
      const [with_, alone] = [median(beside.times[what]), median(without.times[what])];
      const words = `${what}: ${with_.toFixed(2)} ms beside it, ${alone.toFixed(2)} ms without`;
      assert.ok(with_ < RATIO * alone, words);
    }
    const state = /^hasn't read [34][.\d]* MiB of its input$/;
    await until("its row says so", async () => state.test(await beside.row("deaf")));

    // What the program gets when it reads at last is what was kept for it, and then what is typed.
    writeFileSync(beside.file("read"), "");
    asking.send({ type: "input", data: "typed" });
    const answers = await until("it has read everything", () => {
      const text = existsSync(beside.file("answers")) ? readFileSync(beside.file("answers"), "latin1") : "";
      return text.endsWith("typed") ? text : null;
    });
    assert.ok(answers.length < 2 * LIMITS.terminal.answerBytes, `${answers.length} bytes of answers`);
    assert.ok(2 * LIMITS.terminal.answerBytes < QUESTIONS * ANSWER_BYTES);
    for (const writer of [deaf, asking]) writer.close();
  });
});
