/**
 * Direct connections: two Groups of two instances that write to each other over one socket, without
 * an account, directory, domain or Web listener (docs/protocol.md#authority). The folder's face: it
 * keeps relations, listener, dialer and channels in step.
 */

import type { Clock, Timer } from "../../../platform/clock.ts";
import type { KeptFiles } from "../../../platform/documents.ts";
import type { Files } from "../../../platform/files.ts";
import { checkPublicKey } from "../../../platform/keys.ts";
import { errorFields, type Log } from "../../../platform/log.ts";
import type { NetworkInterface } from "../../../platform/network.ts";
import type { Random } from "../../../platform/random.ts";
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { DirectListener, DirectRelation } from "../../../shared/operations/direct.ts";
import type { ResultOf } from "../../../shared/operations/registry.ts";
import { PRODUCT_VERSION } from "../../../shared/version.ts";
import type { DirectEndpoint } from "../../../shared/wire/v1/direct.ts";
import { invitationText, parseInvitationText } from "../../../shared/wire/v1/direct.ts";
import type { ConnectAuthority } from "../authority.ts";
import type { PeerReceiver, PeerTransport } from "../transport.ts";
import { suggestAddresses } from "./addresses.ts";
import { Channels, CLOCKS_WAIT } from "./channels.ts";
import { PeerClocks } from "./clocks.ts";
import { Dialer } from "./dialer.ts";
import { DirectAuthority } from "./direct-authority.ts";
import { HelloCheck } from "./hello-check.ts";
import type { Links } from "./link.ts";
import { Listener } from "./listener.ts";
import { isJoined, isOverdue, isTerminal, type Relation } from "./relation.ts";
import { Relations } from "./relations.ts";
import { StatusFile } from "./status-file.ts";

export interface DirectDependencies {
  files: Files;
  clock: Clock;
  random: Random;
  log: Log;
  links: Links;
  paths: { directConnections: string; directStatus: string };
  kept?: KeptFiles;
  identity: { instance_id: string; public_key: string };
  /** This machine's name, shown to peers until the person chooses another. */
  hostname: string;
  interfaces(): NetworkInterface[];
  /** The Group when it is open. */
  findGroup(groupId: string): { generation: string; title: string } | null;
  /** Answers requests. */
  receiver: PeerReceiver;
  /** What the other end of a connection may still write here. */
  allowance(id: string): { records: number; bytes: number };
}

export interface DirectHealth {
  /** Why the relations can't be read. */
  problem: string | null;
  /** The state of the configured listener. */
  listener: { bind: string; trouble: string | null } | null;
  /** Peers whose clocks are too far from this one, and how far. */
  clocks: { peer: { title: string; name: string }; trouble: string }[];
}

/** States in which the listener's own problem explains everything else. */
const LISTEN_FIRST = "No invitation was created, because no one can accept it until this instance listens.";

export class Direct {
  readonly authority: ConnectAuthority;
  readonly transport: PeerTransport;
  readonly #deps: DirectDependencies;
  readonly #relations: Relations;
  readonly #channels: Channels;
  readonly #clocks: PeerClocks;
  readonly #listener: Listener;
  readonly #dialer: Dialer;
  readonly #status: StatusFile;
  readonly #errors = new Map<string, string>();
  /**
   * Groups that were deleted or reset for good, whose relations couldn't be removed from the disk
   * yet.
   */
  readonly #gone = new Set<string>();
  #expiry: Timer | null = null;
  #retiring: Timer | null = null;
  #closed = false;

