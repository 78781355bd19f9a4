/**
 * The Direct relations of this instance on disk, and every change to them. A change is durable
 * before anything acts on it.
 */
import { createHash } from "node:crypto";
import { type Clock, timestamp } from "../../../platform/clock.ts";
import { JsonDocument, type KeptFiles } from "../../../platform/documents.ts";
import type { Files } from "../../../platform/files.ts";
import { HomeProblem } from "../../../platform/problem.ts";
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { DirectListener } from "../../../shared/operations/direct.ts";
import type { DirectEndpoint, DirectInvitation } from "../../../shared/wire/v1/direct.ts";
import { milliseconds } from "../../../shared/wire/v1/time.ts";
import {
  DirectDocument,
  isJoined,
  isOverdue,
  isPair,
  isSameEnd,
  isTerminal,
  type Relation,
} from "./relation.ts";

interface Dependencies {
  files: Files;
  clock: Clock;
  path: string;
  kept?: KeptFiles | undefined;
  /** Shown to peers until the person names the instance. */
  hostname: string;
}

const MINUTE = 60_000;

/** What the store keeps of an invitation's secret on the inviting side (DRC-014). */
export function digestSecret(secret: string): string {
  return createHash("sha256").update(secret, "utf8").digest("hex");
}

export class Relations {
  readonly #deps: Dependencies;
  readonly #listeners = new Set<() => void>();
  #document: JsonDocument<DirectDocument> | null;
  readonly #initial: DirectDocument;
  #last: Promise<unknown> = Promise.resolve();
  /** Why the document can't be read, in words. Then nothing is granted and nothing can change. */
  readonly problem: string | null;

  private constructor(
    deps: Dependencies,
    document: JsonDocument<DirectDocument> | null,
    problem: string | null,
  ) {
    this.#deps = deps;
    this.#document = document;
    this.problem = problem;
    this.#initial = { display_name: deps.hostname, listener: null, relations: [] };
  }

  /**
   * Reads the document and creates nothing. One that can't be read stays as it is, and `problem`
   * says why.
   */
  static async open(deps: Dependencies): Promise<Relations> {
    try {
      return new Relations(deps, await JsonDocument.read(options(deps)), null);
    } catch (error) {
      if (error instanceof HomeProblem) return new Relations(deps, null, error.message);
      throw error;
    }
  }

