/** One process at a time installs and builds in a folder. */
import { createHash } from "node:crypto";
import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const AGAIN_MS = 100;

/** Runs `act` while no other process of this machine is here for the current folder. */
export function alone(act) {
  const folder = createHash("sha256").update(process.cwd()).digest("hex").slice(0, 16);
  const lock = join(tmpdir(), `svc-build-${folder}.lock`);
  while (!take(lock)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, AGAIN_MS);
  // An installation that fails ends the process.
  const release = () => rmSync(lock, { force: true });
  process.once("exit", release);
  try {
    return act();
  } finally {
    process.off("exit", release);
    release();
  }
}

function take(lock) {
  const own = `${lock}.${process.pid}`;
  writeFileSync(own, String(process.pid));
  try {
    linkSync(own, lock);
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
    if (isLeft(lock)) rmSync(lock, { force: true });
    return false;
  } finally {
    rmSync(own);
  }
}

/** Whether the process that the lock names is gone. */
function isLeft(lock) {
  try {
    process.kill(Number(readFileSync(lock, "utf8")), 0);
    return false;
  } catch (error) {
    return error.code === "ESRCH";
  }
}
