/** Bytes that no client of ours would send, at the local socket. */
import assert from "node:assert/strict";
import { findEndpoint } from "../../client/connection.ts";
import { LIMITS } from "../../shared/limits.ts";
import { HEADERS } from "../../shared/names.ts";
import { withSeed } from "../support/chance.ts";
import { DaemonProcess } from "../support/daemon-process.ts";
import { type Exchange, type ExchangeOptions, exchange, lastBody } from "./raw.ts";
import { Sentinel } from "./sentinel.ts";

const BYTES_AT_ONCE = 64;

describe("hostile bytes at the local socket", () => {
  let daemon: DaemonProcess;
  let sentinel: Sentinel;
  let key: string;
  let path: string;

  before(async () => {
    daemon = await DaemonProcess.started();
    sentinel = await Sentinel.stand(daemon);
    ({ key, socketPath: path } = findEndpoint(daemon.home));
  });
  after(() => daemon.dispose());
  afterEach(() => sentinel.check());

  function send(parts: readonly (string | Buffer)[], options?: ExchangeOptions): Promise<Exchange> {
    return exchange({ path }, parts, options);
  }

  function request(
    body: string | Buffer,
    headers: Record<string, string> = {},
    operation = "whoami",
  ): Buffer {
    const fields = {
      host: "localhost",
      [HEADERS.socketKey]: key,
      "content-type": "application/json",
      "content-length": String(Buffer.byteLength(body)),
      ...headers,
    };
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
    return Buffer.concat([
      Buffer.from(`POST /op/${operation} HTTP/1.1\r\n${lines.join("")}\r\n`, "latin1"),
      Buffer.from(body),
    ]);
  }

  const deep = (levels: number): string => `${"[".repeat(levels)}${"]".repeat(levels)}`;

  it("refuses every credential but the key", async () => {
    const wrong = ["", "x", "0".repeat(4000), "\u00ff\u00fe"];
    for (const value of wrong) {
      const { statuses } = await send([request("{}", { [HEADERS.socketKey]: value })]);
      assert.deepEqual(statuses, [401], JSON.stringify(value.slice(0, 20)));
    }
    const without = request("{}")
      .toString("latin1")
      .replace(/svc-socket-key[^\n]*\n/, "");
    assert.deepEqual((await send([without])).statuses, [401]);
    const twice = request("{}")
      .toString("latin1")
      .replace("\r\n\r\n", `\r\n${HEADERS.socketKey}: wrong\r\n\r\n`);
    assert.deepEqual((await send([twice])).statuses, [401]);
  });

  const bodies: Record<string, [string | Buffer, number]> = {
    "no JSON": ["{", 400],
    "another value": ["[]", 400],
    null: ["null", 400],
    "an unknown field": ['{"unknown":1}', 400],
    "invalid UTF-8": [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 400],
    "overlong UTF-8": [Buffer.from([0x22, 0xc0, 0xaf, 0x22]), 400],
    "a byte order mark": ["\ufeff{}", 400],
    "a member twice": ['{"a":1,"a":1}', 400],
    __proto__: ['{"__proto__":{"kind":"user"}}', 400],
    "half of a surrogate pair": ['{"a":"\\ud800"}', 400],
    "65 levels": [deep(65), 400],
    "400,000 levels": [deep(400_000), 400],
    "the largest body": [`{"a":"${"x".repeat(LIMITS.body.jsonBytes - 8)}"}`, 400],
    "one byte too many": [`{"a":"${"x".repeat(LIMITS.body.jsonBytes - 7)}"}`, 413],
    "a number without end": [`1${"0".repeat(100_000)}`, 400],
    "trailing bytes": ["{}{}", 400],
  };
  for (const [name, [body, status]] of Object.entries(bodies)) {
    it(`refuses a body with ${name}`, async () => {
      const { bytes, statuses } = await send([request(body)]);
      assert.deepEqual(statuses, [status]);
      assert.equal((lastBody(bytes) as { ok: boolean }).ok, false);
    });
  }

  const heads: Record<string, [(good: string) => string, number[]]> = {
    "GET of an operation": [(good) => good.replace("POST", "GET"), [404, 405]],
    "an unknown operation": [(good) => good.replace("whoami", "nothing"), [404]],
    "a name from the prototype": [(good) => good.replace("whoami", "constructor"), [404]],
    "a path that climbs": [(good) => good.replace("/op/whoami", "/op/../op/whoami"), [404]],
    "an absolute target": [(good) => good.replace("/op/", "http://elsewhere/op/"), [400, 404]],
    "two lengths": [(good) => good.replace("\r\n\r\n", "\r\ncontent-length: 7\r\n\r\n"), [400]],
    "length and chunks": [
      (good) => good.replace("\r\n\r\n", "\r\ntransfer-encoding: chunked\r\n\r\n"),
      [400],
    ],
    "a signed length": [(good) => good.replace("length: 2", "length: +2"), [400]],
    "a hexadecimal length": [(good) => good.replace("length: 2", "length: 0x2"), [400]],
    "a length beyond numbers": [(good) => good.replace("length: 2", `length: ${"9".repeat(40)}`), [400, 413]],
    "a folded field": [(good) => good.replace("host: localhost", "host: localhost\r\n more"), [400]],
    "a NUL": [(good) => good.replace("localhost", "local\u0000host"), [400]],
    "bare line feeds": [(good) => good.replaceAll("\r\n", "\n"), [400]],
    "another version": [(good) => good.replace("HTTP/1.1", "HTTP/9.9"), [400, 505]],
    "no Host": [(good) => good.replace("host: localhost\r\n", ""), [400]],
    "another content type": [(good) => good.replace("application/json", "text/plain"), [415]],
    "a name of 20,000 bytes": [(good) => good.replace("whoami", "w".repeat(20_000)), [400, 404, 431]],
    "a field of 20,000 bytes": [(good) => good.replace("localhost", "l".repeat(20_000)), [431]],
    "5,000 fields": [(good) => good.replace("\r\n\r\n", `\r\n${"abcd: efgh\r\n".repeat(5000)}\r\n`), [431]],
    "the preface of HTTP/2": [() => "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", [400, 505]],
    TLS: [() => "\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003", [400]],
    "a session with odd letters": [(good) => good.replace("\r\n\r\n", "\r\nsvc-session: a b\r\n\r\n"), [400]],
    "an unknown launch token": [
      (good) => good.replace("\r\n\r\n", "\r\nsvc-launch-token: no\r\n\r\n"),
      [401],
    ],
  };
  for (const [name, [change, allowed]] of Object.entries(heads)) {
    it(`refuses ${name}`, async () => {
      const bytes = Buffer.from(change(request("{}").toString("latin1")), "latin1");
      const { statuses, closed } = await send([bytes]);
      assert.ok(
        statuses.length > 0 ? statuses.every((status) => allowed.includes(status)) : closed,
        `answered ${statuses.join()}`,
      );
    });
  }

  it("answers a request that comes byte by byte", async () => {
    const bytes = request("{}");
    const { statuses } = await send(Array.from(bytes, (byte) => Buffer.from([byte])));
    assert.deepEqual(statuses, [200]);
  });

  it("answers 2,000 requests of one connection in order", async () => {
    const operations = Array.from({ length: 2000 }, (_, index) =>
      index % 3 === 0 ? "whoami" : "daemon_status",
    );
    const { statuses, bytes } = await send(
      operations.map((operation) => request("{}", {}, operation)),
      { answers: operations.length },
    );
    assert.equal(statuses.length, operations.length);
    assert.ok(statuses.every((status) => status === 200));
    const kinds = [...bytes.toString("utf8").matchAll(/\{"ok":true,"result":\{"(kind|running)"/g)].map(
      (match) => (match[1] === "kind" ? "whoami" : "daemon_status"),
    );
    assert.deepEqual(kinds, operations);
  });

  it("takes no second request out of the body of a refused one", async () => {
    const inner = request('{"title":"smuggled"}', {}, "group_create").toString("latin1");
    for (const outer of [
      request(inner, { "content-type": "text/plain" }),
      request(inner, { [HEADERS.socketKey]: "wrong" }),
      request(inner, { "transfer-encoding": "chunked" }),
      request(inner, { "content-length": "0", "transfer-encoding": "identity" }),
    ]) {
      await send([outer], { answers: 2, milliseconds: 500 });
    }
    const { groups } = await daemon.client().result("group_list", {});
    assert.ok(!groups.some(({ title }) => title === "smuggled"));
  });

  it("lives through connections that end or stay anywhere in a request", async () => {
    const whole = request('{"title":"half"}', {}, "group_create");
    const cuts = Array.from({ length: whole.length - 1 }, (_, cut) => cut);
    const { groups: before } = await daemon.client().result("group_list", {});
    await Promise.all(
      cuts.map((cut) => send([whole.subarray(0, cut)], { halfClose: true, milliseconds: 1500 })),
    );
    const { groups } = await daemon.client().result("group_list", {});
    assert.equal(groups.length, before.length, "half a request was carried out");
  });

  it("lives through random bytes and random damage", async () => {
    await withSeed(async (chance) => {
      const good = request("{}");
      for (let round = 0; round < 20; round++) {
        const attacks = Array.from({ length: BYTES_AT_ONCE }, () => {
          if (chance.happens(0.3))
            return Buffer.from(Array.from({ length: 1 + chance.below(400) }, () => chance.below(256)));
          const bytes = Buffer.from(good);
          for (let change = 0; change <= chance.below(3); change++)
            bytes[chance.below(bytes.length)] = chance.below(256);
          return bytes;
        });
        await Promise.all(attacks.map((bytes) => send([bytes], { halfClose: true, milliseconds: 5000 })));
      }
    });
  });

  it("isn't held up by connections that never say anything", async () => {
    const silent = Array.from({ length: 300 }, () =>
      send([request("{}").subarray(0, 40)], { milliseconds: 1500 }),
    );
    const { statuses } = await send([request("{}")]);
    assert.deepEqual(statuses, [200]);
    await Promise.all(silent);
  });
});
