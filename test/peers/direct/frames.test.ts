import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { FrameReader } from "../../../daemon/peers/direct/frame-reader.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { BlobBytes } from "../../../shared/wire/v1/blob-bytes.ts";
import { verifies } from "../../requirements.ts";
import { encodeFrame } from "./setting.ts";

describe("frames", () => {
  it("come whole out of any pieces, and never longer than allowed", () => {
    verifies("LIM-053");
    const values = [{ a: 1 }, "x".repeat(1000), [], null, { text: "ä€😀" }];
    const bytes = Buffer.concat(values.map((value) => encodeFrame(value, 4096)));
    for (const size of [1, 2, 3, 7, 100, bytes.length]) {
      const reader = new FrameReader(4096);
      const found: unknown[] = [];
      for (let at = 0; at < bytes.length; at += size) {
        reader.push(bytes.subarray(at, at + size));
        for (let frame = reader.next(); frame !== undefined; frame = reader.next()) found.push(frame.value());
      }
      assert.deepEqual(found, values);
    }
    const reader = new FrameReader(10);
    reader.push(Buffer.from([0, 0, 0, 11]));
    assert.throws(() => reader.next(), RangeError);
    assert.throws(() => encodeFrame("x".repeat(20), 10), RangeError);
    const broken = new FrameReader(10);
    broken.push(Buffer.from([0, 0, 0, 2, 0x7b, 0x7b]));
    assert.throws(() => broken.next()?.value(), /JSON/u);
  });
});

describe("frames of a hostile peer", () => {
  const { jsonBytes, jsonValues, frameBytes } = LIMITS.direct;
  const frame = (json: string): ReturnType<FrameReader["next"]> => {
    const reader = new FrameReader(frameBytes);
    const head = Buffer.alloc(4);
    head.writeUInt32BE(json.length);
    reader.push(Buffer.concat([head, Buffer.from(json)]));
    return reader.next();
  };
  const of = (count: number, value: string): string =>
    `[${Array.from({ length: count }, () => value).join()}]`;

  it("end before a value is built, by the number of values alone", () => {
    for (const value of ["1", "{}", '""']) {
      const many = of(jsonValues, value);
      assert.ok(many.length < jsonBytes);
      assert.throws(() => frame(many), { name: "RangeError", message: /values/u });
    }
    assert.ok(frame(of(jsonValues - 2, "1")));
  });

  it("end before a value is built, by their bytes apart from files alone, and by their depth", () => {
    const value = JSON.stringify("x".repeat(4096));
    const fitting = Math.floor(jsonBytes / (value.length + 1));
    assert.ok(frame(of(fitting, value)));
    assert.throws(() => frame(of(fitting + 1, value)), { name: "RangeError", message: /bytes apart/u });
    const depth = LIMITS.body.jsonDepth + 1;
    assert.throws(() => frame("[".repeat(depth) + "]".repeat(depth)), {
      name: "RangeError",
      message: /nested/u,
    });
  });
});

