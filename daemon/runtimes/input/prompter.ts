/**
 * Prompts one running process, with proof (docs/core-model.md#messages). What waits for the Actor
 * is claimed in the ledger, durably before the first byte. Then it goes into the terminal as one
 * bracketed paste, with Enter once the input line shows the paste, and only while the screen says
 * that this line is empty and has the focus (readiness.ts). `delivery-proof.ts` decides whether the
 * process took it.
 */

import { guardedClock, type Timer } from "../../../platform/clock.ts";
import { errorFields, errorKind } from "../../../platform/log.ts";
import type { InputReceipt } from "../../../platform/processes.ts";
import type { Random } from "../../../platform/random.ts";
import { Refusal } from "../../../shared/errors.ts";
import type { DeliveryState } from "../../../shared/events.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { NewEvent } from "../../ledger/types.ts";
import { HANDED_BACK } from "../../messaging/kinds.ts";
import type { ActorTerminal } from "../terminal/terminal.ts";
import { DeliveryProof, deliveryEvent, type ProofOptions } from "./delivery-proof.ts";
import { type AnswerWith, asPaste, type Parcel, parcelText, type Reader } from "./envelope.ts";
import { type Hold, Readiness } from "./readiness.ts";

export interface PrompterOptions extends ProofOptions {
  answerWith: AnswerWith;
  terminal: ActorTerminal;
  /** The runtime has our tools, or gets none from us. */
  hasTools(): boolean;
  random: Random;
  /** Called when the reason why messages wait has changed. */
  changed(): void;
  /** Something here has thrown that shouldn't. Nothing is known of what was written. */
  failed(error: unknown): void;
}

/** A batch in the terminal. */
interface Written {
  batch_id: string;
  ids: readonly string[];
  text: string;
  receipt: InputReceipt;
  /** Enter was pressed after it. */
  isEntered: boolean;
}

const RETRY_STORAGE_MS = 5000;

export class Prompter {
  readonly #options: PrompterOptions;
  readonly #readiness: Readiness;
  readonly #stops: (() => void)[] = [];
  readonly #proof: DeliveryProof;
  #timer: Timer | null = null;
  #work: Promise<void> | null = null;
  #again = false;
  #closed = false;
  #waiting: Hold | null = null;
  #looks: Timer | null = null;

  constructor(options: PrompterOptions) {
    const { clock } = options;
    const own = { now: () => clock.now(), monotonic: () => clock.monotonic() };
    const { after } = guardedClock(clock, (error) => options.failed(error));
    this.#options = { ...options, clock: { ...own, after } };
    this.#readiness = new Readiness(this.#options);
    this.#proof = new DeliveryProof(this.#options, () => this.consider());
  }

  /** Starts to deliver. */
  open(): void {
    const { chat, launch } = this.#options;
    this.#stops.push(chat.inbox(launch.actor_id).await(() => this.consider()));
    this.#proof.open();
    this.consider();
  }

  /** Why messages wait, in words; empty if none has to. */
  get waits(): string {
    return this.#waiting?.reason ?? "";
  }

  /** What a person must do before they can go in, in words; empty if nothing. */
  get needs(): string {
    return this.#waiting?.needsPerson === true ? this.#waiting.reason : "";
  }