  get #value(): DirectDocument {
    return this.#document?.value ?? this.#initial;
  }

  get list(): readonly Relation[] {
    return this.#value.relations;
  }

  get listener(): DirectListener | null {
    return this.#value.listener;
  }

  get display_name(): string {
    return this.#value.display_name;
  }

  /**
   * Throws storage_failed when the document can't be read, so that it never looks as if there were
   * no connections.
   */
  checkReadable(): void {
    if (this.problem === null) return;
    throw new Refusal("storage_failed", {
      specifics: `The Direct connections can't be read: ${this.problem}`,
      remedy: "Then restart the daemon.",
    });
  }

  find(id: string): Relation | undefined {
    return this.list.find((relation) => relation.id === id);
  }

  /** The Group's relation. Throws direct_not_found. */
  get(groupId: string, id: string): Relation {
    const relation = this.find(id);
    if (relation?.local.group_id !== groupId) throw new Refusal("direct_not_found", { details: { id } });
    return relation;
  }

  /** Called after each durable change. Returns a function that stops listening. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * If `expected` is undefined, anything may be there now. Throws conflict if something else is
   * there.
   */
  async configure(
    listener: DirectListener | null,
    displayName: string | undefined,
    expected: DirectListener | null | undefined,
  ): Promise<void> {
    await this.#update((value) => {
      checkListener(value, expected);
      return { ...value, listener, display_name: displayName ?? value.display_name };
    });
  }

  /**
   * Throws limit_reached, direct_listener_off, and conflict for another listener than `expected`.
   */
  async invite(
    invitation: Omit<DirectInvitation, "address" | "expires_at">,
    expected: DirectListener | null | undefined,
  ): Promise<DirectInvitation> {
    let made: DirectInvitation | undefined;
    await this.#update((value) => {
      checkListener(value, expected);
      if (value.listener === null) throw new Refusal("direct_listener_off");
      const now = this.#deps.clock.now();
      const expiresAt = new Date(now + LIMITS.direct.invitationMinutes * MINUTE).toISOString();
      const { id, v, host, secret } = invitation;
      made = { v, id, address: value.listener.address, host, expires_at: expiresAt, secret };
      return add(value, {
        id,
        local: host,
        remote: null,
        state: "invited",
        created_at: timestamp(this.#deps.clock),
        expires_at: expiresAt,
        invitation: null,
        secret_sha256: digestSecret(secret),
      });
    });
    if (made === undefined) throw new Error("no invitation was created");
    return made;
  }

  /**
   * Accepts an invitation for the Group that `local` names. Accepting the same one again changes
   * nothing (DRC-028). Throws direct_invitation_expired, direct_invitation_used,
   * direct_invitation_invalid for our own, already_exists for a second connection of the pair,
   * limit_reached.
   */
  async join(invitation: DirectInvitation, local: DirectEndpoint): Promise<void> {
    const { id, host } = invitation;
    await this.#update((value) => {
      if (host.instance_id === local.instance_id || host.public_key === local.public_key) {
        throw new Refusal("direct_invitation_invalid", {
          specifics: "The invitation is this instance's own.",
          remedy: "Give it to the other side, which joins with it.",
        });
      }
      const present = value.relations.find((relation) => relation.id === id);
      if (present !== undefined) {
        const isSame =
          present.invitation !== null &&
          JSON.stringify(present.invitation) === JSON.stringify(invitation) &&
          isSameEnd(present.local, local) &&
          !isTerminal(present);
        if (isSame) return value;
        throw new Refusal("direct_invitation_used");
      }
      if (value.retired?.includes(id)) throw new Refusal("direct_invitation_used");
      if (this.#deps.clock.now() >= milliseconds(invitation.expires_at)) {
        throw new Refusal("direct_invitation_expired");
      }
      const rival = value.relations.find((one) => !isTerminal(one) && isPair(one, local.group_id, host));
      if (rival !== undefined) {
        throw new Refusal("already_exists", {
          specifics: "These two Groups already have a Direct connection.",
          remedy: "Use that one, or revoke it before you connect them again.",
          details: { id: rival.id },
        });
      }
      return add(value, {
        id,
        local,
        remote: host,
        state: "pending",
        created_at: timestamp(this.#deps.clock),
        expires_at: invitation.expires_at,
        invitation,
        secret_sha256: digestSecret(invitation.secret),
      });
    });
  }

  /**
   * The person's consent on the inviting side (DRC-029). Throws direct_not_found, direct_state,
   * direct_invitation_expired.
   */
  async approve(groupId: string, id: string): Promise<void> {
    await this.#change(groupId, id, (relation) => {
      if (relation.state === "active" && !isJoined(relation)) return relation;
      if (isJoined(relation))
        throw wrongState("The other side must approve, because it sent the invitation.");
      if (relation.remote === null) throw wrongState("Nobody has used the invitation yet.");
      if (isTerminal(relation)) throw wrongState(`The connection is ${relation.state}.`);
      if (isOverdue(relation, this.#deps.clock.now())) {
        throw new Refusal("direct_invitation_expired", { remedy: "Invite the other side again." });
      }
      return { ...relation, state: "active" };
    });
  }

  /**
   * Revokes it for good (DRC-035). Throws direct_not_found, and direct_state for one that expired
   * without approval.
   */
  async revoke(groupId: string, id: string): Promise<void> {
    await this.#change(groupId, id, (relation) => {
      if (relation.state === "expired") throw wrongState("The connection has expired and can be removed.");
      return relation.state === "revoked" ? relation : { ...relation, state: "revoked" };
    });
  }

  /**
   * Removes it, only after revocation or confirmed expiry. The id is remembered (DRC-018, DRC-041).
   * Throws direct_not_found, direct_state.
   */
  async remove(groupId: string, id: string): Promise<void> {
    this.get(groupId, id);
    await this.#update((value) => {
      const relation = value.relations.find((one) => one.id === id);
      if (relation === undefined) throw new Refusal("direct_not_found", { details: { id } });
      const expired = !isJoined(relation) && hasExpired(relation, this.#deps.clock.now());
      if (!isTerminal(relation) && !expired) {
        throw wrongState("Only a connection that was revoked, or expired without approval, can be removed.");
      }
      return retire(value, (one) => one.id === id);
    });
  }

  /**
   * Removes those whose Group was deleted or reset, which frees their room (DRC-074, DRC-075).
   * `isPast` is called again when the change's turn comes.
   */
  async retire(isPast: (relation: Relation) => boolean): Promise<void> {
    if (this.list.some(isPast)) await this.#update((value) => retire(value, isPast));
  }

  /**
   * The inviting side: a peer proved that it has the invitation. False when the pair has another
   * connection. An invitation that was taken or ended in the meantime stays as it is.
   */
  async bind(id: string, remote: DirectEndpoint): Promise<boolean> {
    let hasRival = false;
    await this.#set(id, (relation, all) => {
      if (relation.state !== "invited" || relation.remote !== null) return relation;
      hasRival = all.some(
        (one) => one !== relation && !isTerminal(one) && isPair(one, relation.local.group_id, remote),
      );
      return hasRival ? relation : { ...relation, remote, state: "pending" };
    });
    return !hasRival;
  }

  /** The peer's current names for itself and its Group. Its identity is unchanged. */
  async rename(id: string, remote: DirectEndpoint): Promise<void> {
    await this.#set(id, (relation) =>
      relation.remote !== null &&
      isSameEnd(relation.remote, remote) &&
      JSON.stringify(relation.remote) !== JSON.stringify(remote)
        ? { ...relation, remote }
        : relation,
    );
  }

  /**
   * What the inviting side, authenticated, says about a joined relation. Final states stay.
   * Approved relations don't expire there (DRC-040). If the other side says that one has expired,
   * it has lost its record of the approval, and none can follow.
   */
  async learn(id: string, state: "active" | "expired" | "revoked"): Promise<void> {
    await this.#set(id, (relation) => {
      if (isTerminal(relation) || relation.state === state) return relation;
      return { ...relation, state };
    });
  }

  /** Our invitations whose time ran out without approval become expired (DRC-030). */
  async expire(): Promise<void> {
    const now = this.#deps.clock.now();
    if (!this.list.some((relation) => !isJoined(relation) && hasExpired(relation, now))) return;
    await this.#update((value) => ({
      ...value,
      relations: value.relations.map((relation) =>
        !isJoined(relation) && hasExpired(relation, now) ? { ...relation, state: "expired" } : relation,
      ),
    }));
  }

  /**
   * Removes secrets of ended connections that an earlier version left on the disk. Throws like
   * every change.
   */
  async forgetSecrets(): Promise<void> {
    if (this.list.some(hasSpentSecret)) await this.#update((value) => ({ ...value }));
  }

  /** Milliseconds until one of our invitations expires; null when none waits. */
  nextExpiry(): number | null {
    const now = this.#deps.clock.now();
    const times = this.list
      .filter(
        (relation) => !isJoined(relation) && (relation.state === "invited" || relation.state === "pending"),
      )
      .map(({ expires_at: expiresAt }) => milliseconds(expiresAt) - now);
    return times.length === 0 ? null : Math.max(0, Math.min(...times));
  }

  #change(groupId: string, id: string, change: (relation: Relation) => Relation): Promise<void> {
    this.get(groupId, id);
    return this.#set(id, change);
  }

  async #set(id: string, change: (relation: Relation, all: readonly Relation[]) => Relation): Promise<void> {
    await this.#update((value) => {
      const relation = value.relations.find((one) => one.id === id);
      if (relation === undefined) throw new Refusal("direct_not_found", { details: { id } });
      const next = change(relation, value.relations);
      if (next === relation) return value;
      return { ...value, relations: value.relations.map((one) => (one === relation ? next : one)) };
    });
  }

  /**
   * Changes run one after the other. Throws storage_full, storage_failed, or what `change` throws.
   */
  #update(change: (value: Readonly<DirectDocument>) => DirectDocument): Promise<void> {
    const turn = this.#last.then(() => this.#apply(change));
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async #apply(change: (value: Readonly<DirectDocument>) => DirectDocument): Promise<void> {
    this.checkReadable();
    const before = this.#value;
    const changed = (value: Readonly<DirectDocument>): DirectDocument => withoutSpentSecrets(change(value));
    if (this.#document === null) {
      const value = changed(before);
      if (value !== before) this.#document = await JsonDocument.create(options(this.#deps), value);
    } else await this.#document.update(changed);
    if (this.#value !== before) for (const listener of this.#listeners) listener();
  }
}

