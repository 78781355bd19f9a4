import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import type { FileStore } from "../../daemon/http/api/files.ts";
import { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import { API_PREFIX } from "../../shared/names.ts";
import { until } from "../support/until.ts";
import { GROUP, OTHER, openSetting, type Setting } from "./setting.ts";

const ADMIN = "admin-token";
const UPLOADS = `${API_PREFIX}/groups/${GROUP}/uploads`;

/** Files in memory, with a note of every upload that was begun and how it ended. */
class MemoryFiles implements FileStore {
  readonly files = new Map<string, Buffer>();
  readonly uploads: { name: string; mime_type: string; ended: "kept" | "failed" | null; most: number }[] = [];

  async upload(
    _groupId: string,
    chunks: AsyncIterable<Uint8Array>,
    file: { name: string; mime_type: string },
  ) {
    const note: MemoryFiles["uploads"][number] = { ...file, ended: null, most: 0 };
    this.uploads.push(note);
    const parts: Uint8Array[] = [];
    try {
      for await (const chunk of chunks) {
        parts.push(chunk);
        note.most = Math.max(note.most, chunk.length);
      }
    } catch (error) {
      note.ended = "failed";
      throw error;
    }
    const bytes = Buffer.concat(parts);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    this.files.set(sha256, bytes);
    note.ended = "kept";
    return { path: `state/blobs/${sha256}`, ...file, bytes: bytes.length, sha256 };
  }

  openBlob(_groupId: string, sha256: string, range?: { start: number; end: number }) {
    const whole = this.files.get(sha256);
    if (whole === undefined) throw new Refusal("blob_not_found");
    const { start, end } = range ?? { start: 0, end: whole.length };
    async function* chunks(): AsyncGenerator<Uint8Array> {
      for (let at = start; at < end; at += 1000) yield whole!.subarray(at, Math.min(end, at + 1000));
    }
    return { bytes: whole.length, start, end, ready: async () => {}, chunks: chunks() };
  }
}

describe("files over HTTP", () => {
  let setting: Setting;
  let files: MemoryFiles;
  let workbench: string;
  const headers = { authorization: `Bearer ${ADMIN}` };

  beforeEach(async () => {
    workbench = mkdtempSync(join(tmpdir(), "svc-workbench-"));
    writeFileSync(join(workbench, "index.html"), "<!doctype html>page");
    writeFileSync(join(workbench, "chunk-ABCD1234.js"), "1");
    writeFileSync(join(workbench, "main.js"), "2");
    writeFileSync(join(workbench, ".hidden"), "3");
    files = new MemoryFiles();
    setting = await openSetting({ files, workbench });
    setting.tokens.add(ADMIN, "administrator");
    setting.tokens.add("member", "restricted", [GROUP]);
  });
  afterEach(async () => {
    await setting.close();
    rmSync(workbench, { recursive: true });
  });

  async function put(bytes: Buffer, query = "", type = "image/png"): Promise<string> {
    const answer = await setting.send("POST", UPLOADS + query, {
      headers: { ...headers, "content-type": type },
      raw: bytes,
    });
    assert.equal(answer.status, 200, answer.text);
    return (answer.result as { sha256: string }).sha256;
  }

  it("streams an upload in, with its name and type, and the file out again", async () => {
    const bytes = randomBytes(3_000_000);
    const sha256 = await put(bytes, `?name=${encodeURIComponent("päck/../x.png")}`);
    assert.equal(sha256, createHash("sha256").update(bytes).digest("hex"));
    const [note] = files.uploads;
    assert.deepEqual([note!.name, note!.mime_type, note!.ended], ["päck/../x.png", "image/png", "kept"]);
    assert.ok(note!.most < 200_000, "never whole in memory");
    const back = await setting.send("GET", `${API_PREFIX}/groups/${GROUP}/blobs/${sha256}`, { headers });
    assert.equal(back.headers["content-length"], String(bytes.length));
  });

  it("refuses an upload without a length, too long, cut off, by the wrong caller, or oddly named", async () => {
    const chunked = { ...headers, "transfer-encoding": "chunked" };
    const socket = connect(setting.port, "127.0.0.1");
    let text = "";
    socket.on("data", (chunk: Buffer) => (text += chunk.toString()));
    const head = (fields: Record<string, string>) =>
      `POST ${UPLOADS} HTTP/1.1\r\nHost: localhost:${setting.port}\r\n${Object.entries(fields)
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join("")}\r\n`;
    socket.write(`${head(chunked)}3\r\nabc\r\n0\r\n\r\n`);
    await until(() => text.includes("length_required"));
    assert.match(text, /^HTTP\/1\.1 411 /);
    socket.destroy();

    const long = connect(setting.port, "127.0.0.1");
    let said = "";
    long.on("data", (chunk: Buffer) => (said += chunk.toString()));
    long.write(head({ ...headers, "content-length": String(LIMITS.attachment.uploadBytes + 1) }));
    await until(() => said.includes("too_large"));
    long.destroy();

    const cut = connect(setting.port, "127.0.0.1");
    cut.write(`${head({ ...headers, "content-length": "1000" })}only a part`);
    await until(() => files.uploads.length === 1);
    cut.destroy();
    await until(() => files.uploads[0]!.ended === "failed");
    assert.equal(files.files.size, 0);

    const foreign = UPLOADS.replace(GROUP, OTHER);
    const member = { authorization: "Bearer member" };
    assert.equal((await setting.send("POST", foreign, { headers: member, raw: "x" })).status, 404);
    for (const [query, problem] of [
      ["?name=", "'name' is empty."],
      ["?name=a%00b", "'name' contains a NUL."],
      ["?other=1", "'other' isn't a parameter of this address."],
      ["?name=a&name=b", "'name' may be given only once."],
      [`?name=${"x".repeat(4097)}`, "'name' is longer than"],
    ] as const) {
      const refused = await setting.send("POST", UPLOADS + query, { headers, raw: "x" });
      assert.deepEqual([refused.status, refused.code], [400, "invalid_args"], query);
      assert.ok(refused.text.includes(problem), refused.text);
    }
  });

  it("gives up on an upload that stalls", async () => {
    const socket = connect(setting.port, "127.0.0.1");
    let closed = false;
    socket.on("close", () => (closed = true)).on("error", () => {});
    socket.write(
      `POST ${UPLOADS} HTTP/1.1\r\nHost: localhost:${setting.port}\r\nAuthorization: Bearer ${ADMIN}\r\nContent-Length: 100\r\n\r\nabc`,
    );
    await until(() => files.uploads.length === 1);
    // Every chunk that still comes begins the time anew.
    await until(() => {
      setting.clock.advance(LIMITS.attachment.stallSeconds * 1000);
      return closed && files.uploads[0]!.ended === "failed";
    });
  });

  it("serves ranges as RFC 9110 has them", async () => {
    const bytes = Buffer.from(Array.from({ length: 5000 }, (_, index) => `${index % 10}`).join(""));
    const path = `${API_PREFIX}/groups/${GROUP}/blobs/${await put(bytes)}`;
    const ask = (range: string, more: Record<string, string> = {}) =>
      setting.send("GET", path, { headers: { ...headers, range, ...more } });
    for (const [range, from, to] of [
      ["bytes=0-0", 0, 1],
      ["bytes=10-19", 10, 20],
      ["bytes=4990-", 4990, 5000],
      ["bytes=-7", 4993, 5000],
      ["bytes=4000-999999", 4000, 5000],
      ["bytes=-999999", 0, 5000],
    ] as const) {
      const answer = await ask(range);
      assert.equal(answer.status, 206, range);
      assert.equal(answer.headers["content-range"], `bytes ${from}-${to - 1}/5000`);
      assert.equal(answer.text, bytes.toString("latin1").slice(from, to));
    }
    for (const range of ["bytes=5000-", "bytes=-0"]) {
      const answer = await ask(range);
      assert.deepEqual([answer.status, answer.headers["content-range"]], [416, "bytes */5000"], range);
    }
    for (const range of ["bytes=9-3", "bytes=0-1,5-6", "items=0-1", "bytes=x-"]) {
      assert.equal((await ask(range)).status, 200, range);
    }
    assert.equal((await ask("bytes=0-1", { "if-range": '"other"' })).status, 200);
    const head = await setting.send("HEAD", path, { headers });
    assert.deepEqual([head.status, head.headers["content-length"], head.text], [200, "5000", ""]);
  });

  it("makes every file a harmless download but named images", async () => {
    const path = `${API_PREFIX}/groups/${GROUP}/blobs/${await put(Buffer.from("<script>alert(1)</script>"), "", "text/html")}`;
    for (const query of [
      "",
      "?type=text/html",
      "?type=image/svg%2Bxml",
      "?name=x.html",
      "?type=application/pdf",
    ]) {
      const { headers: given, status } = await setting.send("GET", path + query, { headers });
      assert.equal(status, 200);
      assert.equal(given["content-type"], "application/octet-stream", query);
      assert.match(String(given["content-disposition"]), /^attachment/);
      assert.match(String(given["content-security-policy"]), /sandbox/);
      assert.equal(given["x-content-type-options"], "nosniff");
    }
    const image = await setting.send(
      "GET",
      `${path}?type=image/png&name=${encodeURIComponent('a"\r\nSet-Cookie: x')}`,
      { headers },
    );
    assert.equal(image.headers["content-type"], "image/png");
    assert.match(String(image.headers["content-disposition"]), /^inline; filename="a___Set-Cookie_ x"/);
    assert.equal(image.headers["set-cookie"], undefined);
  });

  it("serves the Workbench's files as small as the client takes them", async () => {
    const text = "export const text = 1;\n".repeat(200);
    writeFileSync(join(workbench, "main.js"), text);
    writeFileSync(join(workbench, "main.js.br"), brotliCompressSync(text));
    writeFileSync(join(workbench, "main.js.gz"), gzipSync(text));
    const load = async (path: string, accepted: string) => {
      const answer = await fetch(`http://127.0.0.1:${setting.port}${path}`, {
        headers: { "accept-encoding": accepted },
      });
      const { headers: given } = answer;
      assert.equal(given.get("vary"), "Accept-Encoding");
      assert.match(String(given.get("content-type")), /javascript/);
      return { text: await answer.text(), encoding: given.get("content-encoding"), given };
    };
    for (const [accepted, encoding] of [
      ["gzip, deflate, br, zstd", "br"],
      ["gzip", "gzip"],
      ["br;q=0, gzip;q=0.5", "gzip"],
      ["identity", null],
    ] as const) {
      const answer = await load("/main.js", accepted);
      assert.deepEqual([answer.text, answer.encoding], [text, encoding], accepted);
      assert.equal(answer.given.get("cache-control"), "no-cache");
    }
    // One that isn't there in a compressed form.
    const plain = await load("/chunk-ABCD1234.js", "br");
    assert.deepEqual([plain.text, plain.encoding], ["1", null]);
    assert.match(String(plain.given.get("cache-control")), /immutable/);
    assert.equal(
      (await setting.send("GET", "/gone.js", { headers: { "accept-encoding": "br" } })).status,
      404,
    );
  });

  it("serves the Workbench's files, and nothing around them", async () => {
    const outside = mkdtempSync(join(tmpdir(), "svc-outside-"));
    writeFileSync(join(outside, "secret"), "outside");
    mkdirSync(join(workbench, "assets"));
    symlinkSync(outside, join(workbench, "assets", "link"));
    for (const path of ["/", "/ui", "/ui/groups/anything"]) {
      const page = await setting.send("GET", path);
      assert.deepEqual(
        [page.status, page.text, page.headers["cache-control"]],
        [200, "<!doctype html>page", "no-cache"],
        path,
      );
    }
    const chunk = await setting.send("GET", "/chunk-ABCD1234.js");
    assert.match(String(chunk.headers["cache-control"]), /immutable/);
    assert.match(String(chunk.headers["content-type"]), /javascript/);
    assert.equal((await setting.send("GET", "/main.js")).headers["cache-control"], "no-cache");
    for (const path of [
      "/.hidden",
      "/../package.json",
      "/..%2fpackage.json",
      "/assets/..%2f..%2fetc/passwd",
      "/assets",
      "/%2e%2e/x",
    ]) {
      const answer = await setting.send("GET", path);
      assert.ok([400, 404].includes(answer.status), `${path}: ${answer.status}`);
    }
    assert.equal((await setting.send("POST", "/")).status, 404);
    rmSync(outside, { recursive: true });
  });
});
