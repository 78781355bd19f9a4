/** A folder for PATH with an agent in it. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const AGENT = join(import.meta.dirname, "../runtimes/fake-agent.mjs");

/** A `claude` for PATH that behaves as the real one does towards the daemon. */
export function agentFolder(log: string): string {
  const folder = mkdtempSync(join(tmpdir(), "svc-agents-"));
  const setting = JSON.stringify({ log, keeps: true });
  writeFileSync(
    join(folder, "claude"),
    `#!/bin/sh\nif [ "$1" = --version ]; then echo '2.1.329 (Claude Code)'; exit; fi\nFAKE_AGENT='${setting}' exec '${process.execPath}' '${AGENT}' "$@"\n`,
    { mode: 0o755 },
  );
  return folder;
}
