import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import * as fc from "fast-check";
import { WebSocket } from "ws";
import { LIMITS } from "../../shared/limits.ts";
import { API_PREFIX } from "../../shared/names.ts";
import type { StreamMessage } from "../../shared/streams.ts";
import { verifies } from "../requirements.ts";
import { until } from "../support/until.ts";
import { GROUP, MemoryLedger, OTHER, openSetting, type Setting } from "./setting.ts";

const ADMIN = "admin-token";
const MEMBER = "member-token";
const LEDGER = `${API_PREFIX}/groups/${GROUP}/ledger/stream`;

/** A reader of server-sent events; `read` false leaves everything in the socket. */
class Reader {
  readonly socket: Socket;
  text = "";
  closed = false;

  constructor(setting: Setting, path: string, headers: Record<string, string> = {}, read = true) {
    this.socket = connect(setting.port, "127.0.0.1");
    this.socket.on("error", () => {});
    this.socket.on("close", () => (this.closed = true));
    const fields = { host: `127.0.0.1:${setting.port}`, authorization: `Bearer ${ADMIN}`, ...headers };
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
    this.socket.write(`GET ${path} HTTP/1.1\r\n${lines.join("")}\r\n`);
    if (read) this.read();
    else this.socket.pause();
  }
  read(): void {
    this.socket.on("data", (chunk: Buffer) => (this.text += chunk.toString("utf8")));
    this.socket.resume();
  }
  get status(): number {
    return Number(/^HTTP\/1\.1 (\d+)/.exec(this.text)?.[1] ?? 0);
  }
  get isOpen(): boolean {
    return this.text.includes("\r\n\r\n");
  }
  get ordinals(): number[] {
    return [...this.text.matchAll(/^data: (\{"v":1.*)\n\n/gm)].map(
      ([, json]) => (JSON.parse(json!) as { data: { ordinal: number } }).data.ordinal,
    );
  }
}

async function openSocket(
  setting: Setting,
  token = ADMIN,
): Promise<{ socket: WebSocket; notes: StreamMessage[] }> {
  const notes: StreamMessage[] = [];
  const socket = new WebSocket(`ws://127.0.0.1:${setting.port}${API_PREFIX}/events/ws`, {
    headers: { authorization: `Bearer ${token}` },
  });
  socket.on("message", (data: Buffer) => notes.push(JSON.parse(data.toString("utf8")) as StreamMessage));
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  return { socket, notes };
}

describe("streams", () => {
  let setting: Setting;
  let ledger: MemoryLedger;
  beforeEach(async () => {
    setting = await openSetting();
    setting.tokens.add(ADMIN, "administrator");
    setting.tokens.add(MEMBER, "restricted", [GROUP]);
    ledger = setting.ledgers.get(GROUP)!;
  });
  afterEach(() => setting.close());

  it("carry what is appended, over SSE of one Group, of all, and over the WebSocket", async () => {
    verifies("WEB-020", "WEB-021", "EVT-008");
    const one = new Reader(setting, LEDGER);
    const all = new Reader(setting, `${API_PREFIX}/events/stream`);
    const { socket, notes } = await openSocket(setting);
    socket.send(JSON.stringify({ type: "subscribe", id: "a", channel: "ledger", group_id: GROUP }));
    await until(() => one.isOpen && all.text.includes("event: group") && notes.length === 1);
    const [event] = ledger.append(1, "Grüße");
    await until(() => one.ordinals.length === 1 && all.ordinals.length === 1 && notes.length === 2);
    assert.match(one.text, /Content-Type: text\/event-stream/i);
    assert.doesNotMatch(one.text, /Transfer-Encoding/i);
    assert.ok(one.text.includes(`id: ${event!.id}\nevent: ledger\ndata: ${JSON.stringify(event)}\n\n`));
    assert.deepEqual(notes[1], { type: "event", id: "a", event });
    socket.close();
  });

  it("resume after an event without gap or duplicate, however appends fall between", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 6 }),
        fc.nat(),
        fc.boolean(),
        async (batches, cut, overWebSocket) => {
          const own = new MemoryLedger(GROUP);
          setting.ledgers.set(GROUP, own);
          own.append(20);
          const from = cut % 20;
          const after = own.events[from]!.id;
          let seen: () => number[];
          let end: () => void;
          if (overWebSocket) {
            const { socket, notes } = await openSocket(setting);
            socket.send(
              JSON.stringify({ type: "subscribe", id: "a", channel: "ledger", group_id: GROUP, after }),
            );
            seen = () =>
              notes.flatMap((note) =>
                note.type === "event" ? [(note.event.data as { ordinal: number }).ordinal] : [],
              );
            end = () => socket.close();
          } else {
            const reader = new Reader(setting, LEDGER, { "last-event-id": after });
            seen = () => reader.ordinals;
            end = () => reader.socket.destroy();
          }
          for (const count of batches) {
            own.append(count, "x".repeat(200));
            await new Promise((resolve) => setImmediate(resolve));
          }
          await until("the last event", () => seen().at(-1) === own.lastOrdinal);
          assert.deepEqual(
            seen(),
            Array.from({ length: own.events.length - from - 1 }, (_, index) => from + 1 + index),
          );
          end();
          await until("nobody follows any more", () => own.followers === 0);
        },
      ),
      { numRuns: 40 },
    );
  });

  it("say that an event to resume after isn't known, or refuse what can't be one", async () => {
    const unknown = new Reader(setting, `${LEDGER}?after=${"0".repeat(32)}`);
    await until(() => unknown.closed);
    assert.match(unknown.text, /^id:\nevent: reload$/m);
    ledger.append(LIMITS.stream.resumeEvents + 2);
    const far = new Reader(setting, `${LEDGER}?after=${ledger.events[0]!.id}`);
    await until(() => far.closed);
    assert.match(far.text, /event: reload/);
    for (const query of ["?after=", "?after=x", "?other=1"]) {
      const refused = new Reader(setting, LEDGER + query);
      await until(() => refused.isOpen);
      assert.equal(refused.status, 400, query);
      refused.socket.destroy();
    }
    const { socket, notes } = await openSocket(setting);
    socket.send(
      JSON.stringify({
        type: "subscribe",
        id: "a",
        channel: "ledger",
        group_id: GROUP,
        after: "0".repeat(32),
      }),
    );
    await until(() => notes.some(({ type }) => type === "reload"));
    socket.close();
    const html = new Reader(setting, LEDGER, { accept: "text/html" });
    await until(() => html.isOpen);
    assert.equal(html.status, 406);
    html.socket.destroy();
  });

  it("resume the stream of all Groups in the order in which it was sent", async () => {
    const other = setting.ledgers.get(OTHER)!;
    const first = new Reader(setting, `${API_PREFIX}/events/stream`);
    await until(() => first.text.includes("event: group"));
    const [begin] = ledger.append();
    other.append(2);
    ledger.append(2);
    await until(() => first.ordinals.length === 5);
    first.socket.destroy();
    const again = new Reader(setting, `${API_PREFIX}/events/stream`, { "last-event-id": begin!.id });
    await until(() => again.ordinals.length === 4);
    other.append();
    await until(() => again.ordinals.length === 5);
    assert.deepEqual(again.ordinals, [0, 1, 1, 2, 2]);
    const restricted = new Reader(setting, `${API_PREFIX}/events/stream`, {
      "last-event-id": begin!.id,
      authorization: `Bearer ${MEMBER}`,
    });
    await until(() => restricted.ordinals.length === 2);
    assert.ok(!restricted.text.includes(OTHER));
    const unknown = new Reader(setting, `${API_PREFIX}/events/stream`, { "last-event-id": "f".repeat(32) });
    await until(() => unknown.text.includes("event: reload"));
    for (const reader of [again, restricted, unknown]) reader.socket.destroy();
  });

  it("beat every fifteen seconds, and keep no timer when nobody listens", async () => {
    assert.equal(setting.clock.timers, 0);
    const reader = new Reader(setting, LEDGER);
    const { socket } = await openSocket(setting);
    await until(() => reader.isOpen && setting.hub.size === 2);
    const before = reader.text.length;
    let pings = 0;
    socket.on("ping", () => pings++);
    setting.clock.advance(LIMITS.stream.heartbeatSeconds * 1000);
    await until(() => reader.text.length > before && pings === 1);
    assert.equal(reader.text.slice(before), ":\n\n");
    reader.socket.destroy();
    socket.close();
    await until(() => setting.hub.size === 0);
    assert.equal(setting.clock.timers, 0);
  });

  it("end at once when their token is revoked, and at the latest with the next check", async () => {
    const reader = new Reader(setting, LEDGER, { authorization: `Bearer ${MEMBER}` });
    const { socket, notes } = await openSocket(setting, MEMBER);
    socket.send(JSON.stringify({ type: "subscribe", id: "a", channel: "ledger", group_id: GROUP }));
    await until(() => reader.isOpen && notes.length === 1);
    await setting.tokens.revoke(setting.tokens.verify(MEMBER)!.id);
    await until(() => reader.closed && socket.readyState === WebSocket.CLOSED);
    ledger.append();
    assert.equal(reader.ordinals.length, 0);

    setting.tokens.add("second", "restricted", [GROUP]);
    const late = new Reader(setting, LEDGER, { authorization: "Bearer second" });
    await until(() => late.isOpen);
    setting.tokens.records.delete("second");
    setting.clock.advance(LIMITS.stream.heartbeatSeconds * 1000);
    await until(() => late.closed);
  });

  it("show a restricted token its Groups only", async () => {
    const refused = new Reader(setting, `${API_PREFIX}/groups/${OTHER}/ledger/stream`, {
      authorization: `Bearer ${MEMBER}`,
    });
    const missing = new Reader(setting, `${API_PREFIX}/groups/g_ffffffffffff/ledger/stream`, {
      authorization: `Bearer ${MEMBER}`,
    });
    await until(() => refused.isOpen && missing.isOpen);
    assert.equal(refused.status, 404);
    const body = (reader: Reader) => reader.text.split("\r\n\r\n")[1]!.replaceAll(/g_[0-9a-f]{12}/g, "");
    await until(() => body(refused).length > 0 && body(missing).length > 0);
    assert.equal(body(refused), body(missing));
    const all = new Reader(setting, `${API_PREFIX}/events/stream`, { authorization: `Bearer ${MEMBER}` });
    const { socket, notes } = await openSocket(setting, MEMBER);
    socket.send(JSON.stringify({ type: "subscribe", id: "g", channel: "groups" }));
    socket.send(JSON.stringify({ type: "subscribe", id: "o", channel: "ledger", group_id: OTHER }));
    await until(() => all.text.includes("event: group") && notes.length >= 3);
    setting.ledgers.get(OTHER)!.append();
    setting.hub.groupChanged(OTHER);
    setting.hub.actorsChanged(OTHER);
    setting.clock.advance(100);
    ledger.append();
    await until(() => all.ordinals.length === 1);
    assert.ok(!all.text.includes(OTHER));
    assert.deepEqual(notes.map((note) => (note.type === "error" ? note.error.code : note.type)).sort(), [
      "group",
      "group_not_found",
      "subscribed",
    ]);
    for (const reader of [refused, missing, all]) reader.socket.destroy();
    socket.close();
  });

  it("tell changes of Groups and Actors, gathered for a moment", async () => {
    const { socket, notes } = await openSocket(setting);
    socket.send(JSON.stringify({ type: "subscribe", id: "g", channel: "groups" }));
    socket.send(JSON.stringify({ type: "subscribe", id: "l", channel: "ledger", group_id: GROUP }));
    await until(() => notes.length === 4);
    for (let change = 0; change < 100; change++) {
      setting.hub.groupChanged(GROUP);
      setting.hub.actorsChanged(GROUP);
    }
    setting.clock.advance(100);
    await until(() => notes.length === 6);
    assert.deepEqual(
      notes
        .slice(4)
        .map(({ type }) => type)
        .sort(),
      ["actors", "group"],
    );
    assert.deepEqual(
      notes.slice(4).map((note) => "id" in note && note.id),
      ["g", "g"],
      "by the global subscription alone",
    );
    setting.ledgers.delete(GROUP);
    setting.hub.ledgerGone(GROUP);
    setting.hub.groupChanged(GROUP);
    setting.clock.advance(100);
    await until(
      () => notes.some(({ type }) => type === "group_gone") && notes.some(({ type }) => type === "reload"),
    );
    socket.close();
  });

  it("say nothing of a Group that is being reset but what it becomes", async () => {
    const { socket, notes } = await openSocket(setting);
    socket.send(JSON.stringify({ type: "subscribe", id: "g", channel: "groups" }));
    await until(() => notes.length === 3);
    const ofGroup = setting.ledgers.get(GROUP)!;
    setting.changing.add(GROUP);
    setting.ledgers.delete(GROUP);
    setting.hub.groupChanged(GROUP);
    setting.hub.groupChanged(OTHER);
    setting.clock.advance(100);
    await until(() => notes.length === 4);
    setting.clock.advance(10_000);
    setting.ledgers.set(GROUP, ofGroup);
    setting.changing.delete(GROUP);
    setting.clock.advance(100);
    await until(() => notes.length === 5);
    assert.deepEqual(
      notes.slice(3).map((note) => note.type === "group" && note.group.group_id),
      [OTHER, GROUP],
    );
    socket.close();
  });

  it("bound what a client that doesn't read leaves behind, and harm nobody else", async () => {
    const slow = Array.from({ length: 10 }, () => new Reader(setting, LEDGER, {}, false));
    const quick = Array.from({ length: 20 }, () => new Reader(setting, LEDGER));
    await until(() => setting.hub.size === 30);
    const text = "x".repeat(100_000);
    // Enough that the kernel's buffers are full and ours pass their limit.
    let events = 0;
    while (setting.hub.size > 20 && events < 400) {
      ledger.append(1, text);
      events += 1;
      await until(() => quick.every((reader) => reader.text.length > events * 100_000));
    }
    assert.equal(setting.hub.size, 20, "the slow ones were told to go");
    for (const reader of quick) assert.equal(reader.ordinals.length, events);
    const [one] = slow;
    one!.read();
    await until(() => one!.closed);
    const after = /event: resume\ndata: \{"after":"([0-9a-f]{32})"\}/.exec(one!.text)?.[1];
    const last = ledger.ordinalOf(after!)!;
    assert.deepEqual(
      one!.ordinals,
      Array.from({ length: last + 1 }, (_, index) => index),
    );
    const resumed = new Reader(setting, `${LEDGER}?after=${after}`);
    await until(() => resumed.ordinals.at(-1) === events - 1);
    setting.clock.advance(LIMITS.stream.heartbeatSeconds * 1000);
    const [, late, another] = slow;
    late!.read();
    await until(() => late!.closed);
    assert.match(late!.text, /event: resume/, "a heartbeat may come at once: it isn't the end yet");
    setting.clock.advance(LIMITS.stream.heartbeatSeconds * 1000);
    another!.read();
    await until(() => another!.closed);
    assert.doesNotMatch(another!.text, /event: resume/, "who doesn't go for a whole heartbeat is cut off");
    for (const reader of [...slow, ...quick, resumed]) reader.socket.destroy();
  });

  it("wait for a client that reads late with one listener, however often it subscribes", async () => {
    const warnings: string[] = [];
    const warned = (warning: Error): void => void warnings.push(warning.message);
    process.on("warning", warned);
    try {
      ledger.append(400, "x".repeat(100_000));
      const [first] = ledger.events;
      let subscribed = 0;
      const ordinalOf = ledger.ordinalOf.bind(ledger);
      ledger.ordinalOf = (id) => {
        subscribed += 1;
        return ordinalOf(id);
      };
      const { socket, notes } = await openSocket(setting);
      socket.pause();
      const ids = Array.from({ length: 30 }, (_, index) => `${index}`);
      for (const id of ids) {
        const ask = { id, channel: "ledger", group_id: GROUP, after: first!.id };
        socket.send(JSON.stringify({ type: "subscribe", ...ask }));
        if (id !== ids.at(-1)) socket.send(JSON.stringify({ type: "unsubscribe", id }));
      }
      await until(() => subscribed === ids.length);
      socket.resume();
      const events = () => notes.filter((note) => note.type === "event" && note.id === ids.at(-1)).length;
      await until(() => events() === 399 && notes.some(({ type }) => type === "unsubscribed"));
      assert.deepEqual(warnings, []);
      socket.close();
    } finally {
      process.off("warning", warned);
    }
  });

  it("answer messages that aren't in the contract, and limit subscriptions", async () => {
    const { socket, notes } = await openSocket(setting);
    const wrong = [
      "",
      "{",
      "null",
      '{"type":"x"}',
      '{"type":"ping","more":1}',
      '{"type":"ping","type":"ping"}',
    ];
    for (const text of wrong) socket.send(text);
    socket.send(Buffer.from('{"type":"ping"}'), { binary: true });
    await until(() => notes.length === wrong.length + 1);
    assert.ok(notes.every(({ type }) => type === "error"));
    socket.send('{"type":"ping"}');
    await until(() => notes.at(-1)?.type === "pong");
    for (let index = 0; index <= LIMITS.stream.subscriptionsPerSocket; index++) {
      socket.send(JSON.stringify({ type: "subscribe", id: `s${index}`, channel: "ledger", group_id: GROUP }));
    }
    await until(() => notes.some((note) => note.type === "error" && note.error.code === "limit_reached"));
    socket.send(JSON.stringify({ type: "subscribe", id: "s0", channel: "groups" }));
    await until(() => notes.some((note) => note.type === "error" && note.error.code === "already_exists"));
    socket.send(JSON.stringify({ type: "unsubscribe", id: "s0" }));
    await until(() => notes.some(({ type }) => type === "unsubscribed"));
    socket.send("x".repeat(LIMITS.stream.inboundMessageBytes + 1));
    await until(() => socket.readyState === WebSocket.CLOSED);
    await until(() => ledger.followers === 0);
  });

  it("slow down guessing at the WebSocket, and never a credential that is right", async () => {
    const headers = (token: string) => ({
      authorization: `Bearer ${token}`,
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": Buffer.alloc(16).toString("base64"),
    });
    const wrong = () => setting.send("GET", `${API_PREFIX}/events/ws`, { headers: headers("wrong") });
    for (let tried = 0; tried < LIMITS.http.authFailuresPerMinute; tried++) {
      const refused = await wrong();
      assert.deepEqual([refused.status, refused.code], [401, "unauthenticated"]);
    }
    const limited = await wrong();
    assert.deepEqual([limited.status, limited.code], [429, "rate_limited"]);
    assert.ok(Number(limited.headers["retry-after"]) >= 1);
    const { socket } = await openSocket(setting);
    socket.close();
  });

  it("begin with a comment, so that the stream is seen to be open", async () => {
    for (const path of [`/groups/${GROUP}/ledger/stream`, "/events/stream"]) {
      const response = await fetch(`${setting.origin}${API_PREFIX}${path}`, {
        headers: { authorization: `Bearer ${ADMIN}` },
      });
      const reader = response.body!.getReader();
      const { value } = await reader.read();
      assert.match(Buffer.from(value!).toString(), /^:\n\n/);
      await reader.cancel();
    }
  });

  it("let no WebSocket in from a foreign origin, without a credential, or at another path", async () => {
    const attempt = (path: string, headers: Record<string, string>) =>
      new Promise<number>((resolve) => {
        const socket = new WebSocket(`ws://127.0.0.1:${setting.port}${path}`, { headers });
        socket.on("unexpected-response", (_request, response) => resolve(response.statusCode ?? 0));
        socket.on("open", () => resolve(101));
        socket.on("error", () => {});
      });
    const path = `${API_PREFIX}/events/ws`;
    const authorization = `Bearer ${ADMIN}`;
    assert.equal(await attempt(path, { authorization, origin: "http://evil.example" }), 403);
    assert.equal(await attempt(path, { authorization, host: "evil.example" }), 421);
    assert.equal(await attempt(path, {}), 401);
    assert.equal(await attempt(path, { authorization: "Bearer x" }), 401);
    assert.equal(await attempt("/other", { authorization }), 404);
    const cookie = await setting.send("POST", `${API_PREFIX}/web-access/session`, { body: { token: ADMIN } });
    const pair = cookie.headers["set-cookie"]![0]!.split(";")[0]!;
    assert.equal(await attempt(path, { cookie: pair }), 403);
    assert.equal(await attempt(path, { cookie: pair, origin: setting.origin }), 101);
  });
});
