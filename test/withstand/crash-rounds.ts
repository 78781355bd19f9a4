/** Rounds of work and `kill -9` on one Home, everything checked after each restart. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DaemonUnreachable } from "../../client/failures.ts";
import type { Chance } from "../support/chance.ts";
import { type DaemonOptions, DaemonProcess } from "../support/daemon-process.ts";
import { Lifecycles } from "./lifecycles.ts";
import { StableGroup } from "./stable-group.ts";

export interface Tally {
  rounds: number;
  /** Kills before the daemon answered. */
  duringStart: number;
  events: number;
  shortGroups: number;
  /** Slowest start to the first answer, milliseconds. */
  slowestStart: number;
}

/**
 * Names that every file of a Home has, and the temporary ones that the next change of a document
 * takes over; anything else would be left over.
 */
const KNOWN_FILE =
  /^(\.[A-Za-z0-9_.-]+\.tmp|group_bridge_identity_key\.yaml|settings\.json|lock(-journal|-wal|-shm)?|socket|key|address\.json|log(\.1)?|group\.json|[0-9a-f]{64}|[A-Za-z0-9_-]+\.json|active\.jsonl|(segment|index)-\d{6}\.(jsonl|bin)|[a-z]+\.bin|torn-[0-9TZ-]+)$/;
const LOAD_MS = 350;
const WHOLE_EVERY = 20;

/** Throws with everything that is wrong at the first round where something is. */
export async function crashRounds(rounds: number, chance: Chance, options: DaemonOptions): Promise<Tally> {
  const folder = mkdtempSync(join(tmpdir(), "svc-withstand-files-"));
  const daemon = await DaemonProcess.started(options);
  const tally: Tally = { rounds: 0, duringStart: 0, events: 0, shortGroups: 0, slowestStart: 0 };
  try {
    const client = daemon.client();
    const stable = await StableGroup.make(client, "stable", chance.stream("stable"), folder);
    const lifecycles = new Lifecycles(chance.stream("lifecycles"), folder);
    const others = new Set([stable.group_id]);
    for (let round = 1; round <= rounds; round++) {
      await workAndKill(daemon, chance, stable, lifecycles);
      while (chance.happens(0.25)) {
        daemon.spawn();
        await pause(chance.below(400));
        await daemon.kill();
        tally.duringStart++;
      }
      const begun = performance.now();
      await daemon.start();
      tally.slowestStart = Math.max(tally.slowestStart, performance.now() - begun);
      const now = daemon.client();
      const problems = await stable.check(now, true, round % WHOLE_EVERY === 0);
      problems.push(...(await lifecycles.check(now, others)), ...leftovers(daemon.home));
      if (problems.length > 0)
        throw new Error(`after the kill of round ${round}:\n${problems.slice(0, 20).join("\n")}`);
      tally.rounds++;
    }
    const problems = await stable.finish(daemon);
    if (problems.length > 0) throw new Error(`at the end:\n${problems.slice(0, 20).join("\n")}`);
    tally.events = stable.events.length;
    tally.shortGroups = lifecycles.made;
    return tally;
  } catch (error) {
    if (error instanceof Error) error.message += `\nthe daemon's last words:\n${daemon.output}`;
    throw error;
  } finally {
    await daemon.dispose();
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Everybody at work for a random time, then `kill -9`. A worker may end in no other way than by the
 * daemon's.
 */
async function workAndKill(
  daemon: DaemonProcess,
  chance: Chance,
  stable: StableGroup,
  lifecycles: Lifecycles,
): Promise<void> {
  let killed = false;
  const client = daemon.client();
  const stopped = (): boolean => killed;
  const changes = async (): Promise<void> => {
    while (!stopped()) await lifecycles.step(client);
  };
  const work = [...stable.load(daemon, stopped), changes()].map((worker) =>
    worker.then(
      () => null,
      (error: unknown) => (killed && error instanceof DaemonUnreachable ? null : error),
    ),
  );
  const failed = Promise.race(work);
  const early = await Promise.race([failed, pause(chance.below(LOAD_MS))]);
  killed = true;
  await daemon.kill();
  const errors = [early, ...(await Promise.all(work))].filter(
    (error) => error !== null && error !== undefined,
  );
  if (errors.length > 0) throw errors[0];
}

/** Files that no part of a Home is known by, beyond the groups' own. */
function leftovers(home: string): string[] {
  return readdirSync(home, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory() && !KNOWN_FILE.test(entry.name))
    .map((entry) => `${join(entry.parentPath, entry.name)} is left over`);
}

function pause(milliseconds: number): Promise<undefined> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds, undefined));
}
