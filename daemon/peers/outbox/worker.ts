/**
 * One step of one record: from accepted to sent, failed or unconfirmed
 * (docs/protocol.md#delivery-states, docs/protocol.md#cancellation). A step makes what it learns
 * durable before it acts on it: a POST goes out only after the record says that one may have
 * escaped.
 */

import type { Clock } from "../../../platform/clock.ts";
import { errorFields, type Log } from "../../../platform/log.ts";
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { type ConnectPeerOperation, ReceiptResult } from "../../../shared/wire/v1/peer.ts";
import { DELIVERY_NOTES, isPassing } from "../../../shared/wire/v1/refusals.ts";
import { untimelyReceipt } from "../../../shared/wire/v1/timely.ts";
import { uuidKey } from "../../../shared/wire/v1/uuid.ts";
import type { NewEvent } from "../../ledger/types.ts";
import type { Chats, GroupChat } from "../../messaging/group-chat.ts";
import type { Authorities, Binding } from "../authorities.ts";
import type { Grant } from "../authority.ts";
import { outgoingBlobs } from "../requests/outgoing-blobs.ts";
import type { Answer, PeerSender } from "../requests/peer-sender.ts";
import { withPermit } from "../requests/permits.ts";
import type { SourceEvents } from "../requests/source-event.ts";
import { type Ending, endingOf, noticeEvent, receiptEvent } from "../requests/terminal.ts";
import { operationDigest } from "../wire/digests.ts";
import type { Outbox } from "./outbox.ts";
import type { OutboxEntry, QueuedWork } from "./outbox-entry.ts";

/**
 * What a step tells the scheduler:
 * - `ended`: the record is gone.
 * - `peer`: the route to the peer failed. `tried` if there was one, `escaped` if something may have
 *   arrived.
 * - `job`: only this record has to wait, for its backoff or for `seconds`.
 */
type Progress =
  | { kind: "ended" }
  | { kind: "peer"; tried: boolean; escaped: boolean; error: StepError }
  | { kind: "job"; seconds?: number; error: StepError };

/** `answered` says that the peer gave a signed answer in the meantime. */
export type Step = Progress & { answered: boolean };

interface StepError {
  code: string;
  message: string;
}

/** The work in progress, as every part of a step needs it. */
interface Task {
  entry: OutboxEntry;
  record: QueuedWork;
  chat: GroupChat;
  signal: AbortSignal;
  answered: boolean;
}

interface Dependencies {
  clock: Clock;
  log: Log;
  outbox: Outbox;
  chats: Chats;
  authorities: Authorities;
  sender: PeerSender;
  source: SourceEvents;
}

export class OutboxWorker {
  readonly #deps: Dependencies;
  /** Monotonic time of the last unanswered POST of a record. */
  readonly #unanswered = new WeakMap<OutboxEntry, number>();
  readonly #startedAt: number;

  constructor(deps: Dependencies) {
    this.#deps = deps;
    this.#startedAt = deps.clock.monotonic();
  }

  /** Never rejects. */
  async step(entry: OutboxEntry, signal: AbortSignal): Promise<Step> {
    const { outbox, chats, log } = this.#deps;
    const chat = chats.find(entry.source.group_id);
    if (chat === undefined) return { ...job("group_unavailable", "The Group isn't open."), answered: false };
    if (chat.ledger.damage !== null) {
      // What became of it couldn't be recorded.
      return { ...job("ledger_damaged", "The Group's history is damaged."), answered: false };
    }
    let task: Task | undefined;
    try {
      task = { entry, record: outbox.read(entry), chat, signal, answered: false };
      const progress = await this.#step(task);
      // It may have been retired while the step ran.
      return { ...(outbox.has(entry) ? progress : ENDED), answered: task.answered };
    } catch (error) {
      const answered = task?.answered ?? false;
      if (!outbox.has(entry)) return { ...ENDED, answered };
      log.warn("outbox_step", { delivery_id: entry.delivery_id, ...errorFields(error) });
      const isRefusal = error instanceof Refusal;
      const message = isRefusal ? error.message : "The record can't be processed right now.";
      return { ...job(isRefusal ? error.code : "io_error", message), answered };
    }
  }

