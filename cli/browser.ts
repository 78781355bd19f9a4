/** Opens a page in the person's browser. */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { homePaths } from "../client/paths.ts";
import { LIMITS } from "../shared/limits.ts";
import type { CommandContext } from "./context.ts";

const PREFIX = "open-";

/** Programs that open a file in the browser. None where there is no screen. */
function opener(): string[] | null {
  if (process.platform === "darwin") return ["open"];
  if (process.platform === "win32") return ["cmd", "/c", "start", ""];
  return process.env["DISPLAY"] || process.env["WAYLAND_DISPLAY"] ? ["xdg-open"] : null;
}

/**
 * A page that leads to the link. The link is a secret, and every user of the machine can read
 * command lines. Pages of earlier calls are removed once their links have expired.
 */
function pageFor(directory: string, url: string): string {
  for (const name of readdirSync(directory)) {
    if (!name.startsWith(PREFIX)) continue;
    const path = join(directory, name);
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat && Date.now() - stat.mtimeMs > LIMITS.loginLink.minutes * 60_000) rmSync(path, { force: true });
  }
  const path = join(directory, `${PREFIX}${randomBytes(16).toString("hex")}.html`);
  const page = `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>svc</title><script>location.replace(${JSON.stringify(url).replaceAll("<", "\\u003c")})</script>`;
  writeFileSync(path, page, { mode: 0o600, flag: "wx" });
  return path;
}

/** False where there is no browser to open it in. The address may be a secret. */
export async function openInBrowser(context: CommandContext, url: string): Promise<boolean> {
  const program = context.out.isTerminal ? opener() : null;
  if (program === null) return false;
  const page = pageFor(homePaths(context.home).daemon.directory, url);
  const [command = "", ...args] = program;
  return new Promise<boolean>((resolve) => {
    const child = spawn(command, [...args, page], { stdio: "ignore", detached: true });
    child.once("error", () => resolve(false));
    child.once("spawn", () => resolve(true));
    child.unref();
  });
}