  /** The screen has changed. */
  drawn(): void {
    if (this.#waiting?.isOfScreen !== true || this.#looks !== null) return;
    const { clock } = this.#options;
    const look = (): void => {
      this.#looks = null;
      this.consider();
    };
    this.#looks = clock.after(LIMITS.prompt.lookMs, look, { background: true });
  }

  /** Something changed that may let messages through. Throws nothing: anybody may call it. */
  consider(): void {
    if (this.#closed) return;
    try {
      this.#proof.consider();
    } catch (error) {
      this.#options.failed(error);
      return;
    }
    this.#again = true;
    this.#work ??= this.#loop()
      .catch((error: unknown) => this.#options.failed(error))
      .finally(() => {
        this.#work = null;
        // Someone typed between the last look and now.
        if (this.#again) this.consider();
      });
  }

  /** The process is gone: unproved prompts stay unconfirmed. */
  async close(reason: string): Promise<void> {
    this.#closed = true;
    for (const stop of this.#stops.splice(0)) stop();
    this.#timer?.cancel();
    this.#looks?.cancel();
    await this.#work;
    await this.#proof.close(reason);
  }

  async #loop(): Promise<void> {
    while (this.#again && !this.#closed) {
      this.#again = false;
      try {
        await this.#step();
      } catch (error) {
        const { group_id: groupId, actor_id: actorId } = this.#options.launch;
        this.#options.log.warn("prompt", { group_id: groupId, actor_id: actorId, ...errorFields(error) });
        const reason =
          error instanceof Refusal
            ? "the ledger can't be written"
            : `svc failed to deliver them (${errorKind(error)}); the daemon's log says where`;
        this.#wait({ reason, retryMs: RETRY_STORAGE_MS });
      }
    }
  }

  async #step(): Promise<void> {
    const { chat, launch } = this.#options;
    const queue = chat.projection.queue(launch.actor_id, launch.generation);
    if (queue === undefined || queue.pending.count + queue.returned.size === 0) {
      this.#wait(null);
      return;
    }
    const hold = this.#hold();
    this.#wait(hold);
    if (hold !== null) return;
    const written = await chat.inbox(launch.actor_id).inTurn(() => this.#handOver());
    const isEntered = written !== null && (written.isEntered || (await this.#enterLate(written)));
    if (isEntered) await this.#readiness.insist(written.text, () => this.#closed);
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
    const before = this.#waiting;
    this.#waiting = hold;
    const isSame = before?.reason === hold?.reason && before?.needsPerson === hold?.needsPerson;
    if (!isSame) this.#options.changed();
  }

  #hold(): Hold | null {
    const { chat, launch, clock } = this.#options;
    const actor = chat.group.record.actors.find(({ id }) => id === launch.actor_id);
    if (actor?.generation !== launch.generation) return { reason: "the Actor was removed" };
    if (!actor.enabled) return { reason: "disabled" };
    if (!chat.handsOut) return { reason: `the Group is ${chat.group.record.state}` };
    if (this.#proof.isAwaited) return { reason: "an earlier prompt isn't confirmed yet" };
    const hold = this.#readiness.hold(actor);
    if (hold !== null) return hold;
    const interval = chat.group.record.settings.min_interval_seconds * 1000;
    const pause = chat.inbox(launch.actor_id).handedOutAt + interval - clock.monotonic();
    return pause > 0 ? { reason: "the Group's minimum interval", retryMs: pause } : null;
  }

  get #reader(): Reader {
    const { answerWith, entry } = this.#options;
    return { answerWith, markdown: entry.markdown };
  }

  /**
   * Claims the oldest that waits and writes it. Runs in the Actor's turn. Null if nothing was
   * written.
   */
  async #handOver(): Promise<Written | null> {
    const { chat, launch, terminal, clock, random, reports } = this.#options;
    const parcels = this.#select();
    if (parcels.length === 0) return null;
    const batchId = `b_${random.uuid().replaceAll("-", "")}`;
    const isBusy = reports.doing(launch) === "working";
    const ids = parcels.map(({ event }) => event.id);
    const again = new Set(parcels.filter(({ redelivered }) => redelivered).map(({ event }) => event.id));
    await chat.ledger.appendAll(
      ids.map((id) =>
        this.#event(id, batchId, "claimed", isBusy ? "busy" : again.has(id) ? "redelivered" : ""),
      ),
    );
    const text = parcels.map((parcel) => parcelText(parcel, this.#reader)).join("\n\n");
    // Much may have happened while the disk worked. Output that arrived since is drawn first.
    await terminal.settled();
    const hold = this.#closed ? { reason: "" } : this.#hold();
    const receipt = hold === null ? terminal.write(asPaste(text)) : null;
    if (receipt === null) {
      this.#wait(hold);
      await chat.ledger.appendAll(ids.map((id) => this.#event(id, batchId, "failed", HANDED_BACK)));
      return null;
    }
    chat.inbox(launch.actor_id).handedOutAt = clock.monotonic();
    // When in doubt, Enter isn't pressed. A person may still press it, and that counts too.
    const isEntered = await this.#enter(text, receipt);
    await this.#proof.written(batchId, ids, isBusy, receipt);
    return { batch_id: batchId, ids, text, receipt, isEntered };
  }

  async #enter(text: string, receipt: InputReceipt): Promise<boolean> {
    const { terminal, entry } = this.#options;
    const takes = await this.#readiness.takes(text, receipt, () => this.#closed);
    return takes && terminal.write(entry.submit) !== null;
  }

  /** The process didn't read when this was written. Presses Enter once it has read it. */
  async #enterLate({ batch_id: batchId, text, receipt }: Written): Promise<boolean> {
    if (receipt.state === "written" || this.#closed) return false;
    const isRead = await this.#readiness.reads(receipt, () => this.#closed);
    if (this.#closed) return false;
    await this.#proof.passedOn(batchId);
    return isRead && this.#enter(text, receipt);
  }

  /** The oldest of what waits, up to the limits of one prompt. */
  #select(): Parcel[] {
    const { chat, launch } = this.#options;
    const queue = chat.projection.queue(launch.actor_id, launch.generation);
    if (queue === undefined) return [];
    const candidates = new Map<number, boolean>();
    for (let at = 0; at < Math.min(LIMITS.prompt.messages, queue.pending.count); at += 1) {
      candidates.set(queue.pending.at(at), false);
    }
    for (const [id, { ordinal, redelivered }] of queue.returned) {
      // An import's ledger could say anything.
      if (chat.ledger.ordinalOf(id) === ordinal) candidates.set(ordinal, redelivered);
    }
    const ordinals = [...candidates.keys()].sort((a, b) => a - b).slice(0, LIMITS.prompt.messages);
    const parcels: Parcel[] = [];
    let bytes = 0;
    for (const { ordinal, event } of chat.inboxEvents(ordinals)) {
      const parcel = { event, redelivered: candidates.get(ordinal)! };
      bytes += Buffer.byteLength(parcelText(parcel, this.#reader));
      if (parcels.length > 0 && bytes > LIMITS.prompt.batchBytes) break;
      parcels.push(parcel);
    }
    return parcels;
  }

  #event(sourceEventId: string, batchId: string, state: DeliveryState, reason: string): NewEvent {
    const { chat, launch } = this.#options;
    return deliveryEvent(chat, launch, { source_event_id: sourceEventId, batch_id: batchId, state, reason });
  }
}
