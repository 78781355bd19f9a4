/** A file system of a few MiB, where this process may mount one. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export class SmallDisk {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** Null where mounting isn't allowed. */
  static mount(bytes: number, mode = "0700"): SmallDisk | null {
    const path = mkdtempSync(join(tmpdir(), "svc-small-disk-"));
    const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${bytes},mode=${mode}`, "none", path]);
    if (mounted.status === 0) return new SmallDisk(path);
    rmdirSync(path);
    return null;
  }

  freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.path);
    return bavail * bsize;
  }

  /** Leaves about `left` bytes free. */
  fill(left: number): void {
    writeFileSync(join(this.path, "filler"), Buffer.alloc(Math.max(0, this.freeBytes() - left)));
  }

  free(): void {
    rmSync(join(this.path, "filler"), { force: true });
  }

  unmount(): void {
    spawnSync("umount", ["-l", this.path]);
    rmdirSync(this.path);
  }
}
