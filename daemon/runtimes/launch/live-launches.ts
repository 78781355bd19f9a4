/**
 * The processes of Actors that this daemon runs now, as the rest of it sees them. `Runtimes` starts
 * and ends them; this is what others may know in between, so that activity and messaging needn't
 * know the runtimes.
 */

import type { Clock } from "../../../platform/clock.ts";
import type { Files } from "../../../platform/files.ts";
import { errorFields, type Log } from "../../../platform/log.ts";
import type { Processes, TerminalProcess } from "../../../platform/processes.ts";
import type { Random } from "../../../platform/random.ts";
import { Signal } from "../../../platform/signal.ts";
import type { StoredActor } from "../../../shared/model.ts";
import { sizeWords } from "../../../shared/size-words.ts";
import { isInboxOnly } from "../../../shared/typed-actors.ts";
import type { Launch, LaunchEnd, Launches } from "../../activity/launches.ts";
import type { OpenGroup } from "../../groups/group.ts";
import type { LaunchIdentity, LaunchTokens } from "../../groups/launch-tokens.ts";
import type { GroupRegistry } from "../../groups/registry.ts";
import { entryOf } from "../catalogue.ts";
import type { Prompter } from "../input/prompter.ts";
import { HOLD_IN_INBOX, screenOf } from "../input/readiness.ts";
import { Drawing } from "../terminal/drawing.ts";
import { ActorTerminal } from "../terminal/terminal.ts";
import type { Choice } from "./conversation.ts";
import { LastRuns } from "./last-run.ts";
import { LaunchIdentities, launchOf, type StoredLaunch } from "./launch-identity.ts";

export interface LiveLaunchesDependencies {
  files: Files;
  clock: Clock;
  random: Random;
  log: Log;
  processes: Processes;
  registry: GroupRegistry;
  launchTokens: LaunchTokens;
}

/** One start of a process, until it has ended and that is noted. */
export interface Run {
  stored: StoredLaunch;
  launch: Launch;
  process: TerminalProcess | null;
  prompter: Prompter | null;
  /** The runtime has listed our tools. */
  hasTools: boolean;
  /** Where it runs. */
  directory: string;
  conversation: Choice;
  /** A hook of it was accepted: the runtime is in its session. */
  hasTold: boolean;
  /** Why it is being stopped; null when it ends by itself. */
  requested: string | null;
  /** What its screen asked a person when it last was still, in words. */
  asks: string;
  hasExited: boolean;
  /** Whether it was in a turn when it was asked to end; null when it wasn't asked. */
  wasInWork: boolean | null;
  exited: Promise<void>;
  /** Its end is noted. */
  over: Promise<void>;
}

/** One Actor in one generation. */
export interface Slot {
  group: OpenGroup;
  actor_id: string;
  generation: string;
  terminal: ActorTerminal;
  run: Run | null;
  starting: Promise<void> | null;
  /** Starts and stops follow each other. */
  last: Promise<unknown>;
}

/** A screen that hasn't changed for this long is complete. */
const STILL_MS = 200;

export class LiveLaunches implements Launches {
  readonly identities: LaunchIdentities;
  readonly lastRuns: LastRuns;
  readonly #deps: LiveLaunchesDependencies;
  readonly #slots = new Map<string, Slot>();
  /** Dropped ones until nothing of them runs, the oldest first. */
  readonly #leaving = new Set<Slot>();
  readonly #started = new Signal<[launch: Launch]>();
  readonly #ended = new Signal<[launch: Launch, end: LaunchEnd]>();
  readonly #drawing: Drawing;
  readonly #waiting = new Signal<[groupId: string, actorId: string]>();

  constructor(deps: LiveLaunchesDependencies) {
    this.#deps = deps;
    this.#drawing = new Drawing(deps.clock);
    this.identities = new LaunchIdentities(deps);
    this.lastRuns = new LastRuns({
      ...deps,
      isOpen: (group) => deps.registry.find(group.group_id) === group,
    });
  }

