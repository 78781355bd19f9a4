/**
 * Whether a written prompt was taken (docs/core-model.md#messages). The process has it if its own
 * UserPromptSubmit hook shows the messages' ids. If that hook only says that it waits in the
 * runtime's input queue, it is `queued` until its turn begins. If the process ends first, the
 * runtime's own history of the conversation decides (`prompt-history.ts`): what it doesn't have was
 * never read, and the next process gets it again. Without any proof it stays unconfirmed, and isn't
 * sent again automatically.
 */

import type { Clock, Timer } from "../../../platform/clock.ts";
import { errorFields, type Log } from "../../../platform/log.ts";
import type { InputReceipt } from "../../../platform/processes.ts";
import type { DeliveryState } from "../../../shared/events.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { InputStep, Launch, LaunchReports } from "../../activity/launches.ts";
import type { NewEvent } from "../../ledger/types.ts";
import type { GroupChat } from "../../messaging/group-chat.ts";
import { ENDED_UNREAD, HANDED_BACK, IN_HISTORY } from "../../messaging/kinds.ts";
import { MessageStatuses } from "../../messaging/messages/statuses.ts";
import type { RuntimeEntry } from "../catalogue.ts";
import type { Findings } from "./prompt-history.ts";

export interface ProofOptions {
  chat: GroupChat;
  launch: Launch;
  entry: RuntimeEntry;
  reports: LaunchReports;
  clock: Clock;
  log: Log;
  /** What the runtime's history of this conversation says about these messages. Never throws. */
  findPrompts(ids: readonly string[]): Promise<Findings>;
}

/** A batch that was written and isn't settled. */
interface Outstanding {
  batch_id: string;
  ids: Set<string>;
  /** Monotonic. */
  writtenAt: number;
  /** The runtime was busy when last looked at. */
  wasBusy: boolean;
  /** Whether the process has room for all of it. */
  receipt: InputReceipt;
  timer: Timer;
}

/** A message in the runtime's own input queue. */
interface Queued {
  batch_id: string;
  /** The turn before it has ended; nothing has shown yet that its own runs. */
  isNext: boolean;
  /** It was called unconfirmed before, and stays so until it is taken. */
  isLate: boolean;
}

type Settled = "queued" | "accepted" | "ambiguous" | "failed";

const UNCONFIRMED_KEPT = 256;
const { evidenceSeconds, busySeconds } = LIMITS.prompt;

export class DeliveryProof {
  readonly #options: ProofOptions;
  readonly #settled: () => void;
  /** Ids that stayed unconfirmed, with their batches: a late proof still counts. */
  readonly #unconfirmed = new Map<string, string>();
  readonly #queued = new Map<string, Queued>();
  readonly #stops: (() => void)[] = [];
  #outstanding: Outstanding | null = null;
  /** Runs while something is queued in a runtime that says it is idle. */
  #idle: Timer | null = null;

  /** `settled` is called when something that was written is settled. */
  constructor(options: ProofOptions, settled: () => void) {
    this.#options = options;
    this.#settled = settled;
  }

