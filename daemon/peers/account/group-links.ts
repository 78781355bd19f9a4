/**
 * The connections to Groups of other accounts (docs/protocol.md#account), as the account service
 * confirms them: kept in `secrets/connect_groups.json`, and used no longer than they are valid.
 * Connections whose own Group is gone or replaced are reported, so that both sides end them.
 */
import type * as z from "zod";
import { type Clock, timestamp } from "../../../platform/clock.ts";
import { JsonDocument } from "../../../platform/documents.ts";
import type { Files } from "../../../platform/files.ts";
import { errorFields, type Log } from "../../../platform/log.ts";
import { HomeProblem } from "../../../platform/problem.ts";
import type { Random } from "../../../platform/random.ts";
import { Signal } from "../../../platform/signal.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { ResultOf } from "../../../shared/operations/registry.ts";
import { type GroupLink, type GroupLinkEnd, GroupLinks } from "../../../shared/wire/v1/group-links.ts";
import type { GroupRegistry } from "../../groups/registry.ts";
import type { AccountClient, AccountFailure, Answered } from "./account-client.ts";
import type { AccountDirectory, GroupSync } from "./account-directory.ts";
import { failureOf, Lease, lifetimeProblem, unkept } from "./lease.ts";
import type { Binding, Membership } from "./membership.ts";
import { type Question, RefreshCycle } from "./refresh-cycle.ts";

export interface GroupLinkDependencies {
  files: Files;
  clock: Clock;
  random: Random;
  log: Log;
  path: string;
  identity: { instance_id: string; public_key: string };
  membership: Membership;
  client: AccountClient;
  directory: Pick<AccountDirectory, "snapshot" | "noteGroupSync">;
  registry: Pick<GroupRegistry, "find" | "knows">;
}

/** A connection as this instance sees it. */
export interface OwnLink {
  link: GroupLink;
  own: GroupLinkEnd;
  other: GroupLinkEnd;
}

const { link: limits } = LIMITS;
const UNCHECKED: GroupSync = { checked_at: null, error_code: null, error_message: null };

export class AccountGroupLinks {
  readonly #deps: GroupLinkDependencies;
  readonly #changed = new Signal();
  readonly #lease: Lease;
  readonly #cycle: RefreshCycle;
  #document: JsonDocument<GroupLinks> | null;
  #problem: string | null;
  /** After a definite refusal of this binding, what was confirmed before counts no more. */
  #refused: Binding | null = null;
  /** How the last question of this run went. It counts at once, also while it can't be written. */
  #noted: { binding: Binding; sync: GroupSync } | null = null;
  /** Monotonic time until which somebody waits for a connection. */
  #awaitedUntil = 0;
  #stop: () => void = () => {};

