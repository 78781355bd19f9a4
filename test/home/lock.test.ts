import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { buildSync } from "esbuild";
import { installCached } from "../../build/cache.mjs";
import { readNoted, readSocketKey } from "../../client/endpoint.ts";
import { type HomePaths, homePaths } from "../../client/paths.ts";
import { HomeLock, HomeLocked } from "../../daemon/home/lock.ts";
import { PRODUCT_VERSION } from "../../shared/version.ts";
import { realDependencies, removeTemporaryDirectories, temporaryDirectory } from "./setting.ts";

/** Has SQLite in it; the oldest supported Node, which runs the tests, has libsql's. */
const NODE_24 = "24.21.0";

interface Outcome {
  won: boolean;
  pid: number;
  socket: string;
  message?: string;
}

const STARTERS = 40;
const ROUNDS = 3;

function emptyHome(): HomePaths {
  const paths = homePaths(temporaryDirectory());
  mkdirSync(paths.daemon.directory, { mode: 0o700 });
  return paths;
}

describe("HomeLock", () => {
  /** Compiled once: forty processes with a compiler each would take minutes. */
  let starter: string;
  let other: string;
  const children = new Set<ChildProcess>();

  before(() => {
    const name = `node-${process.platform}-${process.arch}`;
    const folder = installCached(`${name}-${NODE_24}`, { [name]: NODE_24 });
    other = join(folder, "node_modules", name, "bin", "node");
    starter = join(import.meta.dirname, "../../node_modules/.cache/svc-test/starter.mjs");
    buildSync({
      entryPoints: [join(import.meta.dirname, "starter.ts")],
      outfile: starter,
      bundle: true,
      platform: "node",
      format: "esm",
      external: ["libsql"],
    });
  });

  afterEach(() => {
    for (const child of children) child.kill("SIGKILL");
    children.clear();
  });
  after(removeTemporaryDirectories);

  function start(
    paths: HomePaths,
    node = process.execPath,
  ): { child: ChildProcess; outcome: Promise<Outcome> } {
    const child = spawn(node, [starter, paths.root], { stdio: ["ignore", "pipe", "inherit"] });
    children.add(child);
    const lines = createInterface({ input: child.stdout });
    const outcome = once(lines, "line").then(([line]) => JSON.parse(String(line)) as Outcome);
    return { child, outcome };
  }

  async function kill(child: ChildProcess): Promise<void> {
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }

  it("says in address and key file where the holder listens, until it lets go", async () => {
    const paths = emptyHome();
    const deps = realDependencies();
    const lock = await HomeLock.acquire(deps, paths);
    assert.deepEqual(readNoted(deps.files, deps.host, paths)?.address, lock.address);
    assert.equal(lock.address.pid, process.pid);
    assert.equal(lock.address.version, PRODUCT_VERSION);
    assert.equal(readSocketKey(deps.files, deps.host, paths), lock.key);
    await lock.announce("http://127.0.0.1:8848");
    assert.equal(readNoted(deps.files, deps.host, paths)?.address.web_origin, "http://127.0.0.1:8848");
    const server = createServer().listen(lock.socket);
    await once(server, "listening");
    lock.release();
    lock.release();
    assert.ok(!existsSync(paths.daemon.socket));
    assert.equal(readNoted(deps.files, deps.host, paths), null);
    server.close();
    const next = await HomeLock.acquire(deps, paths);
    assert.notEqual(next.key, lock.key);
    next.release();
  });

  it("refuses a second holder in the same process, and keeps the first one's lock", async () => {
    const paths = emptyHome();
    const lock = await HomeLock.acquire(realDependencies(), paths);
    await assert.rejects(HomeLock.acquire(realDependencies(), paths), HomeLocked);
    // Closing any descriptor of the lock's file would drop a POSIX lock: another process must still
    // be refused.
    const { outcome } = start(paths);
    assert.equal((await outcome).won, false);
    lock.release();
  });

  it("names process and socket of the holder to a second start", async () => {
    const paths = emptyHome();
    const first = start(paths);
    const { won, pid, socket } = await first.outcome;
    assert.ok(won);
    const second = await start(paths).outcome;
    assert.deepEqual([second.won, second.pid, second.socket], [false, pid, socket]);
    assert.ok(second.message?.includes(`process ${pid}`) && second.message.includes(socket));
  });

  it("frees itself after kill -9 and clears the dead one's socket away", async () => {
    const paths = emptyHome();
    for (let round = 0; round < 3; round += 1) {
      const { child, outcome } = start(paths);
      assert.ok((await outcome).won);
      await kill(child);
      // A listener that was killed leaves its socket behind.
      const server = createServer().listen(paths.daemon.socket);
      await once(server, "listening");
      const lock = await HomeLock.acquire(realDependencies(), paths);
      assert.ok(!existsSync(paths.daemon.socket));
      lock.release();
      server.close();
    }
  });

  it("refuses a lock that is a link", async () => {
    const paths = emptyHome();
    const elsewhere = join(temporaryDirectory(), "elsewhere");
    writeFileSync(elsewhere, "");
    symlinkSync(elsewhere, paths.daemon.lock);
    await assert.rejects(HomeLock.acquire(realDependencies(), paths), { code: "insecure" });
  });

  it("is the same lock for a Node with SQLite in it and one without", async () => {
    const paths = emptyHome();
    for (const [first, second] of [
      [process.execPath, other],
      [other, process.execPath],
    ]) {
      const { child, outcome } = start(paths, first);
      assert.ok((await outcome).won);
      assert.equal((await start(paths, second).outcome).won, false);
      await kill(child);
    }
  });

  it(`lets exactly one of ${STARTERS} simultaneous starters win`, async () => {
    const paths = emptyHome();
    for (let round = 0; round < ROUNDS; round += 1) {
      const starts = Array.from({ length: STARTERS }, (_, index) =>
        start(paths, index % 2 === 0 ? process.execPath : other),
      );
      const outcomes = await Promise.all(starts.map(({ outcome }) => outcome));
      const winners = outcomes.filter(({ won }) => won);
      assert.equal(winners.length, 1, `round ${round}: ${winners.length} winners`);
      const [winner] = winners;
      for (const { pid, socket } of outcomes) assert.deepEqual([pid, socket], [winner?.pid, winner?.socket]);
      // The next round begins on what a killed daemon leaves.
      await kill(starts.find(({ child }) => child.pid === winner?.pid)!.child);
    }
  });
});
