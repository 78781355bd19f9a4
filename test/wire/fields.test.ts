import assert from "node:assert/strict";
import * as fc from "fast-check";
import type * as z from "zod";
import { parseStrictJsonBytes, StrictJsonError } from "../../shared/strict-json.ts";
import { fromBase64, fromBase64Url, toBase64, toBase64Url } from "../../shared/wire/v1/base64.ts";
import {
  ConnectionId,
  DirectId,
  InstanceId,
  isDirect,
  PageOrigin,
  PublicKey,
  ServiceOrigin,
  Signature,
  Uuid,
  WireGroupId,
} from "../../shared/wire/v1/fields.ts";
import { compareUtf8, sortedJson } from "../../shared/wire/v1/sorted-json.ts";
import { EmittedTime, milliseconds, nanoseconds, Time } from "../../shared/wire/v1/time.ts";
import { uuidKey } from "../../shared/wire/v1/uuid.ts";
import { verifies } from "../requirements.ts";
import { ada } from "./sample.ts";

function takes(schema: z.ZodType, values: readonly unknown[]): void {
  for (const value of values) assert.ok(schema.safeParse(value).success, `refused: ${String(value)}`);
}

function refuses(schema: z.ZodType, values: readonly unknown[]): void {
  for (const value of values) assert.ok(!schema.safeParse(value).success, `taken: ${String(value)}`);
}

describe("base64 of the wire", () => {
  it("has one text for every value", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        assert.equal(toBase64(bytes), Buffer.from(bytes).toString("base64"));
        assert.equal(toBase64Url(bytes), Buffer.from(bytes).toString("base64url"));
        assert.deepEqual(fromBase64(toBase64(bytes)), bytes);
        assert.deepEqual(fromBase64Url(toBase64Url(bytes)), bytes);
      }),
    );
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.constantFrom("A", "B", "/", "+", "-", "_", "=", "Q", "g", " ", "\n"),
          maxLength: 8,
        }),
        (text) => {
          const standard = fromBase64(text);
          assert.ok(standard === null || toBase64(standard) === text);
          const url = fromBase64Url(text);
          assert.ok(url === null || toBase64Url(url) === text);
        },
      ),
    );
  });

  it("refuses padding and alphabet of the other form, white space and surplus bits", () => {
    for (const text of ["Zg", "Zg=", "Zh==", "Z", "Zg==\n", " Zg==", "Zg===", "_-8=", "Zgé="])
      assert.equal(fromBase64(text), null, text);
    for (const text of ["Zg==", "Zh", "Z", "Zg ", "+/8", "Zgé"])
      assert.equal(fromBase64Url(text), null, text);
  });
});

describe("times of the wire", () => {
  it("are RFC 3339 with any offset and up to nine fraction digits, kept as they are", () => {
    const same = [
      "2026-03-01T10:00:00Z",
      "2026-03-01t10:00:00.000z",
      "2026-03-01T10:00:00.0-00:00",
      "2026-03-01T12:30:00.000000000+02:30",
      "2026-02-28T23:00:00-11:00",
    ];
    for (const time of same) {
      assert.equal(Time.parse(time), time);
      assert.equal(milliseconds(time), Date.UTC(2026, 2, 1, 10));
    }
    assert.equal(nanoseconds("1970-01-01T00:00:00.000000001Z"), 1n);
    assert.equal(nanoseconds("2026-03-01T10:00:00.123456789Z") % 1_000_000_000n, 123_456_789n);
    assert.equal(milliseconds("2016-12-31T23:59:60Z"), Date.UTC(2017, 0, 1));
    assert.equal(milliseconds("0000-01-01T00:00:00Z"), Date.parse("0000-01-01T00:00:00Z"));
    takes(Time, ["2024-02-29T00:00:00Z", "2000-02-29T00:00:00Z", "9999-12-31T23:59:59.999999999+23:59"]);
  });

  it("are nothing else", () => {
    const wrong = [
      "2026-02-29T00:00:00Z",
      "1900-02-29T00:00:00Z",
      "2026-04-31T00:00:00Z",
      "2026-13-01T00:00:00Z",
      "2026-00-01T00:00:00Z",
      "2026-01-00T00:00:00Z",
      "2026-01-01T24:00:00Z",
      "2026-01-01T00:60:00Z",
      "2026-01-01T00:00:61Z",
      "2026-01-01T00:00:60Z",
      "2026-01-01T00:00:00",
      "2026-01-01T00:00:00.Z",
      "2026-01-01T00:00:00,5Z",
      "2026-01-01T00:00:00.1234567890Z",
      "2026-01-01T00:00:00+24:00",
      "2026-01-01T00:00:00+01:60",
      "2026-01-01T00:00:00+0100",
      "2026-01-01 00:00:00Z",
      "2026-01-01",
      "02026-01-01T00:00:00Z",
      "2026-01-01T00:00:00Z\n",
      "٢026-01-01T00:00:00Z",
      "",
      1_767_225_600_000,
    ];
    refuses(Time, wrong);
    assert.throws(() => nanoseconds("2026-02-29T00:00:00Z"), RangeError);
  });

  it("agree with the platform wherever that reads them", () => {
    const day = fc.date({
      min: new Date("0001-01-01T00:00:00Z"),
      max: new Date("9998-12-31T00:00:00Z"),
      noInvalidDate: true,
    });
    fc.assert(fc.property(day, (date) => milliseconds(date.toISOString()) === date.getTime()));
  });

  it("have one form alone in a registration", () => {
    takes(EmittedTime, ["2026-03-01T10:00:00.000Z"]);
    refuses(EmittedTime, [
      "2026-03-01T10:00:00Z",
      "2026-03-01T10:00:00.00Z",
      "2026-03-01T10:00:00.0000Z",
      "2026-03-01T10:00:00.000z",
      "2026-03-01T10:00:00.000+00:00",
      "2026-02-30T10:00:00.000Z",
    ]);
  });
});

