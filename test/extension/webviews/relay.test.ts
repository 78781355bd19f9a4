/**
 * A webview's document and the extension host: nothing is lost, nothing foreign counts, nothing
 * grows.
 */
import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { assert as always, anything, property } from "fast-check";
import { DaemonUnreachable } from "../../../client/failures.ts";
import { addressQuery, NOWHERE } from "../../../shared/address.ts";
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { GroupSummary } from "../../../shared/operations/groups.ts";
import { HostError } from "../../../webview/hosts/host.ts";
import { Uploads } from "../../../webview/state/uploads.ts";
import { until } from "../../support/until.ts";
import { eventId, GROUP, ledgerEvent, Pair, SHA } from "./pair.ts";

const { unseenDeltas, pieceBytes, requests, followed } = LIMITS.webview;

/** Follows a Group's ledger and keeps the ids that arrive. */
function follow(pair: Pair, after: string | null) {
  const seen: string[] = [];
  let reloads = 0;
  const release = pair.host.watchLedger(GROUP, after, {
    event: ({ id }) => seen.push(id),
    reload: () => (reloads += 1),
  });
  return { seen, release, reloads: () => reloads };
}

const ids = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, at) => eventId(from + at));

describe("a webview's relay", () => {
  it("answers a call with the daemon's result, and a refusal with its code", async () => {
    const pair = await Pair.opened();
    pair.link.answer = async (name) =>
      name === "group_list"
        ? { ok: true, result: { groups: [] } }
        : { ok: false, error: new Refusal("group_not_found").body() };
    assert.deepEqual(await pair.host.call("group_list", {}), { groups: [] });
    await assert.rejects(pair.host.call("group_show", { group_id: GROUP }), { code: "group_not_found" });
    pair.link.answer = () => Promise.reject(new DaemonUnreachable("/home", "ENOENT"));
    await assert.rejects(pair.host.call("group_list", {}), (error: HostError) => error.offline);
  });

  it("reaches only the operations that a browser reaches", async () => {
    const pair = await Pair.opened();
    await assert.rejects(pair.host.call("login_link_create", {}), { code: "unknown_operation" });
    await assert.rejects(pair.host.call("daemon_stop", {}), { code: "unknown_operation" });
    assert.deepEqual(pair.link.calls, []);
  });

  it("lets an untrusted workspace look, and neither send nor upload nor type", async () => {
    const pair = await Pair.opened();
    pair.mayWrite = false;
    await pair.host.call("ledger_tail", { group_id: GROUP });
    await assert.rejects(pair.host.call("send", { group_id: GROUP, text: "no" }), {
      code: "untrusted_workspace",
    });
    const file = new File(["text"], "a.txt");
    const signal = new AbortController().signal;
    await assert.rejects(pair.host.upload(GROUP, file, { signal, progress: () => {} }), {
      code: "untrusted_workspace",
    });
    const terminal = pair.host.terminal(GROUP, "lead", { output() {}, message() {}, lost() {} });
    await until(() => pair.link.terminals.length === 1);
    terminal.send({ type: "input", data: "rm" });
    terminal.send({ type: "ack", bytes: 1 });
    await until(() => pair.link.terminals[0]!.requests.length > 0);
    assert.deepEqual(pair.link.terminals[0]!.requests, [{ type: "ack", bytes: 1 }]);
    assert.deepEqual(
      pair.link.calls.map(({ name }) => name),
      ["ledger_tail"],
    );
  });

  it("passes a cancelled call's end on to the daemon", async () => {
    const pair = await Pair.opened();
    pair.link.answer = () => new Promise(() => {});
    const end = new AbortController();
    const call = pair.host.call("ledger_search", { group_id: GROUP, query: "x" }, { signal: end.signal });
    await until(() => pair.link.calls.length === 1);
    end.abort(new Error("enough"));
    await assert.rejects(call, { message: "enough" });
    await until(() => pair.link.calls[0]!.signal.aborted);
  });

  it("ignores what doesn't fit, has another session, or comes before it is ready", async () => {
    const pair = new Pair();
    pair.relay.receive({ svc: 1, session: crypto.randomUUID(), message: { type: "retry" } });
    await pair.host.open();
    const before = pair.posted.length;
    const hostile: unknown[] = [
      null,
      "ready",
      [],
      { svc: 2, session: pair.session, message: { type: "retry" } },
      { svc: 1, session: crypto.randomUUID(), message: { type: "retry" } },
      { svc: 1, session: "x", message: { type: "ready" } },
      pair.sealed({ type: "retry", extra: true }),
      pair.sealed({ type: "call", id: 0, name: "group_list", input: {} }),
      pair.sealed({ type: "call", id: 1.5, name: "group_list", input: {} }),
      pair.sealed({ type: "call", id: 1, name: "x".repeat(65), input: {} }),
      pair.sealed({ type: "call", id: 1, name: "group_list", input: [] }),
      pair.sealed({
        type: "follow",
        id: 1,
        run: 1,
        channel: { name: "ledger", group_id: "../..", after: null },
      }),
      pair.sealed({ type: "blob", id: 1, group_id: `${GROUP}/../x`, sha256: SHA }),
      pair.sealed({ type: "upload", id: 1, group_id: GROUP, name: "a", mime_type: "", bytes: 2 ** 40 }),
      pair.sealed({ type: "piece", id: 1, seq: 0, data: "text" }),
      pair.sealed({ type: "piece", id: 1, seq: 0, data: new Uint8Array(pieceBytes + 1) }),
      pair.sealed({ type: "open-link", url: "x".repeat(10_000) }),
      pair.sealed({ type: "remember", key: "k".repeat(65), value: null }),
      { ...(pair.sealed({ type: "retry" }) as object), more: 1 },
    ];
    for (const message of hostile) pair.relay.receive(message);
    await turn();
    assert.equal(pair.link.retries, 0);
    assert.deepEqual(pair.link.calls, []);
    assert.deepEqual(pair.link.ledgers, []);
    assert.deepEqual(pair.editor.log, []);
    assert.equal(pair.posted.length, before);
    // It still serves.
    pair.host.retry();
    await until(() => pair.link.retries === 1);
  });

  it("survives any value, from either side", () => {
    const pair = new Pair();
    always(
      property(anything(), (value) => {
        pair.relay.receive(value);
        pair.host.receive(value);
        pair.relay.receive({ svc: 1, session: crypto.randomUUID(), message: value });
        pair.host.receive({ svc: 1, session: crypto.randomUUID(), message: value });
      }),
      { numRuns: 300 },
    );
    assert.deepEqual(pair.posted, []);
  });

  it("refuses what is asked twice under one id, and more than it does at a time", async () => {
    const pair = await Pair.opened();
    pair.link.answer = () => new Promise(() => {});
    for (let id = 1; id <= requests; id += 1)
      pair.relay.receive(pair.sealed({ type: "call", id: 1000 + id, name: "group_list", input: {} }));
    pair.relay.receive(pair.sealed({ type: "call", id: 1001, name: "group_list", input: {} }));
    pair.relay.receive(pair.sealed({ type: "call", id: 5000, name: "group_list", input: {} }));
    assert.equal(pair.link.calls.length, requests);
    const { message } = pair.posted.at(-1)!;
    assert.deepEqual([message.type, "code" in message && message.code], ["failed", "overloaded"]);
    for (let id = 1; id <= followed + 5; id += 1)
      pair.relay.receive(pair.sealed({ type: "follow", id: 6000 + id, run: 1, channel: { name: "groups" } }));
    assert.equal(pair.link.groups.length, followed);
  });

  it("makes more requests than fit wait in the document", async () => {
    const pair = await Pair.opened();
    const calls = Array.from({ length: requests * 3 }, () => pair.host.call("group_list", {}));
    await Promise.all(calls);
    assert.equal(pair.link.calls.length, requests * 3);
  });
});

