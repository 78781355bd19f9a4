/**
 * The directory of the account's instances (docs/protocol.md#account): registers this one, keeps
 * what the account service confirms in `secrets/connect.json`, and lets nobody use it longer than
 * it is valid. One state machine: a local check every 2 s, a refresh every 60 s, and backoff.
 */
import * as z from "zod";
import { type Clock, type Timer, timestamp } from "../../../platform/clock.ts";
import { JsonDocument } from "../../../platform/documents.ts";
import type { Files } from "../../../platform/files.ts";
import { errorFields, type Log } from "../../../platform/log.ts";
import { HomeProblem } from "../../../platform/problem.ts";
import type { Random } from "../../../platform/random.ts";
import { Signal } from "../../../platform/signal.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { PRODUCT_VERSION } from "../../../shared/version.ts";
import { Directory } from "../../../shared/wire/v1/account.ts";
import { ServiceOrigin } from "../../../shared/wire/v1/fields.ts";
import { registrationStatement } from "../../../shared/wire/v1/signing.ts";
import { milliseconds, Time } from "../../../shared/wire/v1/time.ts";
import { type Signer, signStatement } from "../wire/statements.ts";
import type { AccountClient, AccountFailure, Answered } from "./account-client.ts";
import type { AccountMembers } from "./members.ts";
import type { Binding, Membership } from "./membership.ts";

const Snapshot = z.object({
  account_origin: ServiceOrigin,
  device_id: z.string(),
  instance_id: z.string(),
  directory: Directory.nullable(),
  checked_at: Time.nullable(),
  error_code: z.string().nullable(),
  error_message: z.string().nullable(),
});
export type Snapshot = z.infer<typeof Snapshot>;

export interface DirectoryDependencies {
  files: Files;
  clock: Clock;
  random: Random;
  log: Log;
  path: string;
  identity: Signer & { instance_id: string; public_key: string };
  membership: Membership;
  client: AccountClient;
  members: AccountMembers;
  /** The origin that this instance advertises to that account service now. */
  publicOrigin: (accountOrigin: string) => string | null;
}

/** What was registered, or was tried: another binding or origin is registered at once. */
interface Attempt {
  binding: Binding;
  origin: string | null;
}

const { link, connect } = LIMITS;
const VALID_MS = link.validSeconds * 1000;
/** How far the account service's clock may be from ours. */
const SKEW_MS = connect.registrationSkewSeconds * 1000;

export class AccountDirectory {
  readonly #deps: DirectoryDependencies;
  readonly #changed = new Signal();
  #document: JsonDocument<Snapshot> | null;
  #problem: string | null;
  /** Monotonic time until which the directory may be used. */
  #validUntil: number;
  #attempt: Attempt | null = null;
  #running: { done: Promise<void>; abort: AbortController; attempt: Attempt } | null = null;
  #failures = 0;
  /** Monotonic time of the next refresh. */
  #dueAt = 0;
  #timer: Timer | null = null;
  #expiry: Timer | null = null;
  #isClosed = false;
  readonly #stops: (() => void)[] = [];

  private constructor(
    deps: DirectoryDependencies,
    document: JsonDocument<Snapshot> | null,
    problem: string | null,
  ) {
    this.#deps = deps;
    this.#document = document;
    this.#problem = problem;
    const expires = document?.value.directory?.expires_at;
    const left = expires === undefined ? 0 : milliseconds(expires) - deps.clock.now();
    this.#validUntil = deps.clock.monotonic() + Math.min(Math.max(left, 0), VALID_MS);
  }

  /** Reads what the last run knew. Asks nobody before `start`. */
  static async open(deps: DirectoryDependencies): Promise<AccountDirectory> {
    try {
      return new AccountDirectory(deps, await JsonDocument.read(options(deps)), null);
    } catch (error) {
      if (!(error instanceof HomeProblem)) throw error;
      return new AccountDirectory(deps, null, error.message);
    }
  }

  start(): void {
    this.#stops.push(this.#deps.membership.onChange(() => this.#follow()));
    this.#follow();
  }

  /** Ends a running refresh. Nothing is written after that. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const stop of this.#stops.splice(0)) stop();
    this.#timer?.cancel();
    this.#expiry?.cancel();
    this.#running?.abort.abort();
    await this.#running?.done;
  }

  /** The record of the current binding; null without one. */
  get snapshot(): Readonly<Snapshot> | null {
    const binding = this.#deps.membership.binding;
    const value = this.#document?.value;
    return binding !== null && value !== undefined && this.#isOf(value, binding) ? value : null;
  }

