import assert from "node:assert/strict";
import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RealProjectFiles } from "../../platform/real-project-files.ts";

describe("RealProjectFiles", () => {
  let folder: string;
  let project: string;
  let files: RealProjectFiles;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "svc-project-files-"));
    project = join(folder, "project");
    mkdirSync(join(project, "deep"), { recursive: true });
    mkdirSync(join(folder, "home/daemon"), { recursive: true });
    writeFileSync(join(folder, "home/daemon/lock"), "");
    writeFileSync(join(project, "deep/file"), "inside");
    files = new RealProjectFiles(join(folder, "home"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  function read(...components: string[]): string {
    const file = files.openBelow(project, components, "read");
    const bytes = Buffer.alloc(100);
    const got = file.read(bytes, 0);
    file.close();
    return bytes.toString("utf8", 0, got);
  }

  it("opens files below a root, whatever hard links they have", () => {
    linkSync(join(project, "deep/file"), join(project, "again"));
    assert.equal(read("deep", "file"), "inside");
    assert.equal(read("again"), "inside");
  });

  it("follows no link on the way and opens nothing but files", () => {
    symlinkSync(join(project, "deep"), join(project, "link"));
    symlinkSync(join(project, "deep/file"), join(project, "deep/link"));
    for (const way of [
      ["link", "file"],
      ["deep", "link"],
      ["deep"],
      ["..", "home"],
      ["."],
      [""],
      ["deep/file"],
      [],
    ]) {
      assert.throws(() => read(...way), way.join(" "));
    }
  });

  it("knows nothing of the Home", () => {
    for (const path of ["home", "home/daemon", "home/daemon/lock"]) {
      assert.equal(files.canonical(join(folder, path)), null);
    }
    symlinkSync(join(folder, "home"), join(project, "way"));
    assert.equal(files.canonical(join(project, "way/daemon/lock")), null);
  });

  it("never opens the Home's lock, by whatever name: closing it again would drop it", () => {
    linkSync(join(folder, "home/daemon/lock"), join(project, "deep/other"));
    assert.throws(() => read("deep", "other"), { code: "EACCES" });
  });
});
