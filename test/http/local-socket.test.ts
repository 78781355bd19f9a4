import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:http";
import { connect, type Socket } from "node:net";
import * as fc from "fast-check";
import { readHead } from "../../daemon/http/local/request-reader.ts";
import { RealNetwork } from "../../platform/real-network.ts";
import { LIMITS } from "../../shared/limits.ts";
import { HEADERS } from "../../shared/names.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { until } from "../support/until.ts";
import {
  collect,
  exchange,
  type Fixture,
  frame,
  GROUP,
  KEY,
  start,
  statusOf,
  TOKEN,
} from "./socket-setting.ts";

describe("the local socket", () => {
  let fixture: Fixture;
  beforeEach(async () => {
    fixture = await start();
  });
  afterEach(() => fixture.close());

  it("answers operations, however their bytes are cut", async () => {
    const bytes = Buffer.from(
      frame("group_create", JSON.stringify({ title: "Grüße 🎉" })) + frame("whoami", "{}"),
    );
    for (let at = 1; at < bytes.length; at += 7) {
      const answers = await exchange(fixture.path, [bytes.subarray(0, at), bytes.subarray(at)], 2);
      assert.deepEqual(answers.map(statusOf), [200, 200]);
      assert.match(Buffer.from(answers[0]!, "latin1").toString("utf8"), /Grüße 🎉/);
    }
    const single = [...bytes].map((byte) => Buffer.from([byte]));
    assert.equal((await exchange(fixture.path, single, 2)).length, 2);
  });

  it("answers pipelined requests in their order, beyond the number that may overlap", async () => {
    const titles = Array.from({ length: 500 }, (_, index) => `t${index}`);
    const bytes = titles.map((title) => frame("group_create", JSON.stringify({ title }))).join("");
    const answers = await exchange(fixture.path, [bytes], 500);
    assert.deepEqual(
      answers.map((text) => /"title":"(t\d+)"/.exec(text)?.[1]),
      titles,
    );
  });

  it("gives each of many connections its own, however their pieces alternate and whoever reads them", async () => {
    const connections = await Promise.all(
      Array.from({ length: 8 }, async (_, place) => {
        const titles = Array.from({ length: 90 }, (_, at) => `${place}/${at}/`.padEnd(900, `${place}`));
        // Half of them are handed over to node:http on the way, with bytes that wait.
        const frames = titles.map((title, at) =>
          frame(
            "group_create",
            JSON.stringify({ title }),
            at === 45 + place ? "X-Other: 1\r\n".repeat(place % 2) : "",
          ),
        );
        const socket = connect(fixture.path);
        await once(socket, "connect");
        const pieceBytes = 97 + place * 613;
        return {
          titles,
          socket,
          pieceBytes,
          bytes: Buffer.from(frames.join("")),
          answers: collect(socket, 90),
        };
      }),
    );
    const most = Math.max(...connections.map(({ bytes, pieceBytes }) => bytes.length / pieceBytes));
    for (let piece = 0; piece < most; piece += 1) {
      for (const { socket, bytes, pieceBytes } of connections) {
        const from = piece * pieceBytes;
        if (from < bytes.length) socket.write(bytes.subarray(from, from + pieceBytes));
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    for (const { titles, socket, answers } of connections) {
      const told = (await answers).map((answer) => /"title":"([^"]*)"/.exec(answer)?.[1]);
      assert.deepEqual(told, titles);
      socket.destroy();
    }
  });

  it("keeps the order when a request that waits stands before others", async () => {
    const socket = connect(fixture.path);
    const answers = collect(socket, 3);
    const token = `Svc-Launch-Token: ${TOKEN}\r\n`;
    socket.write(
      frame("inbox_read", JSON.stringify({ group_id: GROUP, wait_seconds: 50 }), token) +
        frame("whoami", "{}"),
    );
    socket.end();
    await fixture.aborted;
    assert.deepEqual((await answers).map(statusOf), [200, 200]);
  });

  it("aborts what waits when its client goes away", async () => {
    const socket = connect(fixture.path);
    socket.write(
      frame(
        "inbox_read",
        JSON.stringify({ group_id: GROUP, wait_seconds: 50 }),
        `Svc-Launch-Token: ${TOKEN}\r\n`,
      ),
    );
    setImmediate(() => socket.destroy());
    await fixture.aborted;
  });

  it("refuses a wrong or missing key and an invalid launch token, and never falls back to the owner", async () => {
    const wrong = await exchange(fixture.path, [frame("whoami", "{}", "", "x".repeat(43))], 1);
    const short = await exchange(fixture.path, [frame("whoami", "{}", "", "x")], 1);
    const none = await exchange(fixture.path, [frame("whoami", "{}").replace(/Svc-Socket-Key.*\r\n/, "")], 1);
    for (const answers of [wrong, short, none]) {
      assert.equal(statusOf(answers[0]), 401);
      assert.match(answers[0]!, /unauthenticated/);
    }
    const bad = await exchange(fixture.path, [frame("whoami", "{}", "Svc-Launch-Token: bad\r\n")], 1);
    assert.match(bad[0]!, /invalid_launch_token/);
    const actor = await exchange(fixture.path, [frame("whoami", "{}", `Svc-Launch-Token: ${TOKEN}\r\n`)], 1);
    assert.match(actor[0]!, /"by":"a1"/);
    assert.deepEqual(fixture.calls, [{ name: "whoami", by: "a1" }]);
  });

  it("hands what isn't the one shape to node:http, with operations before and after it on one connection", async () => {
    const get = `GET /health HTTP/1.1\r\nHost: localhost\r\nSvc-Socket-Key: ${KEY}\r\n\r\n`;
    const answers = await exchange(fixture.path, [frame("whoami", "{}") + get + frame("whoami", "{}")], 1);
    assert.equal(statusOf(answers[0]), 200);
    const socket = connect(fixture.path);
    let text = "";
    socket.on("data", (chunk: Buffer) => (text += chunk.toString()));
    socket.write(frame("whoami", "{}") + get + frame("whoami", "{}", "X-Other: 1\r\n"));
    while (text.split("HTTP/1.1 200").length < 4) await once(socket, "data");
    assert.match(text, /x-app: GET \/health user/i);
    socket.destroy();
    assert.equal(fixture.calls.length, 4);
  });

  it("answers the same over node:http's own client", async () => {
    const body = await new Promise<string>((resolve, reject) => {
      const sent = request(
        {
          socketPath: fixture.path,
          method: "POST",
          path: "/op/whoami",
          headers: {
            [HEADERS.socketKey]: KEY,
            "content-type": "application/json; charset=UTF-8",
            "x-a": "b",
          },
        },
        (response) => {
          let text = "";
          response.on("data", (chunk: Buffer) => (text += chunk.toString()));
          response.on("end", () => resolve(text));
        },
      );
      sent.on("error", reject);
      sent.end("{}");
    });
    assert.equal((JSON.parse(body) as { ok: boolean }).ok, true);
  });

  const smuggling: Record<string, string> = {
    "two lengths": frame("whoami", "{}", "Content-Length: 2\r\n"),
    "two different lengths": frame("whoami", "{}", "Content-Length: 40\r\n"),
    "a list of lengths": frame("whoami", "{}").replace("Length: 2", "Length: 2, 2"),
    "a signed length": frame("whoami", "{}").replace("Length: 2", "Length: +2"),
    "a length in hex": frame("whoami", "{}").replace("Length: 2", "Length: 0x2"),
    "length and chunks": frame("whoami", "0\r\n\r\n", "Transfer-Encoding: chunked\r\n"),
    "an unknown coding": frame("whoami", "{}", "Transfer-Encoding: xchunked\r\n"),
    "a folded line": frame("whoami", "{}", "X-A: b\r\n c: d\r\n"),
    "a bare line feed": frame("whoami", "{}", "X-A: b\nX-C: d\r\n"),
    "a NUL": frame("whoami", "{}", "X-A: b\0c\r\n"),
    "a space before the colon": frame("whoami", "{}", "X-A : b\r\n"),
    "two keys": frame("whoami", "{}", `Svc-Socket-Key: ${KEY}\r\n`),
    "two hosts": frame("whoami", "{}", "Host: elsewhere\r\n"),
    "line feeds alone": frame("whoami", "{}").replaceAll("\r\n", "\n"),
    "a head without end": `POST /op/whoami HTTP/1.1\r\nX: ${"a".repeat(20_000)}`,
  };
  for (const [name, bytes] of Object.entries(smuggling)) {
    it(`leaves ${name} to node:http, which refuses or reads one request`, async () => {
      const parsed = readHead(Buffer.from(bytes, "latin1"), 0);
      assert.equal(parsed, "foreign");
      const socket = connect(fixture.path);
      const answers = collect(socket, 99);
      socket.write(Buffer.from(bytes, "latin1"));
      socket.end();
      const texts = await answers;
      assert.ok(texts.length <= 2, texts.join("\n"));
      assert.ok(fixture.calls.length <= 1);
      for (const text of texts.slice(1)) assert.notEqual(statusOf(text), 200);
    });
  }

  it("refuses bodies that are too large, not JSON, or not strict", async () => {
    const large = `"${"a".repeat(1024 * 1024)}"`;
    const answers = await exchange(fixture.path, [frame("whoami", large)], 1);
    assert.equal(statusOf(answers[0]), 413);
    for (const body of ["{", '{"a":1,"a":2}', '{"a":"\\ud800"}', "[".repeat(70) + "]".repeat(70)]) {
      const [text] = await exchange(fixture.path, [frame("whoami", body)], 1);
      assert.equal(statusOf(text), 400);
      assert.match(text!, /invalid_request/);
    }
    const [bytes] = await exchange(fixture.path, [frame("whoami", "ab"), ""], 1);
    assert.equal(statusOf(bytes), 400);
    const invalid = Buffer.from(frame("whoami", '{"a":"??"}').replace("??", "\xff\xfe"), "latin1");
    assert.equal(statusOf((await exchange(fixture.path, [invalid], 1))[0]), 400);
  });

  it("keeps an Actor's session while the lease is open", async () => {
    const head = `GET /session HTTP/1.1\r\nHost: localhost\r\nSvc-Socket-Key: ${KEY}\r\nSvc-Launch-Token: ${TOKEN}\r\n`;
    const socket = connect(fixture.path);
    socket.write(`${head}Svc-Session: s1\r\n\r\n`);
    await once(socket, "data");
    assert.deepEqual(fixture.leases, { opened: 1, closed: 0 });
    const closed = new Promise<void>((resolve) => {
      const watch = (): void => (fixture.leases.closed === 1 ? resolve() : void setImmediate(watch));
      watch();
    });
    socket.destroy();
    await closed;
    const [nameless] = await exchange(fixture.path, [`${head}\r\n`], 1);
    assert.equal(statusOf(nameless), 400);
  });

  it("ends connections that node:http serves once nothing runs on them", async () => {
    const served: Socket[] = [];
    fixture.local.server.on("connection", (socket: Socket) => served.push(socket));
    const idle = connect(fixture.path).on("data", () => {});
    idle.write(`GET /other HTTP/1.1\r\nHost: localhost\r\nSvc-Socket-Key: ${KEY}\r\n\r\n`);
    await once(idle, "data");
    const running = connect(fixture.path);
    let text = "";
    running.on("data", (bytes) => (text += bytes));
    const sent = frame("group_create", '{"title":"one"}', "X-Other: 1\r\n");
    running.write(sent.slice(0, -1));
    await until(() => served[1]?.bytesRead === sent.length - 1);
    const closed = Promise.all([once(idle, "close"), once(running, "close")]);
    const stopped = new RealNetwork().close(fixture.local.server);
    fixture.local.finish();
    running.write(sent.slice(-1));
    await Promise.all([closed, stopped]);
    assert.match(text, /^HTTP\/1\.1 200 .*"title":"one"/s);
  });

  it("is unharmed by clients that ask for an upgrade and are gone before the answer", async () => {
    for (let client = 0; client < 50; client++) {
      const socket = connect(fixture.path);
      await once(socket, "connect");
      socket.write("GET /x HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
      setImmediate(() => socket.destroy());
      await once(socket, "close");
    }
    // An error that nobody listens to would have failed this test as an uncaught exception.
    assert.deepEqual((await exchange(fixture.path, [frame("whoami", "{}")], 1)).map(statusOf), [200]);
  });

  describe("with clients that let it wait", () => {
    const get = `GET /health HTTP/1.1\r\nHost: localhost\r\nSvc-Socket-Key: ${KEY}\r\n\r\n`;
    const seconds = (count: number) => clock.advance(count * 1000);
    const interval = LIMITS.http.requestSeconds / 2;
    const open: Socket[] = [];
    let clock: ManualClock;
    beforeEach(async () => {
      await fixture.close();
      clock = new ManualClock();
      fixture = await start(clock);
    });
    afterEach(() => {
      for (const socket of open.splice(0)) socket.destroy();
    });

    /**
     * A connection after these bytes, when the daemon has them; what came back, and whether it has
     * ended.
     */
    async function client(
      bytes: string,
      answers: number,
    ): Promise<{ socket: Socket; text: () => string; ended: Promise<unknown>; isOpen: () => boolean }> {
      const socket = connect(fixture.path);
      open.push(socket);
      let text = "";
      let isOpen = true;
      const ended = once(socket, "close").then(() => (isOpen = false));
      await once(socket, "connect");
      socket.on("data", (chunk: Buffer) => (text += chunk.toString()));
      socket.write(bytes);
      while (text.split("HTTP/1.1 ").length <= answers) await once(socket, "data");
      // A connection made later is served later: the bytes have been read.
      assert.equal((await exchange(fixture.path, [frame("whoami", "{}")], 1)).length, 1);
      return { socket, text: () => text, ended, isOpen: () => isOpen };
    }

    it("ends those that send nothing more, and those that stop within a request", async () => {
      const part = frame("whoami", "{}").slice(0, -1);
      const idle = await Promise.all([
        client("", 0),
        client(frame("whoami", "{}"), 1),
        client(get, 1),
        client(get + frame("whoami", "{}"), 2),
      ]);
      const halves = await Promise.all([
        client(part, 0),
        client(part.slice(0, 20), 0),
        client(frame("whoami", "{}") + part, 1),
        client(get.slice(0, 40), 0),
        client(get + get.slice(0, 40), 1),
      ]);
      seconds(LIMITS.http.requestSeconds + interval);
      await Promise.all(halves.slice(0, 4).map(({ ended }) => ended));
      for (const { text } of halves.slice(0, 4)) assert.match(text(), /HTTP\/1\.1 408 [^]*$/);
      assert.deepEqual(
        idle.map(({ isOpen }) => isOpen()),
        [true, true, true, true],
      );
      seconds(LIMITS.http.keepAliveSeconds);
      await Promise.all([...idle, ...halves].map(({ ended }) => ended));
      for (const { text } of idle) assert.doesNotMatch(text(), / 408 /);
      await until(() => clock.timers === 0);
    });

    it("leaves those alone that wait for it, and those that go on", async () => {
      const head = `GET /session HTTP/1.1\r\nHost: localhost\r\nSvc-Socket-Key: ${KEY}\r\n`;
      const lease = await client(`${head}Svc-Launch-Token: ${TOKEN}\r\nSvc-Session: s1\r\n\r\n`, 1);
      const waiting = await client(frame("inbox_read", `{"group_id":"${GROUP}"}`), 0);
      const busy = await client(frame("whoami", "{}"), 1);
      for (let round = 2; round < 12; round += 1) {
        seconds(interval);
        busy.socket.write(frame("whoami", "{}"));
        while (busy.text().split("HTTP/1.1 ").length <= round) await once(busy.socket, "data");
      }
      assert.deepEqual(
        [lease, waiting, busy].map(({ isOpen }) => isOpen()),
        [true, true, true],
      );
      assert.equal(clock.timers, 1);
    });
  });

  it("reads any cut of any bytes without failing, and never sees an operation where the start differs", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.boolean(), (tail, prefixed) => {
        const bytes = Buffer.concat([Buffer.from(prefixed ? "POST /op/whoami HTTP/1.1\r\n" : ""), tail]);
        const head = readHead(bytes, 0);
        if (!prefixed && typeof head !== "string")
          assert.ok(bytes.toString("latin1").startsWith("POST /op/"));
      }),
    );
  });
});