describe("fields of the wire", () => {
  it("are UUIDs with and without dashes, of one key", () => {
    verifies("PROOF-012");
    const dashed = "0b7e6a52-5d4c-4c6e-9a51-d0c5b1f1a001";
    takes(Uuid, [dashed, dashed.replaceAll("-", ""), dashed.toUpperCase()]);
    refuses(Uuid, [
      "",
      "request-1",
      `${dashed}0`,
      dashed.slice(1),
      `{${dashed}}`,
      dashed.replace("-", ""),
      `${dashed}\n`,
    ]);
    assert.equal(uuidKey(dashed.toUpperCase()), uuidKey(dashed.replaceAll("-", "")));
  });

  it("are connection ids of accounts and of Direct", () => {
    const uuid = "0b7e6a52-5d4c-4c6e-9a51-d0c5b1f1a001";
    takes(ConnectionId, [uuid, `direct-${uuid}`]);
    takes(DirectId, [`direct-${uuid}`]);
    refuses(DirectId, [uuid, "direct-", `direct-${uuid}/..`, `Direct-${uuid}`]);
    assert.ok(isDirect(`direct-${uuid}`));
    assert.ok(!isDirect(uuid) && !isDirect(undefined));
  });

  it("are instance ids of Ed25519 keys alone", () => {
    verifies("ID-022");
    takes(InstanceId, [ada.instance_id]);
    const other = `${ada.instance_id.slice(0, -1)}${ada.instance_id.endsWith("x") ? "y" : "x"}`;
    takes(InstanceId, [other]);
    refuses(InstanceId, [
      "",
      ada.instance_id.slice(1),
      `1${ada.instance_id}`,
      ada.instance_id.slice(0, -1),
      `${ada.instance_id}1`,
      ada.instance_id.replace(/.$/u, "0"),
      `Qm${ada.instance_id.slice(2)}`,
      "1".repeat(4096),
    ]);
  });

  it("are keys of 32 bytes and signatures of 64 in canonical base64", () => {
    takes(PublicKey, [toBase64(new Uint8Array(32))]);
    refuses(PublicKey, [
      toBase64(new Uint8Array(31)),
      toBase64(new Uint8Array(33)),
      toBase64Url(new Uint8Array(32)),
      "",
    ]);
    takes(Signature, [toBase64(new Uint8Array(64))]);
    refuses(Signature, [toBase64(new Uint8Array(32)), "A".repeat(88), "=".repeat(10_000)]);
  });

  it("are canonical origins", () => {
    takes(ServiceOrigin, [
      "https://a.example",
      "https://a.example:8443",
      "http://127.0.0.1:8850",
      "http://[::1]:1",
      "http://localhost",
    ]);
    refuses(ServiceOrigin, [
      "http://a.example",
      "https://a.example/",
      "https://A.example",
      "https://a.example:443",
      "https://user@a.example",
      "https://a.example?x",
      "https://a.example#x",
      "ftp://a.example",
      "http://127.0.0.1.a.example",
      "http://localhost.a.example",
      "null",
      "",
      `https://${"a.".repeat(400)}example`,
    ]);
    takes(PageOrigin, ["http://192.0.2.1:8848", "https://a.example"]);
    refuses(PageOrigin, ["file:///", "http://a.example/", "null"]);
  });

  it("are Group ids that can't lead out of a folder", () => {
    takes(WireGroupId, ["g", "g_0123456789ab", "any group: 7", "g".repeat(128)]);
    refuses(WireGroupId, ["", "a/b", "a\\b", "g".repeat(129), "é".repeat(65), "\ud800"]);
  });
});

describe("JSON at the door", () => {
  const strict = (text: string) => parseStrictJsonBytes(new TextEncoder().encode(text));

  it("refuses members that come twice, halves of pairs and bytes that aren't UTF-8", () => {
    assert.deepEqual(strict('{"op":"catalog","after":null}'), { op: "catalog", after: null });
    for (const text of [
      '{"op":"a","op":"a"}',
      '{"op":"a","\\u006fp":"b"}',
      '{"a":"\\ud83d"}',
      '{"\\udc00":1}',
    ])
      assert.throws(() => strict(text), StrictJsonError, text);
    assert.throws(() => parseStrictJsonBytes(Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22)), StrictJsonError);
    assert.throws(() => parseStrictJsonBytes(Uint8Array.of(0x22, 0xc0, 0xaf, 0x22)), StrictJsonError);
  });
});

describe("JSON with sorted members", () => {
  it("orders by UTF-8 bytes, unlike UTF-16", () => {
    const unit = fc.constantFrom("a", "b", "é", "\ud7ff", "\ue000", "\uffff", "\u{10000}", "\u{10ffff}");
    const text = fc.string({ unit, maxLength: 4 });
    fc.assert(
      fc.property(text, text, (one, other) => {
        const bytes = Buffer.compare(Buffer.from(one), Buffer.from(other));
        assert.equal(Math.sign(compareUtf8(one, other)), bytes);
      }),
    );
  });

  it("is the same text for the same value in any order, and says the same", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const turned = (part: unknown): unknown => {
          if (Array.isArray(part)) return part.map(turned);
          if (typeof part !== "object" || part === null) return part;
          const entries = Object.entries(part).reverse();
          return Object.fromEntries(entries.map(([name, member]) => [name, turned(member)]));
        };
        const plain = JSON.parse(JSON.stringify(value)) as unknown;
        assert.equal(sortedJson(turned(plain)), sortedJson(plain));
        assert.deepEqual(JSON.parse(sortedJson(plain)), plain);
      }),
    );
  });
});