function options({ files, path, kept }: Dependencies) {
  return { files, path, version: 1, schema: DirectDocument, kept };
}

function wrongState(specifics: string): Refusal {
  return new Refusal("direct_state", { specifics });
}

/** Not approved before its deadline, on the inviting side. */
export function hasExpired(relation: Relation, now: number): boolean {
  return (relation.state === "invited" || relation.state === "pending") && isOverdue(relation, now);
}

/** Replaces a secret that is no longer needed. */
const SPENT = "0".repeat(64);

/** The joining side needs the invitation's secret as long as it dials. */
function hasSpentSecret(relation: Relation): boolean {
  return isTerminal(relation) && relation.invitation !== null && relation.invitation.secret !== SPENT;
}

function withoutSpentSecrets(value: DirectDocument): DirectDocument {
  if (!value.relations.some(hasSpentSecret)) return value;
  const relations = value.relations.map((relation) =>
    hasSpentSecret(relation) && relation.invitation !== null
      ? { ...relation, invitation: { ...relation.invitation, secret: SPENT } }
      : relation,
  );
  return { ...value, relations };
}

function checkListener(value: DirectDocument, expected: DirectListener | null | undefined): void {
  if (expected === undefined) return;
  const { listener } = value;
  if (listener?.bind === expected?.bind && listener?.address === expected?.address) return;
  throw new Refusal("conflict", {
    specifics: "The listener's settings have changed in the meantime.",
    details: { listener },
  });
}

function add(value: DirectDocument, relation: Relation): DirectDocument {
  const limit = LIMITS.direct.relations;
  if (value.relations.length >= limit) {
    const specifics = `There are already ${limit} Direct connections, including ended ones.`;
    throw new Refusal("limit_reached", { specifics, details: { limit } });
  }
  return { ...value, relations: [...value.relations, relation] };
}

function retire(value: DirectDocument, goes: (relation: Relation) => boolean): DirectDocument {
  const gone = value.relations.filter(goes).map(({ id }) => id);
  if (gone.length === 0) return value;
  const retired = [...(value.retired ?? []), ...gone].slice(-LIMITS.direct.retired);
  const { display_name: displayName, listener } = value;
  return {
    retired,
    display_name: displayName,
    listener,
    relations: value.relations.filter(({ id }) => !gone.includes(id)),
  };
}