  private constructor(
    deps: GroupLinkDependencies,
    document: JsonDocument<GroupLinks> | null,
    problem: string | null,
  ) {
    this.#deps = deps;
    this.#document = document;
    this.#problem = problem;
    this.#lease = new Lease(deps.clock, document?.value ?? null, () => this.#changed.tell());
    this.#cycle = new RefreshCycle({
      ...deps,
      name: "account_groups",
      subject: () => null,
      seconds: () => this.#seconds(),
      ask: (question) => this.#refresh(question),
    });
  }

  /** Reads what the last run knew. Asks nobody before `start`. */
  static async open(deps: GroupLinkDependencies): Promise<AccountGroupLinks> {
    try {
      return new AccountGroupLinks(deps, await JsonDocument.read(options(deps)), null);
    } catch (error) {
      if (!(error instanceof HomeProblem)) throw error;
      return new AccountGroupLinks(deps, null, error.message);
    }
  }

  start(): void {
    this.#stop = this.#deps.membership.onChange(() => this.#follow());
    this.#follow();
  }

  /** Ends a running question. Nothing is written after that. */
  async close(): Promise<void> {
    this.#stop();
    this.#lease.cancel();
    await this.#cycle.close();
  }

  /** What was confirmed last for the current binding, whether or not it is still valid. */
  get known(): Readonly<GroupLinks> | null {
    const { binding } = this.#deps.membership;
    const value = this.#document?.value;
    if (binding === null || value === undefined || binding === this.#refused) return null;
    return isOf(value, binding) ? value : null;
  }

  /** The same if it may be used now; null otherwise. Asks nobody. */
  get current(): Readonly<GroupLinks> | null {
    const { known } = this;
    if (known === null || !this.#lease.covers(known)) return null;
    const { clock, identity, membership } = this.#deps;
    // The directory's answer may have ended what the last answer about connections confirmed.
    if (membership.value.disabled || !membership.value.logged_in) return null;
    return problemOf(known, membership.binding!, identity, clock.now()) === null ? known : null;
  }

  /** What is known now (docs/protocol.md#authority). */
  get status(): ResultOf<"connect_group_status">["status"] {
    const { binding, problem } = this.#deps.membership;
    if (binding === null && problem === null) return "not_linked";
    if (this.current !== null) return "ready";
    const { checked_at: checkedAt, error_code: errorCode } = this.sync;
    return checkedAt === null && errorCode === null && problem === null ? "syncing" : "unavailable";
  }

  /** How the last question went, in this run or an earlier one; undefined if there was none. */
  get lastSync(): GroupSync | undefined {
    const { directory, membership } = this.#deps;
    const noted = this.#noted;
    return noted !== null && noted.binding === membership.binding
      ? noted.sync
      : directory.snapshot?.group_sync;
  }

  /** The same; all null if there was none. */
  get sync(): GroupSync {
    return this.lastSync ?? UNCHECKED;
  }

  /** Why connections can't be confirmed, in words; null when they can, or none is needed. */
  get trouble(): string | null {
    return this.#deps.membership.problem ?? this.#problem ?? this.sync.error_message;
  }

  /** Both ends of each connection in an answer. */
  ends(links: Readonly<GroupLinks>): OwnLink[] {
    return links.links.map((link) => {
      const isSource = link.source.instance.device_id === links.device_id;
      const [own, other] = isSource ? [link.source, link.target] : [link.target, link.source];
      return { link, own, other };
    });
  }

  /** Called when connections may have changed. Returns the way to stop listening. */
  onChange(listener: () => void): () => void {
    return this.#changed.on(listener);
  }

  /** Asks the account service now. Resolves when it answered or failed. */
  refresh(): Promise<void> {
    return this.#cycle.refresh();
  }

  /** A Group was selected: the connection may come soon. */
  await(): void {
    this.#awaitedUntil = this.#deps.clock.monotonic() + limits.selectedSeconds * 1000;
    this.#cycle.hasten(this.#seconds());
  }

  /** Groups were deleted or reset: their connections are reported soon. */
  groupsChanged(): void {
    if (this.known !== null && this.#stale(this.known).length > 0) this.#cycle.hasten(0);
  }

  #follow(): void {
    this.#cycle.follow();
    this.#changed.tell();
  }

  #seconds(): number {
    const isAwaited = this.#deps.clock.monotonic() < this.#awaitedUntil;
    return isAwaited ? limits.selectedRefreshSeconds : limits.refreshSeconds;
  }

  async #refresh(question: Question): Promise<void> {
    const { clock, log, directory } = this.#deps;
    const { isCurrent } = question;
    const asked = clock.monotonic();
    let answer = await this.#ask(question);
    if (!isCurrent()) return;
    if (answer.ok) {
      answer = await this.#keep(answer, isCurrent);
      if (!isCurrent()) return;
    }
    if (answer.ok) {
      this.#lease.begin(answer.value, asked);
      this.#refused = null;
      this.#note(question, { checked_at: timestamp(clock), error_code: null, error_message: null });
    } else {
      const { kind, code, message } = answer.failure;
      log.warn("account_groups", { code });
      this.#note(question, { ...this.sync, error_code: code, error_message: message });
      if (kind !== "passing") await this.#refuse(question);
      if (!isCurrent()) return;
    }
    question.answered(answer.ok, answer.ok ? 0 : answer.failure.retrySeconds);
    this.#lease.await();
    this.#changed.tell();
    await directory.noteGroupSync(question, this.sync);
  }

  #note({ binding }: Question, sync: GroupSync): void {
    this.#noted = { binding, sync };
  }

  /** Asks, and reports what has to end. */
  async #ask({ binding, signal, isCurrent }: Question): Promise<Answered<GroupLinks>> {
    const { client } = this.#deps;
    const answer = this.#checked(await client.groups(binding, signal), binding);
    if (!answer.ok || !isCurrent()) return answer;
    const stale = this.#stale(answer.value);
    if (stale.length === 0) return answer;
    const ids = stale.slice(0, LIMITS.account.groups.invalidated);
    return this.#checked(await client.invalidate(binding, ids, signal), binding);
  }

  #checked(answer: Answered<GroupLinks>, binding: Binding): Answered<GroupLinks> {
    if (!answer.ok) return answer;
    const { clock, identity } = this.#deps;
    const failure = problemOf(answer.value, binding, identity, clock.now());
    return failure === null ? answer : { ok: false, failure };
  }

  /** Connections whose own Group is known to be gone or replaced. One that can't be read isn't. */
  #stale(links: Readonly<GroupLinks>): string[] {
    const { registry } = this.#deps;
    return this.ends(links).flatMap(({ link, own }) => {
      const group = registry.find(own.group_id);
      if (group === undefined) return registry.knows(own.group_id) ? [] : [link.id];
      return group.record.generation === own.group_generation ? [] : [link.id];
    });
  }

  /** What was confirmed before counts no more, in this run and in later ones. */
  async #refuse({ binding, isCurrent }: Question): Promise<void> {
    this.#refused = binding;
    const last = this.#document?.value;
    if (last === undefined || !isOf(last, binding) || last.expires_at === last.issued_at) return;
    try {
      await this.#write({ ...last, links: [], expires_at: last.issued_at }, isCurrent);
    } catch (error) {
      this.#deps.log.warn("account_groups", errorFields(error));
    }
  }

  /** The answer once it is written. */
  async #keep(
    answer: { ok: true; value: GroupLinks },
    isCurrent: () => boolean,
  ): Promise<Answered<GroupLinks>> {
    try {
      await this.#write(answer.value, isCurrent);
      return answer;
    } catch (error) {
      return { ok: false, failure: unkept(error) };
    }
  }

  async #write(links: GroupLinks, isCurrent: () => boolean): Promise<void> {
    if (this.#document === null) this.#document = await JsonDocument.create(options(this.#deps), links);
    else await this.#document.update((value) => (isCurrent() ? links : value));
    this.#problem = null;
  }
}

