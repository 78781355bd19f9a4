/**
 * When the account service is asked (docs/protocol.md#account): at once after a change here, every
 * minute otherwise, and later and later while it fails. One question at a time.
 */
import type { Clock, Timer } from "../../../platform/clock.ts";
import { errorFields, type Log } from "../../../platform/log.ts";
import type { Random } from "../../../platform/random.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { Binding, Membership } from "./membership.ts";

/** One question, for one binding. */
export interface Question {
  binding: Binding;
  /** What `subject` said when the question began. */
  subject: string | null;
  signal: AbortSignal;
  /** Whether the answer still belongs to the binding. To be asked after every wait. */
  isCurrent: () => boolean;
  /** Called once the answer counts: says when the next question comes. */
  answered: (isDone: boolean, retrySeconds: number) => void;
}

interface Dependencies {
  clock: Clock;
  random: Random;
  log: Log;
  membership: Membership;
  /** Of the log's event. */
  name: string;
  /** What the question depends on beside the binding: a change of it asks again at once. */
  subject: (binding: Binding) => string | null;
  /** Seconds between two questions that were answered. */
  seconds: () => number;
  ask: (question: Question) => Promise<void>;
}

const { link, connect } = LIMITS;

export class RefreshCycle {
  readonly #deps: Dependencies;
  #attempt: { binding: Binding; subject: string | null } | null = null;
  #running: { done: Promise<void>; abort: AbortController; binding: Binding } | null = null;
  #failures = 0;
  /** Monotonic time of the next question. */
  #dueAt = 0;
  /** By when it was hastened while a question was running, which may not know the reason. */
  #hastenedTo = Number.POSITIVE_INFINITY;
  #timer: Timer | null = null;
  #isClosed = false;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /** Begins, and looks again after a change of the binding. */
  follow(): void {
    const running = this.#running;
    if (running !== null && running.binding !== this.#deps.membership.binding) running.abort.abort();
    this.#tick();
  }

  /** Asks now. Resolves when it was answered or failed. */
  async refresh(): Promise<void> {
    await this.#running?.done;
    this.#run();
    await this.#running?.done;
  }

  /** Asks no later than this many seconds from now. */
  hasten(seconds: number): void {
    const at = this.#deps.clock.monotonic() + seconds * 1000;
    this.#dueAt = Math.min(this.#dueAt, at);
    if (this.#running !== null) this.#hastenedTo = Math.min(this.#hastenedTo, at);
    this.#tick();
  }

  /** Ends a running question. Nothing is written after that. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#running?.abort.abort();
    await this.#running?.done;
  }

  #tick(): void {
    this.#timer?.cancel();
    this.#timer = null;
    const { clock, membership, subject } = this.#deps;
    const { binding } = membership;
    if (this.#isClosed || binding === null) return;
    const now = clock.monotonic();
    const isNew = this.#attempt?.binding !== binding || this.#attempt.subject !== subject(binding);
    if (isNew) this.#failures = 0;
    if (isNew || now >= this.#dueAt) this.#run();
    const wait = Math.max(0, Math.min(link.checkSeconds * 1000, this.#dueAt - now));
    this.#timer = clock.after(wait === 0 ? link.checkSeconds * 1000 : wait, () => this.#tick(), {
      background: true,
    });
  }

  #run(): void {
    const { membership, subject, ask, log, name } = this.#deps;
    const { binding } = membership;
    if (this.#isClosed || this.#running !== null || binding === null) return;
    this.#attempt = { binding, subject: subject(binding) };
    this.#hastenedTo = Number.POSITIVE_INFINITY;
    const abort = new AbortController();
    const done = ask({
      ...this.#attempt,
      signal: abort.signal,
      isCurrent: () => !this.#isClosed && membership.binding === binding,
      answered: (isDone, retrySeconds) => this.#plan(isDone, retrySeconds),
    })
      .catch((error: unknown) => {
        log.error(name, errorFields(error));
        this.#plan(false, 0);
      })
      .finally(() => {
        this.#running = null;
        this.#tick();
      });
    this.#running = { done, abort, binding };
  }

  #plan(isDone: boolean, retrySeconds: number): void {
    const { clock, random, seconds } = this.#deps;
    const { backoffSeconds } = connect;
    const backoff = backoffSeconds[Math.min(this.#failures, backoffSeconds.length - 1)]!;
    // Devices that were linked together don't come together.
    const early = (random.bytes(1)[0]! / 256) * link.jitterSeconds;
    const wait = isDone ? seconds() - early : Math.max(backoff, retrySeconds);
    this.#failures = isDone ? 0 : this.#failures + 1;
    this.#dueAt = clock.monotonic() + wait * 1000;
    if (isDone) this.#dueAt = Math.min(this.#dueAt, this.#hastenedTo);
  }
}