  open(): void {
    const { launch, reports } = this.#options;
    const isOurs = (from: Launch): boolean => from.token_digest === launch.token_digest;
    this.#stops.push(
      reports.onPrompt((from, prompt, isQueued) => {
        if (isOurs(from)) this.#evidence(prompt, isQueued);
      }),
      reports.onInput((from, step) => {
        if (isOurs(from)) this.#step(step);
      }),
    );
  }

  /** Something was written and isn't settled. */
  get isAwaited(): boolean {
    return this.#outstanding !== null;
  }

  /** These messages went into the terminal just now. */
  async written(
    batchId: string,
    ids: readonly string[],
    isBusy: boolean,
    receipt: InputReceipt,
  ): Promise<void> {
    const { clock } = this.#options;
    const outstanding: Outstanding = {
      batch_id: batchId,
      ids: new Set(ids),
      writtenAt: clock.monotonic(),
      wasBusy: isBusy,
      receipt,
      timer: this.#watch(evidenceSeconds * 1000),
    };
    this.#outstanding = outstanding;
    // A proof from now on is one of this attempt.
    for (const id of ids) this.#forget(id);
    if (receipt.state !== "waiting") await this.passedOn(batchId);
  }

  /**
   * The process has room for all of a batch now, or what waited was dropped: then it never had it
   * whole, and gets it again.
   */
  async passedOn(batchId: string): Promise<void> {
    const { launch, entry, clock } = this.#options;
    const outstanding = this.#outstanding;
    if (outstanding?.batch_id !== batchId) return;
    const ids = [...outstanding.ids];
    if (outstanding.receipt.state === "dropped") await this.#settle(outstanding, ids, "failed", HANDED_BACK);
    else if (entry.evidence === "none" || !launch.has_hooks)
      await this.#settle(outstanding, ids, "ambiguous", "no_proof_possible");
    else outstanding.writtenAt = clock.monotonic();
  }

  /**
   * The Actor's state or queue changed. What was proved elsewhere is no longer awaited, and an idle
   * runtime has nothing queued for long.
   */
  consider(): void {
    const outstanding = this.#outstanding;
    const claimed = this.#claimed();
    if (outstanding !== null) {
      for (const id of outstanding.ids) if (!claimed(id)) outstanding.ids.delete(id);
      this.#release(outstanding);
    }
    for (const [id, { isLate }] of this.#queued) if (!isLate && !claimed(id)) this.#queued.delete(id);
    const { reports, launch, clock } = this.#options;
    const isIdle = this.#queued.size > 0 && reports.doing(launch) === "idle";
    if (!isIdle) {
      this.#idle?.cancel();
      this.#idle = null;
    } else this.#idle ??= clock.after(evidenceSeconds * 1000, () => this.#emptied(), { background: true });
  }

  /**
   * The process is gone. Its history decides. Where that says nothing, it never read what it had
   * only queued or had no room for, and anything else unproved stays unconfirmed.
   */
  async close(reason: string): Promise<void> {
    for (const stop of this.#stops.splice(0)) stop();
    this.#idle?.cancel();
    const left = this.#outstanding;
    left?.timer.cancel();
    this.#outstanding = null;
    const isOut = left?.receipt.state === "written";
    const batches = new Map<string, string>();
    for (const [id, { batch_id: batchId, isLate }] of this.#queued) if (!isLate) batches.set(id, batchId);
    for (const id of left?.ids ?? []) batches.set(id, left!.batch_id);
    const late = new Map(this.#unconfirmed);
    for (const [id, { batch_id: batchId, isLate }] of this.#queued) if (isLate) late.set(id, batchId);
    if (batches.size + late.size === 0) return;
    const findings = await this.#options.findPrompts([...batches.keys(), ...late.keys()]);
    const { chat, launch } = this.#options;
    const isRemoved = chat.projection.queue(launch.actor_id, launch.generation) === undefined;
    const isClaimed = this.#claimed();
    const events = [...batches].flatMap(([id, batchId]) => {
      // It was answered, or delivered again on purpose, in the meantime.
      if (!isRemoved && !isClaimed(id)) return [];
      return [
        this.#event(
          id,
          batchId,
          ...decided(id, findings, this.#queued.has(id) || (left?.ids.has(id) === true && !isOut), reason),
        ),
      ];
    });
    for (const [id, batchId] of late) events.push(...this.#lateEvents(id, batchId, findings));
    this.#queued.clear();
    await this.#append(events);
  }

  /**
   * What was called unconfirmed before: it is accepted, or delivered again, if its history says.
   */
  #lateEvents(id: string, batchId: string, { taken, untaken }: Findings): NewEvent[] {
    const { chat, launch } = this.#options;
    const ordinal = chat.ledger.ordinalOf(id);
    const event = ordinal === undefined ? undefined : chat.ledger.read(ordinal);
    if (ordinal === undefined || event?.kind !== "chat.message") return [];
    const isOpen = new MessageStatuses(chat, ordinal, event).unproved(launch.actor_id) !== null;
    if (!isOpen) return [];
    if (taken.has(id)) return [this.#event(id, batchId, "accepted", IN_HISTORY)];
    if (!untaken.has(id)) return [];
    const data = {
      source_event_id: id,
      source_ordinal: ordinal,
      actor_generations: { [launch.actor_id]: launch.generation },
      force_ambiguous: false,
    };
    return [chat.event("runtime.delivery_request", "system", data)];
  }

  /** `prompt` is compared and forgotten. */
  #evidence(prompt: string, isQueued: boolean): void {
    const outstanding = this.#outstanding;
    const shown = outstanding === null ? [] : [...outstanding.ids].filter((id) => prompt.includes(id));
    if (outstanding !== null && shown.length > 0) {
      if (isQueued) void this.#settle(outstanding, shown, "queued", "after a running turn");
      else void this.#settle(outstanding, shown, "accepted", outstanding.wasBusy ? "hook_queued" : "hook");
    }
    const late = [...this.#unconfirmed].filter(([id]) => prompt.includes(id));
    for (const [id] of late) this.#unconfirmed.delete(id);
    if (isQueued) {
      for (const [id, batchId] of late)
        this.#queued.set(id, { batch_id: batchId, isNext: false, isLate: true });
    } else if (late.length > 0) {
      void this.#append(late.map(([id, batchId]) => this.#event(id, batchId, "accepted", "late_hook")));
    }
    // Taken out of the queue by a person, and submitted again.
    if (!isQueued)
      this.#accept([...this.#queued.keys()].filter((id) => prompt.includes(id) && !shown.includes(id)));
  }

  #step(step: InputStep): void {
    if (step === "next") {
      for (const queued of this.#queued.values()) queued.isNext = true;
      return;
    }
    const isAll = step === "joined";
    this.#accept([...this.#queued].filter(([, { isNext }]) => isAll || isNext).map(([id]) => id));
  }

  /** Out of the queue, into a turn. */
  #accept(ids: readonly string[]): void {
    const events = ids.map((id) =>
      this.#event(id, this.#queued.get(id)!.batch_id, "accepted", "hook_queued"),
    );
    for (const id of ids) this.#queued.delete(id);
    void this.#append(events);
  }

  /**
   * It is idle but has shown no turn for what was queued: a person may have taken it out of the
   * queue.
   */
  #emptied(): void {
    this.#idle = null;
    for (const [id, { batch_id: batchId }] of this.#queued) this.#unconfirmed.set(id, batchId);
    const gone = [...this.#queued].filter(([, { isLate }]) => !isLate);
    this.#queued.clear();
    void this.#append(
      gone.map(([id, { batch_id: batchId }]) => this.#event(id, batchId, "ambiguous", "no_evidence")),
    );
  }

  /** Whether a message is still delivered and not settled. */
  #claimed(): (id: string) => boolean {
    const { chat, launch } = this.#options;
    const queue = chat.projection.queue(launch.actor_id, launch.generation);
    return (id) => queue?.claimed.has(id) === true;
  }

  #forget(id: string): void {
    this.#unconfirmed.delete(id);
    this.#queued.delete(id);
  }

  #release(outstanding: Outstanding): void {
    if (outstanding.ids.size > 0) return;
    outstanding.timer.cancel();
    if (this.#outstanding === outstanding) this.#outstanding = null;
  }

  #watch(milliseconds: number): Timer {
    return this.#options.clock.after(milliseconds, () => this.#look(), { background: true });
  }

  /** Time is up, unless the runtime is still busy with what came before, or was until now. */
  #look(): void {
    const outstanding = this.#outstanding;
    if (outstanding === null) return;
    const { clock, reports, launch } = this.#options;
    const doing = reports.doing(launch);
    const isBusy = doing === "working" || doing === "waiting";
    const isLong = clock.monotonic() - outstanding.writtenAt > busySeconds * 1000;
    const isWaiting = outstanding.receipt.state === "waiting";
    if (isWaiting || ((isBusy || outstanding.wasBusy) && !isLong)) {
      outstanding.wasBusy = isBusy;
      outstanding.timer = this.#watch(evidenceSeconds * 1000);
      return;
    }
    void this.#settle(outstanding, [...outstanding.ids], "ambiguous", "no_evidence");
  }

  async #settle(
    outstanding: Outstanding,
    ids: readonly string[],
    state: Settled,
    reason: string,
  ): Promise<void> {
    const { batch_id: batchId } = outstanding;
    for (const id of ids) {
      outstanding.ids.delete(id);
      if (state === "ambiguous") this.#unconfirmed.set(id, batchId);
      if (state === "queued") this.#queued.set(id, { batch_id: batchId, isNext: false, isLate: false });
    }
    for (const id of this.#unconfirmed.keys()) {
      if (this.#unconfirmed.size <= UNCONFIRMED_KEPT) break;
      this.#unconfirmed.delete(id);
    }
    this.#release(outstanding);
    await this.#append(ids.map((id) => this.#event(id, batchId, state, reason)));
    this.#settled();
  }

  /** What can't be recorded stays claimed, and becomes unconfirmed at the next start. */
  async #append(events: NewEvent[]): Promise<void> {
    if (events.length === 0) return;
    try {
      await this.#options.chat.ledger.appendAll(events);
    } catch (error) {
      const { group_id: groupId, actor_id: actorId } = this.#options.launch;
      this.#options.log.warn("prompt", { group_id: groupId, actor_id: actorId, ...errorFields(error) });
    }
  }

  #event(sourceEventId: string, batchId: string, state: DeliveryState, reason: string): NewEvent {
    const { chat, launch } = this.#options;
    return deliveryEvent(chat, launch, { source_event_id: sourceEventId, batch_id: batchId, state, reason });
  }
}

/** How the delivery of a message ended with its process. */
export function decided(
  id: string,
  { taken, untaken }: Findings,
  isQueued: boolean,
  reason: string,
): [state: DeliveryState, reason: string] {
  if (taken.has(id)) return ["accepted", IN_HISTORY];
  return untaken.has(id) || isQueued ? ["failed", ENDED_UNREAD] : ["ambiguous", reason];
}

/** A `runtime.delivery` of a terminal. */
export function deliveryEvent(
  chat: GroupChat,
  actor: { actor_id: string; generation: string },
  delivery: { source_event_id: string; batch_id: string; state: DeliveryState; reason: string },
): NewEvent {
  const { source_event_id: sourceEventId, batch_id: batchId, state, reason } = delivery;
  return chat.event("runtime.delivery", "system", {
    actor_id: actor.actor_id,
    actor_generation: actor.generation,
    source_event_id: sourceEventId,
    delivery_id: `${batchId}/${sourceEventId}`,
    state,
    transport: "pty",
    reason,
    batch_id: batchId,
  });
}
