/**
 * Every document of a Home, damaged: the daemon starts, says what is wrong and what to do, and
 * leaves the bytes as they are.
 */
import assert from "node:assert/strict";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DaemonClient } from "../../client/client.ts";
import type { RunningDaemon } from "../../daemon/assembly/daemon.ts";
import type { HomeProblem } from "../../platform/problem.ts";

/** Made anew by every start, or from what the ledger says: nothing is lost with them. */
const REBUILT = [
  /^daemon\//,
  /\/ledger\/(?!active\.jsonl|manifest\.json|segment-[^/]*\.jsonl$)/,
  /direct_status\.json$/,
  /\/cursors\//,
];
/**
 * Without these nobody knows whose Home it is, or whether it is in use: the start ends with them.
 */
const ESSENTIAL = new Set(["settings.json", "group_bridge_identity_key.yaml", "daemon/lock"]);
/**
 * What these keep is missed by nobody before they look for it, so that the daemon says it by
 * itself.
 */
const TOLD = [
  /^direct_connections\.json$/,
  /^home_files\.json$/,
  /outbox_generations\.json$/,
  /^web_sessions\.json$/,
  /group\.json$/,
];

const DAMAGES: readonly (readonly [name: string, change: (bytes: Buffer) => Buffer])[] = [
  ["cut short", (bytes) => bytes.subarray(0, Math.floor(bytes.length / 3))],
  ["full of zeros", (bytes) => Buffer.alloc(Math.max(bytes.length, 16))],
  ["ten megabytes of something", () => Buffer.alloc(10 * 1024 * 1024, "something ")],
  ["of another shape", () => Buffer.from('{"v":1,"groups":[1],"relations":5,"sessions":{}}\n')],
];

describe("A Home with a damaged document", () => {
  let original: string;
  let groupId: string;
  let runDaemon: typeof import("../../daemon/assembly/daemon.ts").runDaemon;

  before(async () => {
    ({ runDaemon } = await import("../../daemon/assembly/daemon.ts"));
    original = mkdtempSync(join(tmpdir(), "svc-whole-"));
    await withDaemon(original, async (client, daemon) => {
      ({ group_id: groupId } = await client.result("group_create", { title: "whole" }));
      await client.result("actor_add", { group_id: groupId, actor_id: "dev" });
      await client.result("actor_secrets", { group_id: groupId, actor_id: "dev", set: { KEY: "v" } });
      await client.result("send", { group_id: groupId, to: ["dev"], text: "one" });
      await client.result("ledger_compact", { group_id: groupId });
      await client.result("send", { group_id: groupId, to: ["dev"], text: "two", message_mode: "mail" });
      await client.result("draft_put", { group_id: groupId, draft: { text: "unfinished" } });
      const { url } = await client.result("login_link_create", {});
      const code = new URLSearchParams(new URL(url).hash.slice(1)).get("login") ?? "";
      const origin = daemon.webOrigin!;
      await fetch(`${origin}/api/v1/web-access/session`, {
        method: "POST",
        headers: { "content-type": "application/json", origin },
        body: JSON.stringify({ login_link_code: code }),
      });
    });
    const state = join(original, "state", "connect");
    mkdirSync(join(state, "outbox"), { recursive: true });
    mkdirSync(join(state, "catalog"), { recursive: true });
    const owner = { mode: 0o600 };
    writeFileSync(join(state, "outbox_generations.json"), JSON.stringify({ v: 1, groups: {} }), owner);
    writeFileSync(join(state, "catalog", `direct-${"1".repeat(8)}.json`), "{}", owner);
    const direct = { display_name: "x", listener: null, relations: [] };
    writeFileSync(join(original, "direct_connections.json"), JSON.stringify(direct), owner);
  });
  after(() => rmSync(original, { recursive: true, force: true }));

  async function withDaemon(
    home: string,
    use: (client: DaemonClient, daemon: RunningDaemon) => Promise<void>,
  ): Promise<void> {
    const daemon = await runDaemon({ home, host: "127.0.0.1", port: 0 });
    const client = new DaemonClient(home, null);
    try {
      await use(client, daemon);
    } finally {
      client.close();
      await daemon.stop();
    }
  }

  it("starts all the same, names it in 'svc doctor', and keeps its bytes", async () => {
    const names = readdirSync(original, { recursive: true, encoding: "utf8" })
      .filter((name) => statSync(join(original, name)).isFile())
      .sort();
    for (const expected of ["web_sessions.json", "state/connect/outbox_generations.json"]) {
      assert.ok(names.includes(expected), expected);
    }
    const wrong: string[] = [];
    for (const name of names) {
      for (const [what, change] of DAMAGES) {
        const home = mkdtempSync(join(tmpdir(), "svc-damaged-"));
        try {
          cpSync(original, home, { recursive: true });
          const path = join(home, name);
          const whole = readFileSync(path);
          const damaged = change(whole);
          if (damaged.equals(whole)) continue;
          writeFileSync(path, damaged);
          await check(home, name, damaged).catch((error: unknown) => {
            wrong.push(`${name}, ${what}: ${(error as Error).message}`);
          });
        } finally {
          rmSync(home, { recursive: true, force: true });
        }
      }
    }
    assert.deepEqual(wrong, []);
  });

  async function check(home: string, name: string, damaged: Buffer): Promise<void> {
    if (ESSENTIAL.has(name)) {
      await assert.rejects(
        runDaemon({ home, host: "127.0.0.1", port: 0 }),
        // Of the modules that were imported later.
        (error: HomeProblem) => error.name === "HomeProblem" && error.path.endsWith(name),
      );
      assert.deepEqual(readFileSync(join(home, name)), damaged);
      return;
    }
    await withDaemon(home, async (client) => {
      const { checks } = await client.result("health", {});
      const errors = checks.filter(({ severity }) => severity === "error");
      for (const { remedy } of errors) assert.notEqual(remedy, "");
      if (TOLD.some((pattern) => pattern.test(name))) {
        assert.ok(
          errors.some(({ text }) => text.includes(name.split("/").at(-1)!)),
          `nobody is told: ${JSON.stringify(errors)}`,
        );
      }
      // What isn't damaged works.
      const { group_id: fresh } = await client.result("group_create", { title: "new" });
      await client.result("send", { group_id: fresh, to: ["user"], text: "works" });
      if (REBUILT.some((pattern) => pattern.test(name))) return;
      const folder = join(home, name, "..");
      const place = name.split("/").at(-1)!;
      // The end of an active ledger that isn't one is put aside; line feeds behind it are only
      // room.
      const kept = place === "active.jsonl" ? [place, ...readdirSync(folder)] : [place];
      const bytes = damaged.toString("latin1").replace(/\n+$/, "");
      const isKept = kept.some((other) => readFileSync(join(folder, other), "latin1").includes(bytes));
      assert.ok(isKept, "its bytes were changed");
    });
  }
});
