/**
 * Runs a story on simulated files and looks at everything that a crash or a failing disk could make
 * of it.
 */
import { createHash } from "node:crypto";
import type { Files } from "../../platform/files.ts";
import type { Tree } from "./crash-states.ts";
import { type Call, SimulatedFiles } from "./files.ts";

/** What happens, what it promised, and how a promise is checked after the crash. */
export interface Story<Witness> {
  /**
   * What the outside world knows before anything happened. A plain value: it is cloned at every
   * crash point.
   */
  begin(): Witness;
  /**
   * Keeps `witness` up to date: each promise is noted as soon as it was made. With a failing disk
   * it must end all the same.
   */
  run(files: Files, witness: Witness): Promise<void>;
  /** Starts on what is left and throws when a promise is broken. */
  check(files: Files, witness: Witness): Promise<void>;
}

interface Findings {
  /** Moments or calls that were tried, and different states that were checked. */
  points: number;
  states: number;
  violations: string[];
}

interface CrashOptions {
  /** What is on the disk when the story begins. */
  from?: Tree;
  /** Paths whose calls are made to fail; all by default. */
  faultsAt?: RegExp;
  /** Leaves out all but the corners of what is possible at a crash. */
  isBrief?: boolean;
  /** Stands between the story and the disk, to put a fault in. */
  wrap?: (files: Files) => Files;
  /** Changes after an injected fault at which a crash is tried as well, besides the end. */
  changesAfterFault?: number;
  /** Enough is enough: violations after which the search ends. */
  violationsMax?: number;
}

interface Suspect<Witness> {
  tree: Tree;
  witness: Witness;
  when: string;
}

/**
 * A crash before every change and after the last one, with every state of the disk that is possible
 * then.
 */
export async function enumerateCrashes<Witness>(
  story: Story<Witness>,
  options: CrashOptions = {},
): Promise<Findings> {
  const collector = new Collector<Witness>();
  const files = new SimulatedFiles(options.from);
  const witness = story.begin();
  files.beforeChange = (call) => collector.look(files, witness, describe(call, files.calls), options.isBrief);
  await story.run(options.wrap?.(files) ?? files, witness);
  files.beforeChange = null;
  collector.look(files, witness, "the end", options.isBrief);
  return collector.check(story, options.violationsMax ?? 10);
}

/** Calls that may want room on the disk. */
const GROWING: readonly Call["name"][] = ["create", "mkdir", "rename", "write", "sync", "syncDir"];

/**
 * Every call fails once with EIO, and those that want room with ENOSPC; afterwards the disk is well
 * again, and a crash may follow soon.
 */
export async function enumerateFaults<Witness>(
  story: Story<Witness>,
  options: CrashOptions = {},
): Promise<Findings> {
  const calls: (Call["name"] | undefined)[] = [];
  const { faultsAt = /^/ } = options;
  const rehearsal = new SimulatedFiles(options.from);
  rehearsal.fault = (call, index) => {
    if (faultsAt.test(call.path)) calls[index] = call.name;
    return null;
  };
  await story.run(options.wrap?.(rehearsal) ?? rehearsal, story.begin());
  const findings: Findings = { points: 0, states: 0, violations: [] };
  for (const [index, name] of calls.entries()) {
    if (name === undefined) continue;
    for (const code of GROWING.includes(name) ? ["EIO", "ENOSPC"] : ["EIO"]) {
      const found = await withFault(story, index, code, options);
      findings.points += 1;
      findings.states += found.states;
      findings.violations.push(...found.violations);
      if (findings.violations.length >= (options.violationsMax ?? 10)) return findings;
    }
  }
  return findings;
}

async function withFault<Witness>(
  story: Story<Witness>,
  index: number,
  code: string,
  options: CrashOptions,
): Promise<Findings> {
  const collector = new Collector<Witness>();
  const files = new SimulatedFiles(options.from);
  const witness = story.begin();
  let failed: string | null = null;
  let looksLeft = options.changesAfterFault ?? 3;
  files.fault = (call, at) => {
    if (at !== index) return null;
    failed = `${code} at ${describe(call, at)}`;
    return code;
  };
  files.beforeChange = (call) => {
    if (failed === null || looksLeft === 0) return;
    looksLeft -= 1;
    collector.look(files, witness, `${failed}, then ${describe(call, files.calls)}`, true);
  };
  await story.run(options.wrap?.(files) ?? files, witness);
  files.beforeChange = null;
  collector.look(files, witness, `${failed}, then the end`, true);
  return collector.check(story, options.violationsMax ?? 10);
}

/** For `wrap`: a disk that says that something is synced without doing it. */
export function without(sync: "files" | "directories"): (files: Files) => Files {
  const lie = (done: (error: null) => void): void => void setImmediate(done, null);
  return (files) =>
    new Proxy(files, {
      get(target, name: keyof Files) {
        if (name === "syncDir" && sync === "directories") {
          return (_path: string, done: (error: null) => void) => lie(done);
        }
        if (name !== "open" || sync !== "files") return target[name].bind(target);
        return (...args: Parameters<Files["open"]>) => ({ ...target.open(...args), sync: lie });
      },
    });
}

function describe(call: Call, index: number): string {
  return `call ${index} (${call.name} ${call.path})`;
}

class Collector<Witness> {
  readonly #suspects = new Map<string, Suspect<Witness>>();
  #points = 0;

  /** `isBrief` leaves out all but the corners of what is possible. */
  look(files: SimulatedFiles, witness: Witness, when: string, isBrief = false): void {
    this.#points += 1;
    const known = JSON.stringify(witness);
    for (const tree of isBrief ? files.cornerStates() : files.crashStates()) {
      const key = `${digest(tree)} ${known}`;
      if (!this.#suspects.has(key))
        this.#suspects.set(key, { tree, witness: structuredClone(witness), when });
    }
  }

  async check(story: Story<Witness>, violationsMax: number): Promise<Findings> {
    const findings: Findings = { points: this.#points, states: this.#suspects.size, violations: [] };
    for (const { tree, witness, when } of this.#suspects.values()) {
      try {
        await story.check(new SimulatedFiles(tree), witness);
      } catch (error) {
        findings.violations.push(`crash at ${when}: ${(error as Error).stack}`);
        if (findings.violations.length >= violationsMax) break;
      }
    }
    return findings;
  }
}

function digest(tree: Tree): string {
  const hash = createHash("sha1");
  for (const path of [...tree.directories].sort()) hash.update(`d${path}\n`);
  for (const [path, bytes] of [...tree.files].sort(([a], [b]) => (a < b ? -1 : 1)))
    hash.update(`f${path} ${bytes.length}\n`).update(bytes);
  return hash.digest("hex");
}
