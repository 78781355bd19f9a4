import assert from "node:assert/strict";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RealFiles } from "../../platform/real-files.ts";

describe("RealFiles", () => {
  const files = new RealFiles();
  let directory: string;
  let umask: number;
  beforeEach(() => {
    directory = fs.mkdtempSync(join(tmpdir(), "svc-files-"));
    umask = process.umask();
  });
  afterEach(() => {
    process.umask(umask);
    fs.rmSync(directory, { recursive: true, force: true });
  });

  for (const mask of [0o000, 0o077, 0o777]) {
    it(`forces modes 0600 and 0700 under umask ${mask.toString(8)}`, () => {
      process.umask(mask);
      files.mkdir(join(directory, "d"));
      files.open(join(directory, "d", "f"), "create").close();
      assert.equal(files.stat(join(directory, "d"))?.mode, 0o700);
      assert.equal(files.stat(join(directory, "d", "f"))?.mode, 0o600);
    });
  }

  it("follows no symbolic link and creates nothing over an existing entry", () => {
    fs.writeFileSync(join(directory, "target"), "x");
    fs.symlinkSync(join(directory, "target"), join(directory, "link"));
    for (const mode of ["read", "write"] as const) {
      assert.throws(() => files.open(join(directory, "link"), mode), { code: "ELOOP" });
    }
    assert.throws(() => files.open(join(directory, "link"), "create"), { code: "EEXIST" });
    assert.equal(files.stat(join(directory, "link"))?.kind, "link");
    assert.equal(files.stat(join(directory, "nothing")), null);
    assert.throws(() => files.open(join(directory, "nothing"), "write"), { code: "ENOENT" });
  });

  it("reads and writes by position, truncates, and syncs files and directories", async () => {
    const path = join(directory, "f");
    const file = files.open(path, "create");
    file.write(Buffer.from("world"), 6);
    file.write(Buffer.from("hello "), 0);
    const buffer = Buffer.alloc(20);
    assert.equal(file.read(buffer, 0), 11);
    assert.equal(buffer.toString("utf8", 0, 11), "hello world");
    file.truncate(5);
    assert.equal(file.size(), 5);
    assert.equal(await new Promise((done) => file.sync(done)), null);
    file.close();
    file.close();
    files.rename(path, join(directory, "g"));
    assert.equal(await new Promise((done) => files.syncDir(directory, done)), null);
    assert.deepEqual(files.list(directory), ["g"]);
    assert.ok((await new Promise((done) => files.syncDir(join(directory, "none"), done))) instanceof Error);
  });
});
