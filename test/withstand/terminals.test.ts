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
/**
 * The bound on what anybody else waits, at the 99th percentile. On a machine that makes a daemon
 * without terminals wait as well, it is this many times what that one takes at the same time.
 */
const P99_MS = 50;
const TIMES_ALONE = 3;
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

/** A daemon with a Group in use, and the Group whose Actors are listed. */
interface Used {
  client: DaemonClient;
  group_id: string;
  in_use: string;
}

async function used(client: DaemonClient, groupId: string): Promise<Used> {
  const { group_id: inUse } = await client.result("group_create", { title: "In use" });
  await client.result("actor_add", { group_id: inUse, actor_id: "reader" });
  return { client, group_id: groupId, in_use: inUse };
}

/** Lists the Actors and sends a message; milliseconds that each took. */
async function round({ client, group_id: groupId, in_use: inUse }: Used): Promise<[number, number]> {
  const begin = performance.now();
  await client.result("actor_list", { group_id: groupId });
  const listed = performance.now();
  await client.result("send", { group_id: inUse, text: "a message", to: ["reader"] });
  return [listed - begin, performance.now() - listed];
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
  /** Has no terminals. */
  let other: DaemonProcess;
  let client: DaemonClient;
  let groupId: string;
  let inUse: string;
  let beside: Used;
  let alone: Used;
  let terminals: string;
  let token: string;
  const viewers: TerminalClient[] = [];

  before(async () => {
    root = realpathSync(mkdtempSync(join(tmpdir(), "svc-terminals-")));
    [daemon, other] = await Promise.all([DaemonProcess.started(), DaemonProcess.started()]);
    client = daemon.client(null);
    ({ group_id: groupId } = await client.result("attach", { path: root }));
    beside = await used(client, groupId);
    inUse = beside.in_use;
    const { group_id: empty } = await other.client(null).result("group_create", { title: "Empty" });
    alone = await used(other.client(null), empty);
    const { web_origin: origin } = await client.result("daemon_status", {});
    terminals = `${origin!.replace("http", "ws")}/api/v1/groups/${groupId}/actors`;
    ({ token } = await client.result("access_token_create", { name: "viewer" }));
  });
  after(async () => {
    for (const viewer of viewers) viewer.close();
    await Promise.all([daemon.dispose(), other.dispose()]);
    rmSync(root, { recursive: true, force: true });
  });

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

  async function stayFast(what: string): Promise<void> {
    const times = [beside, alone].map((of) => ({ of, list: [] as number[], send: [] as number[] }));
    for (let count = 0; count < ROUNDS; count += 1)
      for (const { of, list, send } of times) {
        const [listed, sent] = await round(of);
        list.push(listed);
        send.push(sent);
      }
    const [here, there] = times.map(({ list, send }) => ({
      list: latenciesOf(list),
      send: latenciesOf(send),
    }));
    const words = ({ p50, p99 }: Latencies) => `p50 ${p50} ms, p99 ${p99} ms`;
    for (const kind of ["list", "send"] as const) {
      const said = `${kind}: ${words(here![kind])}; without terminals ${words(there![kind])}`;
      console.log(`      ${what}: ${said}`);
      assert.ok(here![kind].p99 < Math.max(P99_MS, TIMES_ALONE * there![kind].p99), said);
    }
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
