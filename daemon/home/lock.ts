/** One daemon per Home (issue: Home and ledger). */
import type { Clock } from "../platform/clock.ts";
import type { Files } from "../platform/files.ts";
import type { Host } from "./endpoint.ts";
import type { HomePaths } from "./paths.ts";

/** Another daemon holds the Home. */
export class HomeLocked extends Error {
  readonly pid: number | null;
  readonly socket: string | null;

  constructor(root: string, pid: number | null, socket: string | null) {
    super(`A daemon already runs for ${root}: process ${pid ?? "unknown"}, socket ${socket ?? "unknown"}.`);
    this.name = "HomeLocked";
    this.pid = pid;
    this.socket = socket;
  }
}

export class HomeLock {
  /** Throws HomeLocked when another process holds it. Frees itself when the process ends, however it ends. */
  static acquire(_deps: { files: Files; clock: Clock; host: Host }, _paths: HomePaths): Promise<HomeLock> {
    throw new Error("not yet");
  }
  release(): void {
    throw new Error("not yet");
  }
}