  async #step(task: Task): Promise<Progress> {
    const { entry, chat } = task;
    const { receipt, notified } = endingOf(chat, entry.source_event_id);
    if (receipt !== null) {
      if (notified) return this.#close(task, null);
      return this.#close(task, () => listed(noticeEvent(chat, task.record, receipt.data)));
    }
    if (chat.ledger.ordinalOf(entry.source_event_id) === undefined) {
      await withPermit(chat.group, this.#deps.clock, () =>
        this.#deps.source.project(chat, task.record.source_event),
      );
    }
    const state = this.#deps.authorities.forBinding(bindingOf(entry));
    if (state.state === "gone")
      return this.#lose(task, { code: DELIVERY_NOTES.gone.code, message: state.reason });
    const isOver = this.#isOver(entry);
    if (isOver && (entry.kind === "cancel" || !entry.progress.needs_receipt)) return this.#expire(task);
    if (state.state === "unavailable") {
      return isOver ? this.#expire(task) : job(DELIVERY_NOTES.unconfirmed.code, state.reason);
    }
    return entry.kind === "message"
      ? this.#message(task, state.grant, isOver)
      : this.#cancellation(task, state.grant);
  }

  async #message(task: Task, grant: Grant, isOver: boolean): Promise<Progress> {
    const { entry, record } = task;
    if (record.work.kind !== "message") throw new Error("not a message");
    const message = record.work.data;
    const before = entry.progress.needs_receipt;
    if (grant.route === null && !isOver) return NO_WAY;
    if (before) {
      // Rule 7: after a possible send, ask for a receipt first.
      const asked = await this.#askReceipt(task, grant);
      if (asked !== null) return isOver && asked.kind !== "ended" ? this.#expire(task) : asked;
    }
    // The receipt query may have taken a while.
    if (this.#isOver(entry)) return this.#expire(task);
    for (const { sha256 } of message.attachments) await task.chat.blobs.checked.check(sha256);
    const blobs = outgoingBlobs(task.chat, message.attachments);
    const operation = { op: "deliver" as const, message, blobs };
    // Files that can't be read are found before the record says that anything went out.
    const operationSha256 = await operationDigest(operation, record.json);
    if (!before) await this.#note(task, true);
    const answer = await this.#ask(task, grant, operation, operationSha256);
    switch (answer.kind) {
      case "result":
        return (await this.#takeReceipt(task, answer.result)) ?? this.#escape(task, NO_RECEIPT);
      case "not_sent":
        if (!before) await this.#note(task, false);
        return unreachable(answer.reason, false);
      case "unknown":
        return this.#escape(task, answer.reason);
      case "error":
        // A denial comes before anything is admitted, so it is as if the POST hadn't happened.
        if (answer.code === "connect_peer_denied" && !before) await this.#note(task, false);
        if (isPassing(answer.code)) return job(answer.code, answer.message);
        return this.#refuse(task, answer);
    }
  }

  /** Null when the target says, signed, that it doesn't have it. */
  async #askReceipt(task: Task, grant: Grant): Promise<Progress | null> {
    const { entry, record } = task;
    if (record.work.kind !== "message") throw new Error("not a message");
    const answer = await this.#ask(task, grant, {
      op: "receipt",
      ...(entry.connection_id === null ? {} : { connection_id: entry.connection_id }),
      source_group_id: entry.source.group_id,
      target_group_id: entry.target.group_id,
      delivery_id: entry.delivery_id,
      message_sha256: record.sha256,
    });
    switch (answer.kind) {
      case "result": {
        const parsed = ReceiptResult.safeParse(answer.result);
        if (parsed.success && parsed.data.receipt === null) return null;
        return (await this.#takeReceipt(task, answer.result)) ?? unreachable(NO_RECEIPT, true);
      }
      case "not_sent":
        return unreachable(answer.reason, false);
      case "unknown":
        return unreachable(answer.reason, true);
      case "error":
        return job(answer.code, answer.message);
    }
  }

  async #cancellation(task: Task, grant: Grant): Promise<Progress> {
    const { entry, record } = task;
    if (record.work.kind !== "cancel") throw new Error("not a cancellation");
    const cancellation = record.work.data;
    if (grant.route === null) return NO_WAY;
    const operation = { op: "cancel" as const, cancellation };
    const answer = await this.#ask(task, grant, operation, await operationDigest(operation, record.json));
    switch (answer.kind) {
      case "result": {
        return (await this.#takeReceipt(task, answer.result)) ?? this.#escape(task, NO_RECEIPT);
      }
      case "not_sent":
        return unreachable(answer.reason, false);
      case "unknown":
        return this.#escape(task, answer.reason);
      case "error":
        if (answer.code === "connect_original_pending") {
          return { kind: "job", seconds: this.#pendingSeconds(entry), error: errorOf(answer) };
        }
        if (isPassing(answer.code)) return job(answer.code, answer.message);
        return this.#refuse(task, answer);
    }
  }

  /**
   * CAN-015: 5 s, or less if the withdrawal's window would otherwise close before the original's is
   * seen to be over.
   */
  #pendingSeconds({
    deliver_before: deliverBefore,
    original_deliver_before: originalDeliverBefore,
  }: OutboxEntry): number {
    const now = this.#deps.clock.now();
    const usual = LIMITS.connect.originalPendingSeconds;
    const original = (originalDeliverBefore ?? now) - now;
    const isTooLate = now + usual * 1000 >= deliverBefore;
    return isTooLate && original >= 0 ? (original + 1) / 1000 : usual;
  }

  async #ask(
    task: Task,
    grant: Grant,
    operation: ConnectPeerOperation,
    operationSha256?: string,
  ): Promise<Answer> {
    const { entry, signal } = task;
    const { outbox, authorities, sender } = this.#deps;
    const answer = await sender.ask(grant, operation, signal, {
      ...(operationSha256 === undefined ? {} : { operation_sha256: operationSha256 }),
      bytes: operation.op === "deliver" ? entry.blobBytes : 0,
      isStillGranted: () => outbox.has(entry) && authorities.forBinding(bindingOf(entry)).state === "granted",
    });
    if (answer.kind === "result" || answer.kind === "error") task.answered = true;
    return answer;
  }

  /** The positive receipt for exactly this work ends it. Null for anything else. */
  async #takeReceipt(task: Task, result: unknown): Promise<Progress | null> {
    const parsed = ReceiptResult.safeParse(result);
    const receipt = parsed.success ? parsed.data.receipt : null;
    if (receipt === null || receipt.message_sha256 !== task.record.sha256) return null;
    if (uuidKey(receipt.delivery_id) !== uuidKey(task.entry.delivery_id)) return null;
    if (untimelyReceipt(receipt, this.#deps.clock.now()) !== null) return null;
    const remoteEventId = uuidKey(receipt.event_id);
    return this.#end(task, { status: "sent", remote_event_id: remoteEventId, error: null });
  }

  /** A POST that may have arrived. */
  #escape(task: Task, reason: string): Progress {
    this.#unanswered.set(task.entry, this.#deps.clock.monotonic());
    return unreachable(reason, true);
  }

  /** A signed, final refusal counts once no earlier POST can still be on its way. */
  #refuse(task: Task, answer: StepError): Progress | Promise<Progress> {
    const { entry } = task;
    const now = this.#deps.clock.monotonic();
    const known = this.#unanswered.get(entry);
    // What an earlier run sent may be no older than this run.
    const last = known ?? (entry.leftOver ? this.#startedAt : Number.NEGATIVE_INFINITY);
    const wait = last + LIMITS.connect.postEscapesSeconds * 1000 - now;
    if (wait <= 0) {
      return this.#end(task, { status: "failed", remote_event_id: null, error: errorOf(answer) });
    }
    return { kind: "job", seconds: wait / 1000, error: errorOf(answer) };
  }

  #isOver(entry: OutboxEntry): boolean {
    return this.#deps.clock.now() >= entry.deliver_before;
  }

  #expire(task: Task): Promise<Progress> {
    const message = "It couldn't be delivered within 15 minutes.";
    const last = task.entry.progress.last_error;
    return this.#lose(task, {
      code: DELIVERY_NOTES.expired.code,
      message: last === null ? message : `${message} ${last.message}`,
    });
  }

  /**
   * Nothing more can be done: work that was never sent is `failed`, anything else `unconfirmed`
   * (OUT-025 to OUT-031, CAN-019).
   */
  #lose(task: Task, error: StepError): Promise<Progress> {
    const { kind, progress } = task.entry;
    const status = kind === "message" && !progress.needs_receipt ? "failed" : "unconfirmed";
    return this.#end(task, { status, remote_event_id: null, error });
  }

  #end(task: Task, ending: Ending): Promise<Progress> {
    const { chat, record } = task;
    return this.#close(task, () => [
      receiptEvent(chat, record, ending),
      ...listed(noticeEvent(chat, record, ending)),
    ]);
  }

  /**
   * Writes what is left to write, then removes the record (OUT-024, OUT-034). `events` is called
   * under the permit: while it was waited for, the Actor that the notice is for may have been
   * removed.
   */
  async #close({ chat, entry }: Task, events: (() => NewEvent[]) | null): Promise<Progress> {
    const { clock, outbox } = this.#deps;
    if (events !== null) {
      await withPermit(chat.group, clock, async () => {
        const last = events();
        if (last.length > 0) await chat.ledger.appendAll(last);
      });
    }
    outbox.remove(entry);
    return ENDED;
  }

  #note({ entry, record }: Task, needsReceipt: boolean): Promise<void> {
    return this.#deps.outbox.update(entry, record, { needs_receipt: needsReceipt, source_projected: true });
  }
}

const ENDED: Progress = { kind: "ended" };
const NO_WAY: Progress = {
  kind: "peer",
  tried: false,
  escaped: false,
  error: { code: DELIVERY_NOTES.unreachable.code, message: "The other instance can't be reached right now." },
};
const NO_RECEIPT = "The answer has no receipt for the message.";

/** What a record says about its route. */
export function bindingOf({ connection_id: connectionId, source, target, peer }: OutboxEntry): Binding {
  return {
    connection_id: connectionId,
    local_group_id: source.group_id,
    remote_group_id: target.group_id,
    remote_instance_id: peer,
    local_device_id: source.device_id,
    remote_device_id: target.device_id,
  };
}

function listed(event: NewEvent | null): NewEvent[] {
  return event === null ? [] : [event];
}

function errorOf({ code, message }: StepError): StepError {
  return { code, message };
}

function unreachable(message: string, escaped: boolean): Progress {
  return { kind: "peer", tried: true, escaped, error: { code: DELIVERY_NOTES.unreachable.code, message } };
}

function job(code: string, message: string): Progress {
  return { kind: "job", error: { code, message } };
}