describe("frames with files", () => {
  const blob = (characters: number) => ({
    sha256: "0".repeat(64),
    base64: randomBytes(characters).toString("base64").slice(0, characters),
  });
  const deliver = (text: string, ...blobs: unknown[]) => ({
    kind: "request",
    request: { proof: { request_id: "1" }, operation: { op: "deliver", message: { text }, blobs } },
  });
  /** The value of a frame that arrives in pieces of this size, as JSON has it. */
  const read = (bytes: Uint8Array, size = 50_000): unknown => {
    const reader = new FrameReader(LIMITS.direct.frameBytes);
    let value: unknown;
    for (let at = 0; at < bytes.length; at += size) {
      assert.equal(value, undefined);
      reader.push(bytes.subarray(at, at + size));
      value = reader.next()?.value();
      if (value === undefined && at + size >= 4) assert.equal(reader.held, at + size - 4);
    }
    assert.equal(reader.held, 0);
    return JSON.parse(JSON.stringify(value));
  };
  const asBytes = ({ sha256, base64 }: ReturnType<typeof blob>) => {
    const bytes = Buffer.from(base64, "base64");
    const pieces = [0, 1, 2, 7, 100_001, 100_002].map((from, at, all) => bytes.subarray(from, all[at + 1]));
    return { sha256, base64: new BlobBytes(bytes.length, sha256, () => pieces) };
  };

  it("are the same bytes as JSON, and the same value again, whatever the sizes", () => {
    for (const sizes of [[], [10], [70_000], [65_536, 3, 300_000], [4, 80_000, 8], [1_000_000, 500_000]]) {
      const blobs = sizes.map(blob);
      const value = deliver('A "base64":" in a text', ...blobs);
      const bytes = encodeFrame(value, LIMITS.direct.frameBytes);
      assert.equal(bytes.subarray(4).toString(), JSON.stringify(value));
      const mixed = blobs.map((one) => (one.base64.length % 4 === 0 ? asBytes(one) : one));
      const ofBytes = deliver('A "base64":" in a text', ...mixed);
      assert.ok(encodeFrame(ofBytes, LIMITS.direct.frameBytes).equals(bytes));
      for (const size of [1021, 16_384, 50_000, bytes.length]) assert.deepEqual(read(bytes, size), value);
    }
    const padded = deliver("x", { sha256: "1", base64: Buffer.alloc(70_000, "p").toString("base64") });
    const bytes = encodeFrame(padded, LIMITS.direct.frameBytes);
    for (const size of [1, 7]) assert.deepEqual(read(bytes, size), padded);
  });

  it("have large files as their bytes, with their digest, and other texts as they are", () => {
    const file = randomBytes(100_000);
    const base64 = file.toString("base64");
    const blobsOf = (value: unknown) => {
      const reader = new FrameReader(LIMITS.direct.frameBytes);
      reader.push(encodeFrame(value, LIMITS.direct.frameBytes));
      return (reader.next()!.value() as ReturnType<typeof deliver>).request.operation.blobs as {
        base64: unknown;
      }[];
    };
    const [read] = blobsOf(deliver("x", { sha256: "1", base64 }));
    assert.ok(read?.base64 instanceof BlobBytes);
    assert.ok(Buffer.concat([...read.base64.read()]).equals(file));
    assert.equal(read.base64.sha256, createHash("sha256").update(file).digest("hex"));
    // What isn't canonical: another alphabet, something missing, padding inside, bits behind the
    // last byte.
    for (const other of [
      `${base64.slice(0, 70_000)}-${base64.slice(70_001)}`,
      base64.slice(0, -1),
      `${base64.slice(0, 80_000)}AA==${base64.slice(80_000)}`,
      `${base64.slice(0, 80_000)}AB==`,
      `${base64.slice(0, 80_000)}ä${base64.slice(80_000)}`,
    ]) {
      assert.equal(blobsOf(deliver("x", { sha256: "1", base64: other }))[0]?.base64, other);
    }
  });

  it("are read as JSON is, escapes, spaces and strange places included", () => {
    const frame = (text: string): Buffer => {
      const head = Buffer.alloc(4);
      head.writeUInt32BE(Buffer.byteLength(text));
      return Buffer.concat([head, Buffer.from(text)]);
    };
    const long = "A".repeat(70_000);
    const { base64 } = blob(90_000);
    const value = deliver("x", { sha256: "1", base64 }, { sha256: "2", base64: `${long}//` });
    const escaped = JSON.stringify(value).replaceAll("//", "\\/\\/");
    assert.deepEqual(read(frame(escaped)), value);
    assert.deepEqual(read(frame(JSON.stringify(value, null, 1))), value);
    for (const text of [
      JSON.stringify({ base64: long }),
      JSON.stringify(deliver("x", { base64: long, sha256: "1" })).replace('"1"', `"1","base64":"${long}"`),
      JSON.stringify(deliver("x", { base64: long })).slice(0, -1),
      `"${long}"base64":"${long}"`,
    ]) {
      assert.throws(() => read(frame(text)));
    }
  });
});