  /**
   * The directory if it may be used now: of this binding and instance, confirmed and not expired.
   * Null otherwise. Asks nobody.
   */
  get current(): Readonly<Directory> | null {
    const { clock, membership, identity } = this.#deps;
    const directory = this.snapshot?.directory ?? null;
    if (directory === null || clock.monotonic() >= this.#validUntil) return null;
    // A clock that jumped, or a machine that slept, may have made it older than it seems.
    const now = clock.now();
    if (now > milliseconds(directory.expires_at) + SKEW_MS) return null;
    return problemOf(directory, membership.binding!, identity, now) === null ? directory : null;
  }

  /** Why there is no directory, in words; null when there is one, or none is needed. */
  get trouble(): string | null {
    if (this.#deps.membership.problem !== null) return this.#deps.membership.problem;
    if (this.#problem !== null) return this.#problem;
    return this.snapshot?.error_message ?? null;
  }

  /** Called when the directory may have changed. Returns the way to stop listening. */
  onChange(listener: () => void): () => void {
    return this.#changed.on(listener);
  }

  /** Asks the account service now. Resolves when it answered or failed. */
  async refresh(): Promise<void> {
    await this.#running?.done;
    this.#run();
    await this.#running?.done;
  }

  /** The binding may have changed. */
  #follow(): void {
    const running = this.#running;
    if (running !== null && running.attempt.binding !== this.#deps.membership.binding) running.abort.abort();
    this.#tick();
    this.#changed.tell();
  }

  #tick(): void {
    this.#timer?.cancel();
    this.#timer = null;
    const { clock, membership, publicOrigin } = this.#deps;
    const { binding } = membership;
    if (this.#isClosed || binding === null) return;
    const now = clock.monotonic();
    const isNew =
      this.#attempt?.binding !== binding || this.#attempt.origin !== publicOrigin(binding.account_origin);
    if (isNew) this.#failures = 0;
    if (isNew || now >= this.#dueAt) this.#run();
    const wait = Math.max(0, Math.min(link.checkSeconds * 1000, this.#dueAt - now));
    this.#timer = clock.after(wait === 0 ? link.checkSeconds * 1000 : wait, () => this.#tick(), {
      background: true,
    });
  }

  #run(): void {
    const { membership, publicOrigin } = this.#deps;
    const { binding } = membership;
    if (this.#isClosed || this.#running !== null || binding === null) return;
    const attempt = { binding, origin: publicOrigin(binding.account_origin) };
    this.#attempt = attempt;
    const abort = new AbortController();
    const done = this.#refresh(attempt, abort.signal)
      .catch((error: unknown) => {
        this.#deps.log.error("account_directory", errorFields(error));
        this.#plan(false, 0);
      })
      .finally(() => {
        this.#running = null;
        this.#tick();
      });
    this.#running = { done, abort, attempt };
  }

  async #refresh(attempt: Attempt, signal: AbortSignal): Promise<void> {
    const { clock, log, membership, identity } = this.#deps;
    const { binding } = attempt;
    const answer = await this.#ask(attempt, signal);
    // The answer belongs to a binding that may have ended meanwhile.
    const isCurrent = (): boolean => !this.#isClosed && membership.binding === binding;
    if (!isCurrent()) return;
    const checked = answer.ok ? checkedAnswer(answer.value, binding, identity, clock.now()) : answer;
    const arrived = clock.monotonic();
    if (!checked.ok) log.warn("account_directory", { code: checked.failure.code });
    await this.#write(binding, checked, isCurrent);
    if (!isCurrent()) return;
    if (checked.ok) {
      const { issued_at: issued, expires_at: expires } = checked.value;
      this.#validUntil = arrived + milliseconds(expires) - milliseconds(issued);
    }
    this.#plan(checked.ok, checked.ok ? 0 : checked.failure.retrySeconds);
    this.#awaitExpiry();
    await this.#tellMembership(binding, checked);
    if (checked.ok) await this.#deps.members.take(binding, checked.value, isCurrent);
    if (!isCurrent()) return;
    this.#changed.tell();
  }

  /**
   * Registers. If an earlier proof has a later time, because a clock was set back, it only reads.
   */
  async #ask({ binding, origin }: Attempt, signal: AbortSignal): Promise<Answered<Directory>> {
    const { clock, identity, client } = this.#deps;
    const statement = registrationStatement({
      account_origin: binding.account_origin,
      device_id: binding.device_id,
    });
    const registration = signStatement(statement, identity, {
      instance_id: identity.instance_id,
      public_key: identity.public_key,
      client_version: PRODUCT_VERSION,
      public_origin: origin,
      issued_at: timestamp(clock),
    });
    const answer = await client.register(binding, registration, signal);
    if (answer.ok || answer.failure.code !== "conflict") return answer;
    return client.directory(binding, signal);
  }

  /** A passing failure keeps what was confirmed; a definite one clears it (SNAP-018, SNAP-019). */
  async #write(binding: Binding, checked: Answered<Directory>, isCurrent: () => boolean): Promise<void> {
    const { clock, identity } = this.#deps;
    const fresh: Snapshot = {
      account_origin: binding.account_origin,
      device_id: binding.device_id,
      instance_id: identity.instance_id,
      directory: null,
      checked_at: null,
      error_code: null,
      error_message: null,
    };
    const next = (value: Readonly<Snapshot>): Snapshot => {
      const before = this.#isOf(value, binding) ? value : fresh;
      if (checked.ok) return { ...fresh, directory: checked.value, checked_at: timestamp(clock) };
      const { kind, code, message } = checked.failure;
      const directory = kind === "passing" ? before.directory : null;
      return { ...before, directory, error_code: code, error_message: message };
    };
    if (this.#document === null) this.#document = await JsonDocument.create(options(this.#deps), next(fresh));
    else await this.#document.update((value) => (isCurrent() ? next(value) : value));
    this.#problem = null;
  }

  /** The label is of the account, and only while it is confirmed (SNAP-008, SNAP-029, SNAP-030). */
  async #tellMembership(binding: Binding, checked: Answered<Directory>): Promise<void> {
    const { membership, log } = this.#deps;
    if (!checked.ok && checked.failure.kind !== "logged_out" && checked.failure.kind !== "disabled") return;
    try {
      await membership.update((value) => {
        if (membership.binding !== binding) return value;
        const label = checked.ok ? (checked.value.account_label ?? null) : null;
        const isLoggedIn = checked.ok || checked.failure.kind !== "logged_out";
        const isDisabled = !checked.ok && checked.failure.kind === "disabled";
        const error = checked.ok ? null : { code: checked.failure.code, message: checked.failure.message };
        const isSame =
          (value.account_label ?? null) === label &&
          value.logged_in === isLoggedIn &&
          value.disabled === isDisabled &&
          value.last_error?.code === error?.code;
        if (isSame) return value;
        return {
          ...value,
          account_label: label,
          logged_in: isLoggedIn,
          disabled: isDisabled,
          last_error: error,
        };
      });
    } catch (error) {
      log.warn("membership", errorFields(error));
    }
  }

  #plan(isDone: boolean, retrySeconds: number): void {
    const { clock, random } = this.#deps;
    const { backoffSeconds } = connect;
    const backoff = backoffSeconds[Math.min(this.#failures, backoffSeconds.length - 1)]!;
    // Devices that were linked together don't come together.
    const early = (random.bytes(1)[0]! / 256) * link.jitterSeconds;
    const seconds = isDone ? link.refreshSeconds - early : Math.max(backoff, retrySeconds);
    this.#failures = isDone ? 0 : this.#failures + 1;
    this.#dueAt = clock.monotonic() + seconds * 1000;
  }

  #awaitExpiry(): void {
    const { clock } = this.#deps;
    this.#expiry?.cancel();
    const left = this.#validUntil - clock.monotonic();
    if (left <= 0) return;
    this.#expiry = clock.after(left, () => this.#changed.tell(), { background: true });
  }

  #isOf(value: Readonly<Snapshot>, binding: Binding): boolean {
    return (
      value.account_origin === binding.account_origin &&
      value.device_id === binding.device_id &&
      value.instance_id === this.#deps.identity.instance_id
    );
  }
}

