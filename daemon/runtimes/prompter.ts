/**
 * Prompts one running process, with proof (core-model.md, "Messages"). What waits for the Actor is claimed in the ledger, durable before the first
 * byte; then it goes into the terminal as one bracketed paste and Enter, in one write. The process has taken it when its own UserPromptSubmit hook
 * shows the messages' ids; without that it stays unconfirmed, and nothing is ever sent again by itself.
 */
import { LIMITS } from "../../shared/limits.ts";
import type { Launch, LaunchReports } from "../activity/launches.ts";
import type { NewEvent } from "../ledger/types.ts";
import type { GroupRoom } from "../messaging/group-room.ts";
import { EVENTS, HANDED_BACK } from "../messaging/kinds.ts";
import type { Clock, Timer } from "../platform/clock.ts";
import { errorFields, type Log } from "../platform/log.ts";
import type { Random } from "../platform/random.ts";
import type { RuntimeEntry } from "./catalogue.ts";
import { type AnswerWith, asPaste, type Parcel, parcelText, type Reader } from "./envelope.ts";
import type { ActorTerminal } from "./terminal.ts";

export interface PrompterOptions {
  room: GroupRoom;
  launch: Launch;
  entry: RuntimeEntry;
  answerWith: AnswerWith;
  terminal: ActorTerminal;
  reports: LaunchReports;
  /** The runtime has our tools, or gets none from us. */
  hasTools(): boolean;
  clock: Clock;
  random: Random;
  log: Log;
  /** Told when why messages wait has changed. */
  changed(): void;
}

/** A batch that was written and isn't settled. */
interface Outstanding {
  batch_id: string;
  ids: Set<string>;
  /** Monotonic. */
  writtenAt: number;
  /** The runtime was busy when last looked at. */
  wasBusy: boolean;
  timer: Timer;
}

/** Why nothing is handed over now, in words; `retryMs` when time alone will change it. */
interface Hold {
  reason: string;
  retryMs?: number;
}

type Settled = "accepted" | "ambiguous";

const RETRY_STORAGE_MS = 5000;
const UNCONFIRMED_KEPT = 256;
const { evidenceSeconds, busySeconds, readySeconds, toolsSeconds, typingSeconds } = LIMITS.prompt;

export class Prompter {
  readonly #options: PrompterOptions;
  readonly #startedAt: number;
  readonly #stops: (() => void)[] = [];
  /** Ids that stayed unconfirmed, with their batches: a late proof still counts. */
  readonly #unconfirmed = new Map<string, string>();
  #outstanding: Outstanding | null = null;
  #timer: Timer | null = null;
  #work: Promise<void> | null = null;
  #again = false;
  #closed = false;
  #waits = "";

  constructor(options: PrompterOptions) {
    this.#options = options;
    this.#startedAt = options.clock.monotonic();
  }