function options({ files, path }: GroupLinkDependencies) {
  return { files, path, version: 1, schema: GroupLinks as z.ZodType<GroupLinks> };
}

function isOf(links: Readonly<GroupLinks>, binding: Binding): boolean {
  return links.account_origin === binding.account_origin && links.device_id === binding.device_id;
}

/** Why an answer can't be used by this binding and instance; null if it can. */
function problemOf(
  links: Readonly<GroupLinks>,
  binding: Binding,
  { instance_id: instanceId, public_key: publicKey }: GroupLinkDependencies["identity"],
  now: number,
): AccountFailure | null {
  const untimely = lifetimeProblem(links, now);
  if (untimely !== null) return untimely;
  const wrong = (words: string) => failureOf("rejected", "account_identity", words);
  if (!isOf(links, binding)) return wrong("The account service answers for another device.");
  if (new Set(links.links.map(({ id }) => id)).size !== links.links.length)
    return wrong("The account service names a connection twice.");
  const isOwn = ({ account_id: accountId, instance }: GroupLinkEnd) =>
    accountId === links.account_id &&
    instance.device_id === links.device_id &&
    instance.instance_id === instanceId &&
    instance.public_key === publicKey;
  const isUsable = ({ source, target }: GroupLink) =>
    isOwn(source) !== isOwn(target) &&
    source.account_id !== target.account_id &&
    source.instance.device_id !== target.instance.device_id &&
    source.instance.instance_id !== target.instance.instance_id;
  return links.links.every(isUsable)
    ? null
    : wrong("The account service names a connection that isn't between this instance and another account's.");
}
