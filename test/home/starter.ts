/**
 * A process that wants the Home: says what came of it in one line of JSON, and stays until it is
 * killed when it has it.
 */

import { homePaths } from "../../client/paths.ts";
import { HomeLock, HomeLocked } from "../../daemon/home/lock.ts";
import { realDependencies } from "./setting.ts";

const paths = homePaths(process.argv[2]!);
try {
  const lock = await HomeLock.acquire(realDependencies(), paths);
  process.stdout.write(`${JSON.stringify({ won: true, pid: process.pid, socket: lock.socket })}\n`);
  // The lock lives as long as the process; the binding keeps it from being collected.
  setInterval(() => lock.socket, 60_000);
} catch (error) {
  if (!(error instanceof HomeLocked)) throw error;
  const { pid, socket, message } = error;
  process.stdout.write(`${JSON.stringify({ won: false, pid, socket, message })}\n`);
}
