/**
 * What reads text from outside, against any text: strict JSON, the names of a listener, an origin.
 */
import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import * as fc from "fast-check";
import { canonicalHttpsOrigin, siteOf } from "../../platform/http/site.ts";
import { parseStrictJson, parseStrictJsonBytes, StrictJsonError } from "../../shared/strict-json.ts";
import { seedOfRun } from "../support/chance.ts";

const RUNS = 3000;

const parameters = { seed: seedOfRun(), numRuns: RUNS };

const text = fc.string({ unit: "grapheme", maxLength: 12 });
const name = fc.oneof(text, fc.constantFrom("a", "b", ':"', "\\", '\\"', "a:b", "constructor", "toString"));
const { json } = fc.letrec((tie) => ({
  json: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom<unknown>(null, true, false, 0, -0.5, 1e300),
    text,
    fc.array(tie("json"), { maxLength: 4 }),
    fc.dictionary(
      name.filter((key) => key !== "__proto__"),
      tie("json"),
      { maxKeys: 4 },
    ),
  ),
}));

/** The same value written with other spaces and escapes. */
function respelt(value: unknown, spaces: number, escapes: boolean): string {
  const plain = JSON.stringify(value, null, spaces);
  if (!escapes) return plain;
  return plain.replaceAll(
    /[a-z](?=[^"\\]*"\s*:)/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** What JSON.parse makes of it, or that it isn't JSON. */
function forgiving(source: string): { value: unknown } | null {
  try {
    return { value: JSON.parse(source) };
  } catch {
    return null;
  }
}

function strict(source: string): { value: unknown } | null {
  try {
    return { value: parseStrictJson(source) };
  } catch (error) {
    assert.ok(error instanceof StrictJsonError, String(error));
    return null;
  }
}

describe("strict JSON", () => {
  it("reads every value however it is written", () => {
    fc.assert(
      fc.property(json, fc.integer({ min: 0, max: 3 }), (value, spaces) => {
        const expected: unknown = JSON.parse(JSON.stringify(value));
        assert.deepEqual(parseStrictJson(respelt(value, spaces, false)), expected);
        assert.deepEqual(parseStrictJsonBytes(Buffer.from(respelt(value, spaces, false))), expected);
      }),
      parameters,
    );
  });

  it("refuses a member twice, wherever it stands and however it is spelt", () => {
    fc.assert(
      fc.property(name, json, json, fc.boolean(), fc.nat(3), (member, one, two, escaped, wrapped) => {
        fc.pre(member !== "__proto__");
        const again = escaped
          ? `"${Array.from({ length: member.length }, (_, at) => `\\u${member.charCodeAt(at).toString(16).padStart(4, "0")}`).join("")}"`
          : JSON.stringify(member);
        let source = `{${JSON.stringify(member)}:${JSON.stringify(one)},"between":1,${again}:${JSON.stringify(two)}}`;
        for (let level = 0; level < wrapped; level++) source = `[${source},{"x":":"}]`;
        assert.throws(() => parseStrictJson(source), StrictJsonError);
      }),
      parameters,
    );
  });

  it("reads no damaged text differently than JSON.parse", () => {
    fc.assert(
      fc.property(json, fc.nat(), fc.string({ maxLength: 2 }), (value, place, insert) => {
        const whole = JSON.stringify(value);
        const at = place % (whole.length + 1);
        for (const source of [
          whole.slice(0, at) + insert + whole.slice(at),
          whole.slice(0, at) + whole.slice(at + 1),
        ]) {
          const read = strict(source);
          if (read !== null) assert.deepEqual(read, forgiving(source));
        }
      }),
      parameters,
    );
  });

  it("refuses or reads any bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        try {
          parseStrictJsonBytes(bytes);
        } catch (error) {
          assert.ok(error instanceof StrictJsonError);
        }
      }),
      parameters,
    );
  });
});

describe("the names of a listener", () => {
  const listener = {
    secure: false,
    host: "127.0.0.1",
    port: 8848,
    manualOrigin: () => "https://svc.example",
  };
  const own = ["127.0.0.1:8848", "localhost:8848", "[::1]:8848"];

  function site(host: string) {
    return siteOf(
      {
        url: "/",
        headers: { host },
        rawHeaders: ["Host", host],
        socket: { localAddress: "127.0.0.1" },
      } as IncomingMessage,
      listener,
    );
  }

  it("are itself and the manual origin, and nothing near them", () => {
    for (const host of own) assert.equal(site(host)?.origin, `http://${host}`);
    assert.equal(site("svc.example")?.secure, true);
    const near = fc.oneof(
      fc.webAuthority({ withPort: true, withUserInfo: true, withIPv4Extended: true, withIPv6: true }),
      fc
        .tuple(fc.constantFrom(...own, "svc.example"), fc.nat(20), fc.string({ minLength: 1, maxLength: 3 }))
        .map(([host, place, insert]) => host.slice(0, place) + insert + host.slice(place)),
      fc.string({ maxLength: 30 }),
    );
    fc.assert(
      fc.property(near, (host) => {
        const found = site(host);
        if (found === null) return;
        const allowed = [...own, "svc.example", "svc.example:443"];
        assert.ok(allowed.includes(host.toLowerCase()), `'${host}' passes as ${found.origin}`);
      }),
      parameters,
    );
  });

  it("has an origin that is canonical or none", () => {
    const url = fc.oneof(
      fc.webUrl({ withQueryParameters: true, withFragments: true }),
      fc.string({ maxLength: 40 }),
    );
    fc.assert(
      fc.property(url, (source) => {
        const origin = canonicalHttpsOrigin(source);
        if (origin === null) return;
        assert.match(origin, /^https:\/\/[^/?#@]+$/);
        assert.equal(canonicalHttpsOrigin(origin), origin);
      }),
      parameters,
    );
  });
});