  /** Begins to hand over. */
  open(): void {
    const { room, launch, reports } = this.#options;
    this.#stops.push(
      room.desk(launch.actor_id).await(() => this.consider()),
      reports.onPrompt((from, prompt) => {
        if (from.token_digest === launch.token_digest) this.#evidence(prompt);
      }),
    );
    this.consider();
  }

  /** Why messages wait, in words; empty when none has to. */
  get waits(): string {
    return this.#waits;
  }

  /** Something changed that may let messages through. */
  consider(): void {
    if (this.#closed) return;
    this.#again = true;
    this.#work ??= this.#loop().finally(() => {
      this.#work = null;
      // Somebody came between the last look and now.
      if (this.#again) this.consider();
    });
  }

  /** The process is gone: what it didn't prove to have taken stays unconfirmed. */
  async close(reason: string): Promise<void> {
    this.#closed = true;
    for (const stop of this.#stops.splice(0)) stop();
    this.#timer?.cancel();
    await this.#work;
    const left = this.#outstanding;
    if (left !== null) await this.#settle(left, [...left.ids], "ambiguous", reason);
  }

  async #loop(): Promise<void> {
    while (this.#again && !this.#closed) {
      this.#again = false;
      try {
        await this.#step();
      } catch (error) {
        const { group_id, actor_id } = this.#options.launch;
        this.#options.log.warn("prompt", { group_id, actor_id, ...errorFields(error) });
        this.#wait({ reason: "the ledger can't be written", retryMs: RETRY_STORAGE_MS });
      }
    }
  }

  async #step(): Promise<void> {
    const { room, launch } = this.#options;
    const queue = room.projection.queue(launch.actor_id, launch.generation);
    if (queue === undefined || queue.pending.count + queue.returned.size === 0) {
      this.#wait(null);
      return;
    }
    const hold = this.#hold();
    this.#wait(hold);
    if (hold !== null) return;
    await room.desk(launch.actor_id).inTurn(() => this.#handOver());
    this.#again = true;
  }

  #wait(hold: Hold | null): void {
    this.#timer?.cancel();
    this.#timer = null;
    if (hold?.retryMs !== undefined) {
      this.#timer = this.#options.clock.after(Math.ceil(hold.retryMs), () => this.consider(), {
        background: true,
      });
    }
    const waits = hold?.reason ?? "";
    if (waits === this.#waits) return;
    this.#waits = waits;
    this.#options.changed();
  }

  #hold(): Hold | null {
    const { room, launch, terminal, clock, reports } = this.#options;
    const actor = room.group.record.actors.find(({ id }) => id === launch.actor_id);
    if (actor?.generation !== launch.generation) return { reason: "the Actor was removed" };
    if (!actor.enabled) return { reason: "disabled" };
    if (!room.handsOut) return { reason: `the Group is ${room.group.record.state}` };
    if (this.#outstanding !== null) return { reason: "an earlier prompt isn't confirmed yet" };
    const now = clock.monotonic();
    if (!terminal.reads) {
      const left = this.#startedAt + readySeconds * 1000 - now;
      return left > 0
        ? { reason: "starting", retryMs: left }
        : { reason: "its terminal hasn't shown that it reads prompts (bracketed paste is off)" };
    }
    if (!this.#options.hasTools()) {
      const left = this.#startedAt + toolsSeconds * 1000 - now;
      if (left > 0) return { reason: "starting", retryMs: left };
    }
    if (reports.doing(launch) === "waiting") return { reason: "it waits for a person's answer" };
    const typing = terminal.typedAt + typingSeconds * 1000 - now;
    if (typing > 0) return { reason: "somebody types in its terminal", retryMs: typing };
    const interval = room.group.record.settings.min_interval_seconds * 1000;
    const pause = room.desk(launch.actor_id).handedOutAt + interval - now;
    return pause > 0 ? { reason: "the Group's minimum interval", retryMs: pause } : null;
  }

  get #reader(): Reader {
    const { answerWith, entry } = this.#options;
    return { answerWith, markdown: entry.markdown };
  }

  /** Claims the oldest that waits and writes it. Runs in the desk's turn. */
  async #handOver(): Promise<void> {
    const { room, launch, entry, terminal, clock, random, reports } = this.#options;
    const parcels = this.#select();
    if (parcels.length === 0) return;
    const batch_id = `b_${random.uuid().replaceAll("-", "")}`;
    const isBusy = reports.doing(launch) === "working";
    const ids = parcels.map(({ event }) => event.id);
    const again = new Set(parcels.filter(({ redelivered }) => redelivered).map(({ event }) => event.id));
    await room.ledger.appendAll(
      ids.map((id) =>
        this.#event(id, batch_id, "claimed", isBusy ? "busy" : again.has(id) ? "redelivered" : ""),
      ),
    );
    const text = parcels.map((parcel) => parcelText(parcel, this.#reader)).join("\n\n");
    // Much may have happened while the disk worked.
    const hold = this.#closed ? { reason: "" } : this.#hold();
    if (hold !== null || !terminal.write(asPaste(text, entry.submit))) {
      await room.ledger.appendAll(ids.map((id) => this.#event(id, batch_id, "failed", HANDED_BACK)));
      return;
    }
    const now = clock.monotonic();
    room.desk(launch.actor_id).handedOutAt = now;
    const outstanding: Outstanding = {
      batch_id,
      ids: new Set(ids),
      writtenAt: now,
      wasBusy: isBusy,
      timer: this.#watch(evidenceSeconds * 1000),
    };
    this.#outstanding = outstanding;
    // A proof from now on is one of this attempt.
    for (const id of ids) this.#unconfirmed.delete(id);
    if (entry.evidence === "none" || !launch.has_hooks) {
      await this.#settle(outstanding, ids, "ambiguous", "no_proof_possible");
    }
  }

  /** The oldest of what waits, up to the limits of one prompt. */
  #select(): Parcel[] {
    const { room, launch } = this.#options;
    const queue = room.projection.queue(launch.actor_id, launch.generation);
    if (queue === undefined) return [];
    const candidates = new Map<number, boolean>();
    for (let at = 0; at < Math.min(LIMITS.prompt.messages, queue.pending.count); at += 1) {
      candidates.set(queue.pending.at(at), false);
    }
    for (const [id, { ordinal, redelivered }] of queue.returned) {
      // An import's ledger could say anything.
      if (room.ledger.ordinalOf(id) === ordinal) candidates.set(ordinal, redelivered);
    }
    const ordinals = [...candidates.keys()].sort((a, b) => a - b).slice(0, LIMITS.prompt.messages);
    const parcels: Parcel[] = [];
    let bytes = 0;
    for (const [at, event] of room.ledger.readMany(ordinals).entries()) {
      const parcel = { event, redelivered: candidates.get(ordinals[at]!)! };
      bytes += Buffer.byteLength(parcelText(parcel, this.#reader));
      if (parcels.length > 0 && bytes > LIMITS.prompt.batchBytes) break;
      parcels.push(parcel);
    }
    return parcels;
  }

  /** `prompt` is compared and forgotten. */
  #evidence(prompt: string): void {
    const outstanding = this.#outstanding;
    const shown = outstanding === null ? [] : [...outstanding.ids].filter((id) => prompt.includes(id));
    if (outstanding !== null && shown.length > 0) {
      void this.#settle(outstanding, shown, "accepted", outstanding.wasBusy ? "hook_queued" : "hook");
    }
    const late = [...this.#unconfirmed].filter(([id]) => prompt.includes(id));
    for (const [id] of late) this.#unconfirmed.delete(id);
    if (late.length > 0) {
      void this.#append(late.map(([id, batch_id]) => this.#event(id, batch_id, "accepted", "late_hook")));
    }
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
    if ((isBusy || outstanding.wasBusy) && !isLong) {
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
    const { batch_id } = outstanding;
    for (const id of ids) {
      outstanding.ids.delete(id);
      if (state === "ambiguous") this.#unconfirmed.set(id, batch_id);
    }
    for (const id of this.#unconfirmed.keys()) {
      if (this.#unconfirmed.size <= UNCONFIRMED_KEPT) break;
      this.#unconfirmed.delete(id);
    }
    if (outstanding.ids.size === 0) {
      outstanding.timer.cancel();
      if (this.#outstanding === outstanding) this.#outstanding = null;
    }
    await this.#append(ids.map((id) => this.#event(id, batch_id, state, reason)));
    this.consider();
  }

  /** What can't be noted stays claimed, and becomes unconfirmed with the next start. */
  async #append(events: NewEvent[]): Promise<void> {
    try {
      await this.#options.room.ledger.appendAll(events);
    } catch (error) {
      const { group_id, actor_id } = this.#options.launch;
      this.#options.log.warn("prompt", { group_id, actor_id, ...errorFields(error) });
    }
  }

  #event(source_event_id: string, batch_id: string, state: string, reason: string): NewEvent {
    const { room, launch } = this.#options;
    return deliveryEvent(room, launch, { source_event_id, batch_id, state, reason });
  }
}

/** A `runtime.delivery` of a terminal. */
export function deliveryEvent(
  room: GroupRoom,
  actor: { actor_id: string; generation: string },
  delivery: { source_event_id: string; batch_id: string; state: string; reason: string },
): NewEvent {
  const { source_event_id, batch_id, state, reason } = delivery;
  return room.event(EVENTS.delivery, "system", {
    actor_id: actor.actor_id,
    actor_generation: actor.generation,
    source_event_id,
    delivery_id: `${batch_id}/${source_event_id}`,
    state,
    transport: "pty",
    reason,
    batch_id,
  });
}