describe("what a webview follows", () => {
  it("arrives in order and once, and ends with its release", async () => {
    const pair = await Pair.opened();
    const { seen, release } = follow(pair, eventId(0));
    const watch = await until(() => pair.link.ledgers[0]);
    for (let number = 1; number <= 100; number += 1) watch.listener.event(ledgerEvent(number));
    await until(() => seen.length === 100);
    assert.deepEqual(seen, ids(1, 100));
    release();
    await until(() => watch.released);
  });

  it("begins again after the last event it has, when a delta is lost, doubled or overtaken", async () => {
    for (const damage of ["lost", "doubled", "overtaken"] as const) {
      const pair = await Pair.opened();
      let held: Parameters<Pair["toDocument"]>[0] | null = null;
      let done = false;
      pair.toDocument = (message) => {
        if (done || message.message.type !== "deltas" || message.message.deltas[0]!.seq < 3) return message;
        if (damage === "lost") {
          done = true;
          return null;
        }
        if (held === null) {
          held = message;
          return damage === "doubled" ? message : null;
        }
        done = true;
        const late = structuredClone(held);
        // After the one that it was posted before.
        setImmediate(() => setImmediate(() => pair.host.receive(late)));
        return message;
      };
      const { seen } = follow(pair, eventId(0));
      const first = await until(() => pair.link.ledgers[0]);
      for (let number = 1; number <= 5; number += 1) {
        first.listener.event(ledgerEvent(number));
        await turn();
        await turn();
      }
      const again = await until(damage, () => pair.link.ledgers[1]);
      assert.ok(first.released, damage);
      const from = Number.parseInt(again.after!, 16);
      for (let number = from + 1; number <= 8; number += 1) again.listener.event(ledgerEvent(number));
      await until(damage, () => seen.length >= 8);
      assert.deepEqual(seen, ids(1, 8), damage);
    }
  });

  it("is read afresh when what was lost had no event before it", async () => {
    const pair = await Pair.opened();
    pair.toDocument = (message) => (message.message.type === "deltas" ? null : message);
    const { seen, reloads } = follow(pair, null);
    const watch = await until(() => pair.link.ledgers[0]);
    watch.listener.event(ledgerEvent(1));
    await until(() => pair.posted.some(({ message }) => message.type === "deltas"));
    pair.toDocument = (message) => message;
    watch.listener.event(ledgerEvent(2));
    await until(() => reloads() === 1);
    assert.deepEqual(seen, []);
    await until(() => watch.released);
  });

  it("keeps 100,000 events in order for a slow document, and few of them waiting", async () => {
    const pair = await Pair.opened();
    const { seen } = follow(pair, eventId(0));
    const TOTAL = 100_000;
    let unseen = 0;
    for (let from = 1, run = 0; seen.length < TOTAL; run += 1) {
      const watch = await until(() => pair.link.ledgers[run]);
      from = Number.parseInt(watch.after!, 16) + 1;
      // The daemon says everything at once, as long as anyone listens.
      for (let number = from; number <= TOTAL && !watch.released; number += 1) {
        watch.listener.event(ledgerEvent(number));
        if (number % 50 === 0) await turn();
        unseen = Math.max(unseen, number - from + 1 - (seen.length - from + 1));
      }
      await until(() => pair.link.ledgers.length > run + 1 || seen.length === TOTAL);
    }
    assert.equal(seen.length, TOTAL);
    assert.equal(seen.at(-1), eventId(TOTAL));
    assert.ok(unseen <= unseenDeltas + 64, `${unseen} deltas waited`);
  });

  it("pauses for a document that sees nothing, and lets the daemon go", async () => {
    const pair = await Pair.opened();
    pair.toDocument = (message) => (message.message.type === "deltas" ? null : message);
    follow(pair, eventId(0));
    const watch = await until(() => pair.link.ledgers[0]);
    for (let number = 1; number <= unseenDeltas * 4; number += 1) watch.listener.event(ledgerEvent(number));
    assert.ok(watch.released);
    await turn();
    const sent = pair.posted.flatMap(({ message }) => (message.type === "deltas" ? message.deltas : []));
    assert.equal(sent.length, unseenDeltas + 1);
    assert.equal(sent.at(-1)!.delta.type, "paused");
  });

  it("tells of more Groups than may wait unseen, each with its latest state", async () => {
    const pair = await Pair.opened();
    const state = new Map<string, number>();
    let restarts = 0;
    pair.host.watchGroups({
      restart: () => (restarts += 1),
      group: ({ group_id: groupId, unread }) => state.set(groupId, unread),
      gone: (groupId) => state.delete(groupId),
      actors: () => {},
    });
    const listener = await until(() => pair.link.groups[0]);
    const group = (number: number, unread: number) =>
      ({ group_id: `g_${number.toString(16).padStart(12, "0")}`, unread }) as GroupSummary;
    listener.restart();
    for (const unread of [1, 2, 3])
      for (let number = 0; number < 1000; number += 1) listener.group(group(number, unread));
    listener.gone(group(7, 0).group_id);
    await until(() => state.size === 999 && [...state.values()].every((unread) => unread === 3));
    assert.equal(restarts, 1);
    assert.equal(pair.link.groups.length, 1);
  });

  it("ends with its document, and nothing of it reaches the next one", async () => {
    const pair = await Pair.opened();
    const { seen } = follow(pair, eventId(0));
    const watch = await until(() => pair.link.ledgers[0]);
    let answer: () => void = () => {};
    pair.link.answer = () => new Promise((resolve) => (answer = () => resolve({ ok: true, result: "late" })));
    void pair.host.call("group_list", {}).catch(() => {});
    await until(() => pair.link.calls.length === 1);
    pair.relay.receive({ svc: 1, session: crypto.randomUUID(), message: { type: "ready" } });
    assert.ok(watch.released);
    assert.ok(pair.link.calls[0]!.signal.aborted);
    const before = pair.posted.length;
    answer();
    watch.listener.event(ledgerEvent(1));
    await turn();
    await turn();
    assert.equal(pair.posted.length, before);
    assert.deepEqual(seen, []);
  });

  it("shows an Actor's terminal, and what is typed there", async () => {
    const pair = await Pair.opened();
    const output: string[] = [];
    let lost = 0;
    const terminal = pair.host.terminal(GROUP, "lead", {
      output: (bytes) => output.push(Buffer.from(bytes).toString("utf8")),
      message: ({ type }) => output.push(type),
      lost: () => (lost += 1),
    });
    const { listener, requests: sent } = await until(() => pair.link.terminals[0]);
    listener.message({ type: "writer", writer: "you" });
    listener.output(Buffer.from("$ "));
    listener.lost();
    terminal.send({ type: "input", data: "ls\r" });
    await until(() => lost === 1 && sent.length === 1);
    assert.deepEqual(output, ["writer", "$ "]);
    assert.deepEqual(sent, [{ type: "input", data: "ls\r" }]);
    terminal.close();
    await until(() => pair.link.terminals[0]!.closed);
  });
});

