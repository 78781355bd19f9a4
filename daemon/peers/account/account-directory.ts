/**
 * The directory of the account's instances (docs/protocol.md#account): registers this one, keeps
 * what the account service confirms in `secrets/connect.json`, and lets nobody use it longer than
 * it is valid.
 */
import * as z from "zod";
import { type Clock, timestamp } from "../../../platform/clock.ts";
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
import { Time } from "../../../shared/wire/v1/time.ts";
import { type Signer, signStatement } from "../wire/statements.ts";
import type { AccountClient, AccountFailure, Answered } from "./account-client.ts";
import { failureOf, Lease, lifetimeProblem, unkept } from "./lease.ts";
import type { AccountMembers } from "./members.ts";
import type { Binding, Membership } from "./membership.ts";
import { type Question, RefreshCycle } from "./refresh-cycle.ts";

/** How the last question about connections to other accounts went. */
const GroupSync = z.object({
  checked_at: Time.nullable(),
  error_code: z.string().nullable(),
  error_message: z.string().nullable(),
});
export type GroupSync = z.infer<typeof GroupSync>;

const Snapshot = z.object({
  account_origin: ServiceOrigin,
  device_id: z.string(),
  instance_id: z.string(),
  // The account's label is kept with the binding alone (SNAP-010).
  directory: Directory.omit({ account_label: true }).nullable(),
  checked_at: Time.nullable(),
  error_code: z.string().nullable(),
  error_message: z.string().nullable(),
  group_sync: GroupSync.exactOptional(),
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
  /** Tries to retire what else this instance has been at that account service. */
  retireEarlier: (accountOrigin: string) => Promise<void>;
  /** The origin that this instance advertises to that account service now. */
  publicOrigin: (accountOrigin: string) => string | null;
}

export class AccountDirectory {
  readonly #deps: DirectoryDependencies;
  readonly #changed = new Signal();
  #document: JsonDocument<Snapshot> | null;
  #creating: Promise<JsonDocument<Snapshot>> | null = null;
  #problem: string | null;
  /**
   * Why the last question of this run failed. It counts at once, also while it can't be written.
   * After a definite refusal, what was confirmed before counts no more.
   */
  #failed: { binding: Binding; failure: AccountFailure; isDefinite: boolean } | null = null;
  readonly #lease: Lease;
  readonly #cycle: RefreshCycle;
  readonly #stops: (() => void)[] = [];

  private constructor(
    deps: DirectoryDependencies,
    document: JsonDocument<Snapshot> | null,
    problem: string | null,
  ) {
    this.#deps = deps;
    this.#document = document;
    this.#problem = problem;
    this.#lease = new Lease(deps.clock, document?.value.directory ?? null, () => this.#changed.tell());
    this.#cycle = new RefreshCycle({
      ...deps,
      name: "account_directory",
      subject: ({ account_origin: origin }) => deps.publicOrigin(origin),
      seconds: () => LIMITS.link.refreshSeconds,
      ask: (question) => this.#refresh(question),
    });
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
    for (const stop of this.#stops.splice(0)) stop();
    this.#lease.cancel();
    await this.#cycle.close();
  }

  /** The record of the current binding; null without one. */
  get snapshot(): Readonly<Snapshot> | null {
    const { binding } = this.#deps.membership;
    if (binding === null) return null;
    const value = this.#document?.value;
    if (value !== undefined && this.#isOf(value, binding)) return this.#told(value, binding);
    return this.#failed?.binding === binding ? this.#told(this.#first(binding), binding) : null;
  }

  /**
   * The directory if it may be used now: of this binding and instance, confirmed and not expired.
   * Null otherwise. Asks nobody.
   */
  get current(): Readonly<Directory> | null {
    const { clock, membership, identity } = this.#deps;
    const directory = this.snapshot?.directory ?? null;
    if (directory === null || !this.#lease.covers(directory)) return null;
    return problemOf(directory, membership.binding!, identity, clock.now()) === null ? directory : null;
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
  refresh(): Promise<void> {
    return this.#cycle.refresh();
  }

  /** The binding may have changed. */
  #follow(): void {
    this.#cycle.follow();
    this.#changed.tell();
  }

  async #refresh(question: Question): Promise<void> {
    const { clock, log, identity } = this.#deps;
    const { binding, isCurrent } = question;
    // The account takes no second device for an instance (DIR-029).
    await this.#deps.retireEarlier(binding.account_origin);
    if (!isCurrent()) return;
    const asked = clock.monotonic();
    const answer = await this.#ask(question);
    // The answer belongs to a binding that may have ended meanwhile.
    if (!isCurrent()) return;
    let checked = answer.ok ? checkedAnswer(answer.value, binding, identity, clock.now()) : answer;
    if (!checked.ok) this.#fail(binding, checked.failure);
    try {
      await this.#write(binding, checked, isCurrent);
    } catch (error) {
      log.warn("account_directory", errorFields(error));
      if (checked.ok) {
        checked = { ok: false, failure: unkept(error) };
        this.#fail(binding, checked.failure);
      }
    }
    if (!isCurrent()) return;
    if (checked.ok) {
      this.#lease.begin(checked.value, asked);
      this.#failed = null;
    }
    question.answered(checked.ok, checked.ok ? 0 : checked.failure.retrySeconds);
    this.#lease.await();
    await this.#tellMembership(binding, checked);
    if (checked.ok) await this.#deps.members.take(binding, checked.value, isCurrent);
    if (!isCurrent()) return;
    this.#changed.tell();
  }

  #fail(binding: Binding, failure: AccountFailure): void {
    this.#deps.log.warn("account_directory", { code: failure.code });
    const wasDefinite = this.#failed?.binding === binding && this.#failed.isDefinite;
    this.#failed = { binding, failure, isDefinite: wasDefinite || failure.kind !== "passing" };
    this.#changed.tell();
  }

  /** The binding's record with how the last question of this run failed. */
  #told(record: Readonly<Snapshot>, binding: Binding): Snapshot {
    if (this.#failed?.binding !== binding) return record;
    const { failure, isDefinite } = this.#failed;
    const { code, message } = failure;
    const directory = isDefinite ? null : record.directory;
    return { ...record, directory, error_code: code, error_message: message };
  }

  #first(binding: Binding): Snapshot {
    return {
      account_origin: binding.account_origin,
      device_id: binding.device_id,
      instance_id: this.#deps.identity.instance_id,
      directory: null,
      checked_at: null,
      error_code: null,
      error_message: null,
    };
  }

  /**
   * Registers. If an earlier proof has a later time, because a clock was set back, it only reads.
   */
  async #ask({ binding, subject: origin, signal }: Question): Promise<Answered<Directory>> {
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
    const { clock } = this.#deps;
    await this.#change(binding, isCurrent, (before): Snapshot => {
      if (!checked.ok) return this.#told(before, binding);
      const { account_label: _label, ...directory } = checked.value;
      const confirmed = { directory, checked_at: timestamp(clock) };
      return { ...before, ...confirmed, error_code: null, error_message: null };
    });
  }

  /** Notes how the question about connections went: apart from the directory's (ERR-015). */
  async noteGroupSync({ binding, isCurrent }: Question, sync: GroupSync): Promise<void> {
    await this.#change(binding, isCurrent, (before) => ({ ...before, group_sync: sync }));
  }

  async #change(
    binding: Binding,
    isCurrent: () => boolean,
    change: (before: Readonly<Snapshot>) => Snapshot,
  ): Promise<void> {
    const document = this.#document ?? (await this.#creating);
    if (document === null) {
      this.#creating = JsonDocument.create(options(this.#deps), change(this.#first(binding)));
      this.#document = await this.#creating.finally(() => {
        this.#creating = null;
      });
    } else {
      await document.update((value) =>
        isCurrent() ? change(this.#isOf(value, binding) ? value : this.#first(binding)) : value,
      );
    }
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
  const untimely = lifetimeProblem(directory, now);
  if (untimely !== null) return untimely;
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
