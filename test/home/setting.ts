/** What tests of the Home share: real directories that go away afterwards. */
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { currentHost } from "../../client/endpoint.ts";
import type { HomeDependencies } from "../../daemon/home/home.ts";
import { RealClock } from "../../platform/real-clock.ts";
import { RealFiles } from "../../platform/real-files.ts";
import { RealRandom } from "../../platform/real-random.ts";

const made: string[] = [];

/** A new empty directory with mode 0700. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "svc-test-"));
  made.push(directory);
  return directory;
}

/** For `after`. */
export function removeTemporaryDirectories(): void {
  for (const directory of made.splice(0)) rmSync(directory, { recursive: true, force: true });
}

export function realDependencies(): HomeDependencies {
  return {
    files: new RealFiles(),
    clock: new RealClock(),
    random: new RealRandom(),
    host: currentHost(),
    chmod: chmodSync,
  };
}