describe("files between a webview and the daemon", () => {
  const bytes = Uint8Array.from({ length: pieceBytes * 9 + 17 }, (_, at) => at % 251);

  it("go up whole, with progress and few pieces at a time", async () => {
    const pair = await Pair.opened();
    const progress: number[] = [];
    const uploaded = await pair.host.upload(GROUP, new File([bytes], "big.bin"), {
      signal: new AbortController().signal,
      progress: (sent) => progress.push(sent),
    });
    assert.deepEqual(uploaded, {
      sha256: SHA,
      bytes: bytes.length,
      name: "big.bin",
      mime_type: "",
    });
    assert.ok(Buffer.from(pair.link.uploads[0]!.bytes).equals(bytes));
    assert.equal(progress.at(-1), bytes.length);
    assert.equal(progress.length, 10);
  });

  it("go up when they are empty", async () => {
    const pair = await Pair.opened();
    const options = { signal: new AbortController().signal, progress: () => {} };
    assert.equal((await pair.host.upload(GROUP, new File([], "none"), options)).bytes, 0);
  });

  it("stop going up when the person cancels, and when the document is gone", async () => {
    for (const end of ["cancel", "gone"] as const) {
      const pair = await Pair.opened();
      const stop = new AbortController();
      let ended: unknown = null;
      pair.link.upload = async ({ chunks }) => {
        try {
          for await (const chunk of chunks) assert.ok(chunk.length > 0);
        } catch (error) {
          ended = error;
        }
        throw new DaemonUnreachable("/home", "cut");
      };
      const upload = pair.host.upload(GROUP, new File([bytes], "big.bin"), {
        signal: stop.signal,
        progress: (sent) => {
          if (sent < pieceBytes * 6) return;
          if (end === "cancel") stop.abort();
          else pair.relay.end();
        },
      });
      if (end === "cancel") await assert.rejects(upload, { code: "cancelled" });
      else upload.catch(() => {});
      await until(end, () => ended !== null);
    }
  });

  it("are named by the next document when the one that sent them is gone", async () => {
    const pair = await Pair.opened();
    pair.link.upload = () => new Promise(() => {});
    const uploads = new Uploads(pair.host, GROUP, () => {});
    uploads.add([new File([bytes], "big.bin"), new File([], "other.bin")], 1);
    await until("it is on its way", () => uploads.list[0]!.sent > 0);
    pair.relay.end();
    const next = await Pair.opened(pair.state);
    const shown = new Uploads(next.host, GROUP, () => {});
    assert.deepEqual(
      shown.list.map(({ name, failure }) => [name, failure?.split(" ")[0]]),
      [
        ["big.bin", "Interrupted"],
        ["other.bin", "A"],
      ],
    );
    assert.equal(shown.busy, false);
    assert.deepEqual(new Uploads(next.host, "g_ffffffffffff", () => {}).list, []);
    shown.remove(shown.list[1]!.key);
    const last = await Pair.opened(next.state);
    const one = new Uploads(last.host, GROUP, () => {});
    assert.deepEqual(
      one.list.map(({ name }) => name),
      ["big.bin"],
    );
    one.remove(one.list[0]!.key);
    assert.deepEqual(new Uploads((await Pair.opened(last.state)).host, GROUP, () => {}).list, []);
  });

  it("fail when their pieces come in another order, too early, or are too much", async () => {
    for (const pieces of [[1], [0, 0], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]]) {
      const pair = await Pair.opened();
      pair.link.upload = async ({ chunks }) => {
        await turn();
        for await (const chunk of chunks) assert.ok(chunk.length > 0);
        return { ok: true, result: {} as never };
      };
      pair.relay.receive(
        pair.sealed({ type: "upload", id: 9, group_id: GROUP, name: "x", mime_type: "", bytes: 1000 }),
      );
      for (const seq of pieces)
        pair.relay.receive(pair.sealed({ type: "piece", id: 9, seq, data: new Uint8Array(300) }));
      const answer = await until(() =>
        pair.posted.find(({ message }) => "id" in message && message.id === 9 && message.type !== "taken"),
      );
      assert.equal(answer.message.type, "failed");
    }
  });

  it("come down whole, however they are cut", async () => {
    const pair = await Pair.opened();
    pair.link.file = [bytes.subarray(0, 10), bytes.subarray(10, 700_000), bytes.subarray(700_000)];
    const { url, release } = await pair.host.blob(GROUP, SHA);
    const read = new Uint8Array(await (await fetch(url)).arrayBuffer());
    assert.ok(Buffer.from(read).equals(bytes));
    release();
  });

  it("are saved without passing through the webview", async () => {
    const pair = await Pair.opened();
    pair.link.file = [Buffer.from("the "), Buffer.from("text")];
    await pair.host.save(GROUP, SHA, "notes.txt");
    assert.deepEqual(pair.editor.log, [["write", "/chosen/notes.txt", "the text"]]);
    assert.ok(pair.posted.every(({ message }) => message.type !== "piece"));
  });
});

