/**
 * Exports that somebody wrote by hand: whatever they say, the Group works or isn't taken, and
 * nobody else's suffers.
 */
import assert from "node:assert/strict";
import { createHash, randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import type { DaemonClient } from "../../client/client.ts";
import type { LedgerEvent } from "../../shared/events.ts";
import { withSeed } from "../support/chance.ts";
import { DaemonProcess } from "../support/daemon-process.ts";
import { Sentinel } from "./sentinel.ts";

const IMPORTS = 80;
const KINDS = [
  "chat.message",
  "mail.read",
  "mail.unread",
  "runtime.delivery",
  "runtime.delivery_request",
  "system.notify",
  "chat.reply_request.cancelled",
  "chat.cross_group_receipt",
  "actor.remove",
  "x.y",
];
const MEMBERS = (
  "message_mode to to_generations reply_to client_id sender_generation text actor_id actor_generation " +
  "source_event_id delivery_id state batch_id event_id recipients kind target_actor_id related_event_id " +
  "context dst_group_id dst_to actor_generations status source_ordinal src_group_id src_event_id generation " +
  "constructor toString sender_title"
).split(" ");

type Line = Record<string, unknown> & {
  event?: Omit<LedgerEvent, "kind" | "data"> & { kind: string; data: object };
  blob?: unknown;
};

describe("hostile exports", () => {
  let daemon: DaemonProcess;
  let sentinel: Sentinel;
  let user: DaemonClient;
  let folder: string;
  let lines: Line[];

  before(async () => {
    daemon = await DaemonProcess.started();
    sentinel = await Sentinel.stand(daemon);
    user = daemon.client();
    folder = mkdtempSync(join(tmpdir(), "svc-withstand-import-"));
    const group = await user.result("group_create", { title: "exported" });
    const { group_id: groupId } = group;
    await user.result("actor_add", { group_id: groupId, actor_id: "a" });
    for (const messageMode of ["send", "mail", "request_reply"] as const) {
      await user.result("send", { group_id: groupId, to: ["a"], text: "x", message_mode: messageMode });
    }
    await user.result("group_export", { group_id: groupId, path: join(folder, "good") });
    const text = readFileSync(join(folder, "good"), "utf8").trimEnd();
    lines = text.split("\n").map((line) => JSON.parse(line) as Line);
  });
  after(async () => {
    await daemon.dispose();
    rmSync(folder, { recursive: true, force: true });
  });
  afterEach(() => sentinel.check());

  /** The file with a last line that fits. */
  function write(content: readonly Line[]): string {
    const path = join(folder, "forged");
    const body = content.map((line) => `${JSON.stringify(line)}\n`).join("");
    const counts = {
      events: content.filter(({ event }) => event !== undefined).length,
      blobs: content.filter(({ blob }) => blob !== undefined).length,
    };
    const sha256 = createHash("sha256").update(body).digest("hex");
    writeFileSync(path, `${body}${JSON.stringify({ end: { ...counts, sha256 } })}\n`);
    return path;
  }

  function events(): fc.Arbitrary<{ kind: string; by: string; data: Record<string, unknown> }[]> {
    const { actors } = (lines[0]!["group"] ?? {}) as { actors: { generation: string }[] };
    const { generation } = actors[0]!;
    const ids = lines.flatMap(({ event }) => (event === undefined ? [] : [event.id]));
    const value = fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom<unknown>(
        "a",
        "user",
        generation,
        ...ids,
        -1,
        1e15,
        null,
        [],
        ["a"],
        [1],
        { a: generation },
        { a: 5 },
      ),
    );
    const id = fc.constantFrom(...ids, "f".repeat(32));
    // Whatever the kind, these are as the daemon writes them; what they say together is odd.
    const shaped = fc.record({
      message_mode: fc.constantFrom("send", "mail", "request_reply"),
      to: fc.constantFrom<string[]>(["a"], ["user"], [], ["a", "a"], ["__proto__x"]),
      to_generations: fc.constantFrom<object>({ a: generation }, {}, { constructor: "x" }),
      sender_title: fc.constant("x"),
      text: fc.string({ maxLength: 20 }),
      format: fc.constant("plain"),
      attachments: fc.constant([]),
      refs: fc.constant([]),
      actor_id: fc.constantFrom("a", "user"),
      actor_generation: fc.constant(generation),
      source_event_id: id,
      event_id: id,
      delivery_id: fc.constant("d"),
      state: fc.constantFrom("claimed", "accepted", "failed", "ambiguous"),
      transport: fc.constant("external"),
      reason: fc.constant(""),
      batch_id: fc.constantFrom("b", "c"),
      cancelled_by: fc.constant("user"),
      recipients: fc.constantFrom<string[]>(["a"], ["user"], []),
      kind: fc.constantFrom("mail_notice", "reply_notice", "x"),
      title: fc.constant("x"),
      message: fc.constant("x"),
      target_actor_id: fc.constantFrom("a", null),
      priority: fc.constant("normal"),
      context: fc.constantFrom<object>({}, { actor_generation: generation }),
      related_event_id: fc.oneof(id, fc.constant(null)),
      operation: fc.constant("local"),
      status: fc.constantFrom("sent", "failed"),
      remote_event_id: fc.oneof(id, fc.constant(null)),
      error: fc.constantFrom<object | null>(null, { code: "group_not_found", message: "x" }),
      source_ordinal: fc.integer({ min: -1, max: 40 }),
      actor_generations: fc.constantFrom<object>({ a: generation }, {}),
      force_ambiguous: fc.boolean(),
      generation: fc.constant(generation),
    });
    const more = fc.record(
      {
        reply_to: id,
        client_id: fc.constantFrom("k", "l"),
        sender_generation: fc.constant(generation),
        dst_group_id: fc.constantFrom("g_000000000000", sentinel.group_id),
        dst_to: fc.constantFrom<string[]>(["a"], ["user"]),
        dst_to_generations: fc.constantFrom<object>({ a: generation }, {}),
        src_group_id: fc.constantFrom("g_000000000000", sentinel.group_id),
        src_event_id: id,
        actor_generations: fc.constantFrom<object>({ a: generation }, {}),
        source_ordinal: fc.integer({ min: -1, max: 40 }),
        extra: value,
      },
      { requiredKeys: [] },
    );
    const by = fc.constantFrom("user", "a", "system", "g_000000000000::a", "", "connect:x", "x".repeat(100));
    const wellFormed = fc.tuple(fc.constantFrom(...KINDS), by, shaped, more).map(([kind, by, one, other]) => {
      const to = kind === "chat.cross_group_receipt" ? { dst_group_id: "g_000000000000" } : {};
      return { kind, by, data: { ...one, ...to, ...other } };
    });
    const odd = fc.record({
      kind: fc.constantFrom(...KINDS),
      by,
      data: fc.dictionary(fc.constantFrom(...MEMBERS), value, { maxKeys: 10 }),
    });
    return fc.oneof(
      { weight: 3, arbitrary: fc.array(wellFormed, { minLength: 1, maxLength: 30 }) },
      { weight: 1, arbitrary: fc.array(fc.oneof(wellFormed, odd), { minLength: 1, maxLength: 30 }) },
    );
  }

  it("full of odd events make a Group that answers every operation, or none", async () => {
    const model = lines.find(({ event }) => event !== undefined)!.event!;
    await withSeed(async (_chance, seed) => {
      let imported = 0;
      for (const forged of fc.sample(events(), { numRuns: IMPORTS, seed })) {
        const added = forged.map(
          (event): Line => ({ event: { ...model, id: randomUUID().replaceAll("-", ""), ...event } }),
        );
        const path = write([...lines.slice(0, -1), ...added]);
        const envelope = await user.call("group_import", { path, title: "forged" });
        if (!envelope.ok) {
          assert.equal(envelope.error.code, "invalid_import");
          continue;
        }
        imported++;
        await exercise(envelope.result.group.group_id);
      }
      assert.ok(imported > IMPORTS / 2);
    });
  });

  async function exercise(groupId: string): Promise<void> {
    await user.result("group_start", { group_id: groupId });
    const { token_file: tokenFile } = await user.result("actor_restart", {
      group_id: groupId,
      actor_id: "a",
    });
    const actor = daemon.actorClient(tokenFile);
    const { events } = await user.result("ledger_tail", {
      group_id: groupId,
      limit: 200,
      with_obligation_status: true,
    });
    const ids = events.map(({ id }) => id);
    const calls: [DaemonClient, string, object][] = [
      [user, "ledger_search", { query: "a" }],
      [user, "ledger_statuses", { event_ids: ids }],
      [user, "inbox_peek", { actor_id: "a" }],
      [user, "actor_list", {}],
      [user, "message_history", { actor_id: "a" }],
      [actor, "message_history", { mode: "received" }],
      [actor, "bootstrap", {}],
      [actor, "inbox_read", { limit: 200 }],
      [actor, "inbox_read", { limit: 200 }],
      ...ids.slice(-12).flatMap((id): [DaemonClient, string, object][] => [
        [user, "reply", { event_id: id, text: "r" }],
        [actor, "reply", { event_id: id, text: "r" }],
        [user, "reply_request_cancel", { event_id: id }],
        [user, "message_deliver", { source_event_id: id, actor_ids: ["a"], force_ambiguous: true }],
        [actor, "file_fetch", { event_id: id }],
        [user, "feed_read", { event_id: id }],
        [user, "feed_unread", { event_id: id }],
        [user, "ledger_window", { event_id: id }],
      ]),
    ];
    for (const [client, name, input] of calls) {
      const envelope = await client.callByName(name, { group_id: groupId, ...input });
      if (!envelope.ok)
        assert.notEqual(envelope.error.code, "internal_error", `${name} ${JSON.stringify(input)}`);
    }
    await user.result("group_list", {});
    const { problems } = await user.result("ledger_verify", { group_id: groupId });
    assert.deepEqual(problems, []);
    await user.result("group_delete", { group_id: groupId, confirm: groupId });
  }

  it("that aren't whole or name files elsewhere leave nothing behind", async () => {
    const [header, ...rest] = lines.slice(0, -1);
    const good = readFileSync(join(folder, "good"), "utf8");
    const attachment = {
      path: "state/blobs/../../settings.json",
      name: "x",
      mime_type: "x",
      bytes: 1,
      sha256: "0".repeat(64),
    };
    const message = rest.findLast(({ event }) => event?.kind === "chat.message")!.event!;
    const forgeries: Record<string, string | Buffer> = {
      empty: "",
      cut: good.slice(0, good.length / 2),
      "without its last line": `${good.trimEnd().split("\n").slice(0, -1).join("\n")}\n`,
      "with a byte changed": good.replace('"x"', '"y"'),
      "with something behind": `${good}{}\n`,
      "with a line that never ends": `{"a":"${"x".repeat(4_000_000)}`,
      "of zeros": Buffer.alloc(10_000),
      "with a foreign path": readFileSync(
        write([
          header!,
          ...rest,
          { event: { ...message, id: "0".repeat(32), data: { ...message.data, attachments: [attachment] } } },
        ]),
      ),
      "with an event twice": readFileSync(write([header!, ...rest, rest.at(-1)!])),
      "of a newer version": readFileSync(write([{ ...header!, v: 99 }, ...rest])),
      "with a token": readFileSync(write([{ ...header!, token: "x" }, ...rest])),
    };
    const { groups: before } = await user.result("group_list", {});
    for (const [what, content] of Object.entries(forgeries)) {
      const path = join(folder, "bad");
      writeFileSync(path, content);
      const envelope = await user.call("group_import", { path });
      assert.equal(envelope.ok ? "ok" : envelope.error.code, "invalid_import", what);
    }
    const { groups } = await user.result("group_list", {});
    assert.equal(groups.length, before.length);
  });
});
