/**
 * Terminals that misbehave slow nobody else: programs that never read, that flood, that end in the
 * middle of a write, and viewers that never read. Beside them a Group is used.
 */
import assert from "node:assert/strict";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DaemonClient } from "../../client/client.ts";
import { TerminalClient } from "../runtimes/terminal-client.ts";
import { DaemonProcess } from "../support/daemon-process.ts";
import { until } from "../support/until.ts";

const MIB = 1024 * 1024;
const PIECE = 16 * 1024;
const RAW = "stty raw -echo";
/** The bound on what anybody else waits, at the 99th percentile. */
const P99_MS = 50;
const ROUNDS = 300;

const NEVER_READS = `${RAW}; echo ready; exec sleep 1000`;
const MISBEHAVING = {
  "never reads its input": NEVER_READS,
  "asks 1,000,000 questions and reads no answer": `${RAW}; echo ready; i=0; q=$(printf '\\033[6n%.0s' $(seq 1000)); while [ $i -lt 1000 ]; do printf '%s' "$q"; i=$((i+1)); done; echo asked; exec sleep 1000`,
  "floods its screen": `echo ready; exec yes "$(head -c 200 /dev/zero | tr '\\0' x)"`,
  "ends in the middle of a write": `${RAW}; echo ready; until [ -e end ]; do sleep 0.05; done; exit 3`,
} as const;

interface Latencies {
  p50: number;
  p99: number;
}

function latenciesOf(times: number[]): Latencies {
  const sorted = times.toSorted((one, other) => one - other);
  const at = (part: number) => Math.round(sorted[Math.floor((sorted.length - 1) * part)]! * 10) / 10;
  return { p50: at(0.5), p99: at(0.99) };
}

describe("terminals that misbehave", function () {
  this.timeout(600_000);
  let root: string;
  let daemon: DaemonProcess;
  let client: DaemonClient;
  let groupId: string;
  let terminals: string;
  let token: string;
  const viewers: TerminalClient[] = [];

  before(async () => {
    root = realpathSync(mkdtempSync(join(tmpdir(), "svc-terminals-")));
    daemon = await DaemonProcess.started();
    client = daemon.client(null);
    ({ group_id: groupId } = await client.result("attach", { path: root }));
    const { group_id: used } = await client.result("group_create", { title: "In use" });
    inUse = used;
    await client.result("actor_add", { group_id: inUse, actor_id: "reader" });
    const { web_origin: origin } = await client.result("daemon_status", {});
    terminals = `${origin!.replace("http", "ws")}/api/v1/groups/${groupId}/actors`;
    ({ token } = await client.result("access_token_create", { name: "viewer" }));
  });
  after(async () => {
    for (const viewer of viewers) viewer.close();
    await daemon.dispose();
    rmSync(root, { recursive: true, force: true });
  });
  let inUse: string;

  async function started(actorId: string, script: string): Promise<void> {
    await client.result("actor_add", {
      group_id: groupId,
      actor_id: actorId,
      runner: "pty",
      command: ["/bin/sh", "-c", script],
    });
    await client.result("actor_start", { group_id: groupId, actor_id: actorId });
  }

  async function viewed(actorId: string): Promise<TerminalClient> {
    const url = `${terminals}/${actorId}/term`;
    const viewer = await new TerminalClient(url, { authorization: `Bearer ${token}` }).opened();
    viewers.push(viewer);
    return viewer;
  }

  /** Takes the terminal and pastes that much into it. */
  async function pastes(viewer: TerminalClient, bytes: number): Promise<void> {
    await viewer.shows("ready");
    viewer.send({ type: "take" });
    await viewer.message("writer", ({ writer }) => writer === "you");
    const piece = "x".repeat(PIECE);
    for (let at = 0; at < bytes; at += PIECE) viewer.send({ type: "input", data: piece });
  }

  /** Lists the Actors and sends messages, one after another, and says how long each took. */
  async function measured(): Promise<{ list: Latencies; send: Latencies }> {
    const list: number[] = [];
    const send: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      let begin = performance.now();
      await client.result("actor_list", { group_id: groupId });
      list.push(performance.now() - begin);
      begin = performance.now();
      await client.result("send", { group_id: inUse, text: `message ${round}`, to: ["reader"] });
      send.push(performance.now() - begin);
    }
    return { list: latenciesOf(list), send: latenciesOf(send) };
  }

  async function stayFast(what: string): Promise<void> {
    const { list, send } = await measured();
    const words = ({ p50, p99 }: Latencies) => `p50 ${p50} ms, p99 ${p99} ms`;
    console.log(`      ${what}: actor list ${words(list)}; send ${words(send)}`);
    assert.ok(list.p99 < P99_MS, `actor list: ${words(list)}`);
    assert.ok(send.p99 < P99_MS, `send: ${words(send)}`);
  }

  it("slow nobody while there are none", () => stayFast("alone"));

  it("slow nobody: one of each kind, with 10 MB pasted into what never reads", async () => {
    for (const [at, script] of Object.values(MISBEHAVING).entries()) await started(`kind-${at}`, script);
    const stuck = await viewed("kind-0");
    await pastes(stuck, 10 * MIB);
    const ending = await viewed("kind-3");
    await pastes(ending, MIB);
    await stuck.message("input", ({ unread }) => unread > 9 * MIB);
    const asking = await viewed("kind-1");
    await ending.message("input", ({ unread }) => unread > 0);
    writeFileSync(join(root, "end"), "");
    const [, ended] = await Promise.all([
      stayFast("while one asks and one ends"),
      ending.message("ended"),
      asking.shows("asked"),
    ]);
    assert.match(ended.reason, /^exited with code 3; it never read .+ of its input$/);
    await stayFast("one of each kind");
    const { actors } = await client.result("actor_list", { group_id: groupId });
    assert.match(actors.find(({ id }) => id === "kind-0")!.presence.reason, /hasn't read .+ of its input/);
    assert.equal((await client.result("actor_list", { group_id: inUse })).actors.length, 1);
  });

  it("slow nobody: 60 more that never read and are pasted into, and viewers that never read", async () => {
    for (let at = 0; at < 60; at += 1) await started(`many-${at}`, NEVER_READS);
    for (let at = 0; at < 60; at += 1) await pastes(await viewed(`many-${at}`), 256 * 1024);
    for (let at = 0; at < 8; at += 1) (await viewed("kind-2")).acknowledges = false;
    await until("all are stuck", async () => {
      const { actors } = await client.result("actor_list", { group_id: groupId });
      const unread = actors.filter(({ presence: { reason } }) => /hasn't read/.test(reason));
      return unread.length >= 61;
    });
    await stayFast("64 terminals and 8 viewers that don't read");
  });

  it("end with the daemon, which stops as ever", async () => {
    assert.equal(await daemon.stop(), 0, daemon.output);
  });
});