describe("what a window remembers for its webviews", () => {
  it("is there for the next document, whose own state comes first unless it is older", async () => {
    const pair = await Pair.opened();
    pair.host.remember("layout", { groups: 200 });
    pair.host.remember("place", "here");
    pair.host.remember("group", GROUP);
    await until(() => pair.memory["group"] !== undefined);
    assert.deepEqual(pair.editor.log, [["showing", GROUP]]);
    const later = Date.now() + 1000;
    const next = new Pair({
      group: { at: 1, value: "g_ba9876543210" },
      place: { at: 1, value: null },
      layout: { at: later, value: { groups: 300 } },
      wrong: "form",
    });
    next.memory = pair.memory;
    await next.host.open();
    assert.equal(next.host.recall("group"), "g_ba9876543210", "a tab has its own Group");
    assert.equal(next.host.recall("place"), "here", "the state was restored from before");
    assert.deepEqual(next.host.recall("layout"), { groups: 300 });
    for (const key of ["wrong", "constructor", "nothing"]) assert.equal(next.host.recall(key), null);
    next.host.remember("place", null);
    assert.equal(next.host.recall("place"), null);
  });

  it("is where a tab was last, although the editor restores an older state of it", async () => {
    const pair = await Pair.opened();
    const at = (slot: number | null) => ({ ...NOWHERE, groupId: GROUP, slot });
    pair.host.addresses.set(at(2));
    const older = pair.state as Record<string, { at: number }>;
    for (const kept of Object.values(older)) kept.at = 1;
    pair.host.addresses.set(at(null));
    await until(() => Object.keys(pair.memory).length > 0);
    const next = new Pair(older);
    next.memory = pair.memory;
    await next.host.open();
    assert.deepEqual(next.host.addresses.current, at(null));
    const elsewhere = { ...at(3), groupId: "g_ba9876543210" };
    const other = new Pair({ address: { at: 1, value: addressQuery(elsewhere) } });
    other.memory = pair.memory;
    await other.host.open();
    assert.deepEqual(other.host.addresses.current, elsewhere, "another Group's tab is where it was");
  });

  it("shows what the editor asked for before the document was there", async () => {
    const pair = new Pair();
    const shown = { group_id: GROUP, text: "> quoted", to: ["lead"], page: "list" as const };
    pair.relay.show(shown);
    assert.deepEqual((await pair.host.open()).shown, shown);
    assert.equal(pair.host.recall("group"), GROUP);
    pair.relay.show({ ...shown, text: null });
    await until(() => pair.shown.length === 1);
  });
});