  private constructor(deps: DirectDependencies, relations: Relations) {
    const { clock, log, links, identity } = deps;
    this.#deps = deps;
    this.#relations = relations;
    const isCurrent = (relation: Relation): boolean => this.#isCurrent(relation);
    const report = (id: string, error: string | null): void => this.#report(id, error);
    const clocks = new PeerClocks(clock, () => this.#status.refresh());
    this.#clocks = clocks;
    const channels = new Channels(clock, deps.receiver, clocks);
    this.#channels = channels;
    this.transport = channels;
    this.authority = new DirectAuthority({
      clock,
      relations,
      transport: channels,
      isOnline: (id) => channels.has(id),
      isOurs: ({ local }) => local.public_key === identity.public_key,
    });
    const hellos = new HelloCheck({ clock, log, relations, public_key: identity.public_key, isCurrent });
    this.#listener = new Listener({
      clock,
      random: deps.random,
      log,
      links,
      channels,
      hellos,
      report,
      changed: () => this.#status.refresh(),
    });
    this.#dialer = new Dialer({
      clock,
      log,
      links,
      channels,
      relations,
      isCurrent,
      report,
      endpointOf: ({ local }) => this.#endpoint(local.group_id),
    });
    this.#status = new StatusFile({
      files: deps.files,
      clock,
      log,
      path: deps.paths.directStatus,
      look: () => this.#look(),
    });
    channels.onChange((id, reason) => {
      this.#report(id, reason);
      this.#dialer.refresh();
      this.#status.refresh();
    });
    relations.onChange(() => this.#follow());
  }

  /** Reads the relations. Nothing is opened or created before `start`. */
  static async open(deps: DirectDependencies): Promise<Direct> {
    const { files, clock, paths, hostname, kept } = deps;
    const path = paths.directConnections;
    return new Direct(deps, await Relations.open({ files, clock, path, kept, hostname }));
  }

  /** Connections were made, changed or ended. Returns a function that stops listening. */
  onChange(listener: () => void): () => void {
    return this.#relations.onChange(listener);
  }

  /** For the health checks. */
  get health(): DirectHealth {
    const { problem, listener, list } = this.#relations;
    const { error } = this.#listener;
    return {
      problem,
      listener: listener === null ? null : { bind: listener.bind, trouble: error },
      clocks: list.flatMap(({ id, remote }) => {
        const trouble = this.#clocks.problem(id);
        return trouble === null || remote === null ? [] : [{ peer: remote, trouble }];
      }),
    };
  }

  /** Listens and dials as the relations require. Resolves after the listener's first attempt. */
  async start(): Promise<void> {
    await this.#retirePast();
    await this.#relations
      .forgetSecrets()
      .catch((error: unknown) => this.#deps.log.warn("direct secrets", errorFields(error)));
    this.#follow();
    await this.#listener.configure(this.#relations.listener);
  }

  /** Ends every channel and listener. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#expiry?.cancel();
    this.#retiring?.cancel();
    this.#dialer.close();
    for (const id of this.#channels.ids()) this.#channels.close(id, "The daemon is shutting down.");
    await this.#listener.configure(null);
    await this.#status.close();
  }

  /**
   * The Group was deleted or reset for good. Its relations are removed with their names and
   * secrets. Never rejects: if the disk is full, they are removed later.
   */
  async retireGroup(groupId: string): Promise<void> {
    this.#gone.add(groupId);
    await this.#retirePast();
  }

  /**
   * Also removes what a crash between a reset and this call left. Relations of a Group that is only
   * missing stay, so that a person can look at them (DRC-072).
   */
  async #retirePast(): Promise<void> {
    this.#retiring?.cancel();
    const { clock, log } = this.#deps;
    const gone = [...this.#gone];
    this.#gone.clear();
    const isPast = ({ local }: Relation): boolean => {
      const group = this.#deps.findGroup(local.group_id);
      return group === null ? gone.includes(local.group_id) : group.generation !== local.generation;
    };
    try {
      await this.#relations.retire(isPast);
    } catch (error) {
      for (const groupId of gone) this.#gone.add(groupId);
      log.warn("direct retire", errorFields(error));
      // If the relations can't be read, only a restart helps.
      if (this.#closed || this.#relations.problem !== null) return;
      // Another attempt may have failed meanwhile and planned the next one already.
      this.#retiring?.cancel();
      const again = LIMITS.group.reopenSeconds * 1000;
      this.#retiring = clock.after(again, () => void this.#retirePast(), { background: true });
    }
  }

  /** Groups came or went. */
  groupsChanged(): void {
    if (this.#closed) return;
    for (const relation of this.#relations.list) {
      if (!this.#isCurrent(relation)) this.#channels.close(relation.id, "The Group was replaced.");
    }
    void this.#retirePast();
    this.#dialer.refresh();
    this.#status.refresh();
  }

  /**
   * The result of `connect_direct_status`. Opens, creates and starts nothing. Throws storage_failed
   * when the relations can't be read.
   */
  status(groupId: string | undefined): ResultOf<"connect_direct_status"> {
    this.#relations.checkReadable();
    const runtime = this.#status.value;
    return {
      listener: this.#relations.listener,
      display_name: this.#relations.display_name,
      addresses: suggestAddresses(this.#deps.interfaces()),
      runtime,
      relations: this.#relations.list
        .filter(({ local }) => groupId === undefined || local.group_id === groupId)
        .map((relation) => this.#view(relation, runtime?.online ?? [])),
    };
  }

  /** Throws conflict, storage_full, storage_failed. The listener's own problem is in the status. */
  async configure(
    listener: DirectListener | null,
    displayName: string | undefined,
    expected: DirectListener | null | undefined,
  ): Promise<void> {
    await this.#relations.configure(listener, displayName, expected);
    if (!this.#closed) await this.#listener.configure(listener);
  }

  /**
   * The invitation's text, which is a secret. Throws direct_listener_off (also where the listener
   * can't listen), limit_reached, conflict, group_not_found.
   */
  async invite(groupId: string, expected: DirectListener | null | undefined): Promise<string> {
    const { random } = this.#deps;
    const problem = await this.#listener.problem();
    if (problem !== null)
      throw new Refusal("direct_listener_off", { specifics: problem, remedy: LISTEN_FIRST });
    const invitation = await this.#relations.invite(
      {
        v: 1,
        id: `direct-${random.uuid()}`,
        host: this.#endpoint(groupId),
        secret: Buffer.from(random.bytes(32)).toString("hex"),
      },
      expected,
    );
    return invitationText(invitation);
  }

  /**
   * Accepts an invitation and starts dialling. Returns the connection's id. Throws as
   * `Relations.join`, and direct_invitation_invalid.
   */
  async join(groupId: string, text: string): Promise<string> {
    const invitation = parseInvitationText(text);
    if (invitation === null || !isGoodKey(invitation.host.public_key)) {
      throw new Refusal("direct_invitation_invalid");
    }
    await this.#relations.join(invitation, this.#endpoint(groupId));
    return invitation.id;
  }

  async approve(groupId: string, id: string): Promise<void> {
    const relation = this.#relations.get(groupId, id);
    if (!this.#isCurrent(relation)) {
      throw new Refusal("direct_state", {
        specifics: "The Group or this instance has been replaced since the invitation was created.",
      });
    }
    await this.#relations.approve(groupId, id);
  }

  async revoke(groupId: string, id: string): Promise<void> {
    await this.#relations.revoke(groupId, id);
  }

  async remove(groupId: string, id: string): Promise<void> {
    await this.#relations.remove(groupId, id);
  }

  #isCurrent({ local }: Relation): boolean {
    return (
      local.public_key === this.#deps.identity.public_key &&
      this.#deps.findGroup(local.group_id)?.generation === local.generation
    );
  }

  /** Throws group_not_found. */
  #endpoint(groupId: string): DirectEndpoint {
    const group = this.#deps.findGroup(groupId);
    if (group === null) throw new Refusal("group_not_found", { details: { group_id: groupId } });
    const { instance_id: instanceId, public_key: publicKey } = this.#deps.identity;
    return {
      instance_id: instanceId,
      public_key: publicKey,
      client_version: PRODUCT_VERSION,
      name: this.#relations.display_name,
      group_id: groupId,
      generation: group.generation,
      title: group.title,
    };
  }

  /**
   * Relations changed. Ends the channels of those that are no longer approved, and dials those that
   * need it.
   */
  #follow(): void {
    if (this.#closed) return;
    for (const id of this.#channels.ids()) {
      if (this.#relations.find(id)?.state !== "active") {
        this.#channels.close(id, "The Direct connection was revoked.");
      }
    }
    for (const id of this.#errors.keys()) {
      const relation = this.#relations.find(id);
      // The other side's last word about its invitation must still be readable.
      const isTold = relation?.state === "expired" && isJoined(relation);
      if (relation === undefined || (isTerminal(relation) && !isTold)) this.#errors.delete(id);
    }
    this.#clocks.keep((id) => {
      const relation = this.#relations.find(id);
      return relation !== undefined && !isTerminal(relation);
    });
    this.#dialer.refresh();
    this.#status.refresh();
    this.#expiry?.cancel();
    const next = this.#relations.nextExpiry();
    if (next === null) return;
    this.#expiry = this.#deps.clock.after(
      Math.max(next, 1000),
      () => {
        this.#relations
          .expire()
          .catch((error: unknown) => this.#deps.log.warn("direct expiry", errorFields(error)))
          .finally(() => this.#follow());
      },
      { background: true },
    );
  }

  /** Why the connection can't be made, or else why messages don't get through. */
  #errorOf(id: string): string | null {
    const clocks = this.#clocks.problem(id);
    return this.#errors.get(id) ?? (clocks === null ? null : `${clocks} ${CLOCKS_WAIT}`);
  }

  #report(id: string, error: string | null): void {
    if ((this.#errors.get(id) ?? null) === error) return;
    if (error === null) this.#errors.delete(id);
    else this.#errors.set(id, error);
    this.#status.refresh();
  }

  #look(): ReturnType<ConstructorParameters<typeof StatusFile>[0]["look"]> {
    const { listener, list } = this.#relations;
    if (listener === null && list.every(isTerminal)) return null;
    return {
      listener,
      bind: this.#listener.bind,
      error: this.#listener.error,
      online: this.#channels.ids(),
      errors: Object.fromEntries(
        list.map(({ id }) => [id, this.#errorOf(id)] as const).filter(([, error]) => error !== null),
      ) as Record<string, string>,
    };
  }

  #view(relation: Relation, online: readonly string[]): DirectRelation {
    const { id, local, remote, state, expires_at: expiresAt } = relation;
    const expired = state !== "active" && isOverdue(relation, this.#deps.clock.now());
    return {
      id,
      local,
      remote,
      // Only this side decides about its own invitation, so its end needs no confirmation.
      state: expired && !isJoined(relation) && !isTerminal(relation) ? "expired" : state,
      initiated: isJoined(relation),
      current: this.#isCurrent(relation),
      expired,
      expires_at: expiresAt,
      online: online.includes(id),
      error: this.#errorOf(id),
      allowance: state === "active" ? this.#deps.allowance(id) : null,
    };
  }
}

function isGoodKey(key: string): boolean {
  try {
    checkPublicKey(Buffer.from(key, "base64"));
    return true;
  } catch {
    return false;
  }
}