  slots(): Slot[] {
    return [...this.#slots.values()];
  }

  /** Of Actors that are gone, whose processes are still to end. */
  leaving(): Slot[] {
    return [...this.#leaving];
  }

  find(groupId: string, actorId: string): Slot | undefined {
    return this.#slots.get(key(groupId, actorId));
  }

  /** The Actor's launches, created if it has none in its generation. */
  slot(group: OpenGroup, { id, generation }: StoredActor): Slot {
    const name = key(group.group_id, id);
    const known = this.#slots.get(name);
    if (known?.generation === generation && known.group === group) return known;
    const { clock } = this.#deps;
    const slot: Slot = {
      group,
      actor_id: id,
      generation,
      terminal: new ActorTerminal(clock, this.#drawing),
      run: null,
      starting: null,
      // An earlier Actor with this id has files of the same names.
      last: this.leaving().findLast((one) => keyOf(one) === name)?.last ?? Promise.resolve(),
    };
    this.#slots.set(name, slot);
    return slot;
  }

  /** The Actor is gone. `ended` resolves when nothing of it runs. */
  drop(slot: Slot, ended: Promise<void>): void {
    this.#slots.delete(keyOf(slot));
    this.#leaving.add(slot);
    void ended.then(() => this.#leaving.delete(slot));
  }

  /**
   * Whether a token's owner may speak: of an Actor whose process the daemon runs, only while that
   * very process lives.
   */
  mayUse({ group_id: groupId, actor_id: actorId, digest }: LaunchIdentity): boolean {
    const actor = this.#deps.registry.find(groupId)?.record.actors.find(({ id }) => id === actorId);
    if (actor === undefined) return false;
    if (actor.runner !== "pty") return true;
    const slot = this.#slots.get(key(groupId, actorId));
    const stored = slot?.run?.stored;
    if (stored?.token_digest !== digest) return false;
    return stored.pid === null ? slot?.starting !== null : this.identities.isAlive(stored);
  }

  /** Why messages wait for the Actor, in words; empty when none has to. */
  whyWaiting(groupId: string, actorId: string): string {
    const actor = this.#deps.registry.find(groupId)?.record.actors.find(({ id }) => id === actorId);
    // A start wouldn't change that.
    if (actor !== undefined && isInboxOnly(actor)) return HOLD_IN_INBOX;
    const slot = this.#slots.get(key(groupId, actorId));
    const prompter = slot?.run?.prompter;
    if (prompter !== null && prompter !== undefined) return prompter.waits;
    return slot?.run === null || slot === undefined ? "not running" : "starting";
  }

  /** The processes that run for Actors, also those that are still to end. */
  processes(): { launch: StoredLaunch; pid: number | null }[] {
    return [...this.#slots.values(), ...this.#leaving].flatMap(({ run }) =>
      run === null ? [] : [{ launch: run.stored, pid: run.process?.pid ?? null }],
    );
  }

  isRunning(groupId: string, actorId: string): boolean {
    const run = this.#slots.get(key(groupId, actorId))?.run ?? null;
    return run !== null && !run.hasExited;
  }

  current(groupId: string, actorId: string): Launch | null {
    return this.#slots.get(key(groupId, actorId))?.run?.launch ?? null;
  }

  committed(groupId: string, actorId: string): Launch | "corrupt" | null {
    const group = this.#deps.registry.find(groupId);
    const stored = group === undefined ? null : this.identities.committed(group, actorId);
    return stored === null || stored === "corrupt" ? stored : launchOf(stored);
  }

  lastEnd(groupId: string, actorId: string): { at: string; reason: string } | null {
    const group = this.#deps.registry.find(groupId);
    const actor = group?.record.actors.find(({ id }) => id === actorId);
    return group === undefined || actor === undefined ? null : this.lastRuns.endOf(group, actor);
  }

  async settled(groupId: string, actorId: string): Promise<void> {
    await this.#slots.get(key(groupId, actorId))?.starting?.catch(() => undefined);
  }

  isAlive({ group_id: groupId, actor_id: actorId, token_digest: tokenDigest }: Launch): boolean {
    const run = this.#slots.get(key(groupId, actorId))?.run;
    return run?.stored.token_digest === tokenDigest && !run.hasExited;
  }

  running(): readonly Launch[] {
    return [...this.#slots.values()].flatMap(({ run }) => (run === null ? [] : [run.launch]));
  }

  quietSeconds({ group_id: groupId, actor_id: actorId }: Launch): number | null {
    const slot = this.#slots.get(key(groupId, actorId));
    if (slot === undefined || slot.run === null) return null;
    return (this.#deps.clock.monotonic() - slot.terminal.lastOutput) / 1000;
  }

  asks({ group_id: groupId, actor_id: actorId, runtime }: Launch): boolean {
    const slot = this.#slots.get(key(groupId, actorId));
    const { asks } = entryOf(runtime);
    return asks !== null && slot !== undefined && slot.run !== null && slot.terminal.shows(asks);
  }

  needs({ group_id: groupId, actor_id: actorId, runtime }: Launch): string {
    const slot = this.#slots.get(key(groupId, actorId));
    const run = slot?.run ?? null;
    if (slot === undefined || run === null) return "";
    if (slot.terminal.isStuck) return `hasn't read ${sizeWords(slot.terminal.unread)} of its input`;
    // While it is being redrawn, what it said before still counts.
    if (this.#deps.clock.monotonic() - slot.terminal.lastOutput > STILL_MS) {
      const seen = screenOf(entryOf(runtime), slot.terminal);
      run.asks = seen?.kind === "question" ? seen.reason : "";
    }
    return run.asks || (run.prompter?.needs ?? "");
  }

  screen({ group_id: groupId, actor_id: actorId }: Launch): readonly string[] {
    const slot = this.#slots.get(key(groupId, actorId));
    return slot === undefined || slot.run === null ? [] : slot.terminal.lines();
  }

  onStarted(listener: (launch: Launch) => void): () => void {
    return this.#started.on(listener);
  }

  onEnded(listener: (launch: Launch, end: LaunchEnd) => void): () => void {
    return this.#ended.on(listener);
  }

  /** Why messages wait for an Actor has changed. */
  onWaiting(listener: (groupId: string, actorId: string) => void): () => void {
    return this.#waiting.on(listener);
  }

  tellStarted(launch: Launch): void {
    this.#tell(launch, () => this.#started.tell(launch));
  }

  tellEnded(launch: Launch, end: LaunchEnd): void {
    this.#tell(launch, () => this.#ended.tell(launch, end));
  }

  tellWaiting({ group, actor_id: actorId }: Slot): void {
    const whose = { group_id: group.group_id, actor_id: actorId };
    this.#tell(whose, () => this.#waiting.tell(group.group_id, actorId));
  }

  /** What a listener throws is no matter of the process. */
  #tell(
    { group_id: groupId, actor_id: actorId }: Pick<Launch, "group_id" | "actor_id">,
    tell: () => void,
  ): void {
    try {
      tell();
    } catch (error) {
      this.#deps.log.warn("runtime told", { group_id: groupId, actor_id: actorId, ...errorFields(error) });
    }
  }
}

function keyOf({ group, actor_id: actorId }: Slot): string {
  return key(group.group_id, actorId);
}

function key(groupId: string, actorId: string): string {
  return `${groupId}/${actorId}`;
}