function options({ files, path }: DirectoryDependencies) {
  return { files, path, version: 1, schema: Snapshot };
}

/** The directory, or why it can't be one for this binding and instance. */
function checkedAnswer(
  directory: Directory,
  binding: Binding,
  identity: DirectoryDependencies["identity"],
  now: number,
): Answered<Directory> {
  const failure = problemOf(directory, binding, identity, now);
  return failure === null ? { ok: true, value: directory } : { ok: false, failure };
}

function problemOf(
  directory: Readonly<Directory>,
  binding: Binding,
  { instance_id: instanceId, public_key: publicKey }: DirectoryDependencies["identity"],
  now: number,
): AccountFailure | null {
  const lifetime = milliseconds(directory.expires_at) - milliseconds(directory.issued_at);
  if (lifetime <= 0 || lifetime > VALID_MS) {
    return failureOf("passing", "account_invalid", "The account service's directory has no usable lifetime.");
  }
  if (milliseconds(directory.issued_at) > now + SKEW_MS) {
    const words = "This machine's clock is behind the account service's. Set it right.";
    return failureOf("passing", "account_clock_differs", words);
  }
  if (directory.device_id !== binding.device_id) {
    return failureOf("rejected", "account_identity", "The account service answers for another device.");
  }
  const instances = new Set(directory.instances.map((entry) => entry.instance_id));
  const devices = new Set(directory.instances.map((entry) => entry.device_id));
  if (instances.size !== directory.instances.length || devices.size !== directory.instances.length) {
    return failureOf(
      "rejected",
      "account_identity",
      "The account service's directory has an instance twice.",
    );
  }
  const self = directory.instances.find((entry) => entry.instance_id === instanceId);
  if (self?.device_id !== binding.device_id || self.public_key !== publicKey) {
    const words = "The account service's directory doesn't have this instance as it is.";
    return failureOf("rejected", "account_identity", words);
  }
  return null;
}

function failureOf(kind: AccountFailure["kind"], code: string, message: string): AccountFailure {
  return { kind, code, message, retrySeconds: 0 };
}
