/**
 * This instance's link to an account: login, directory, and what they grant. The folder's face. The
 * account service is asked only here, and never while an operation holds a permit.
 */
import type { HomePaths } from "../../../client/paths.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { KeptFiles } from "../../../platform/documents.ts";
import type { Files } from "../../../platform/files.ts";
import type { HttpClient } from "../../../platform/http/client.ts";
import { isOfThisMachine } from "../../../platform/http/site.ts";
import type { Log } from "../../../platform/log.ts";
import { Mutex } from "../../../platform/mutex.ts";
import type { Random } from "../../../platform/random.ts";
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { ResultOf } from "../../../shared/operations/registry.ts";
import { ServiceOrigin } from "../../../shared/wire/v1/fields.ts";
import type { ConnectFrameProof } from "../../../shared/wire/v1/proofs.ts";
import type { GroupRegistry } from "../../groups/registry.ts";
import type { InstanceIdentity } from "../../home/identity.ts";
import { Frames } from "../https/frames.ts";
import { PeerEndpoint } from "../https/peer-endpoint.ts";
import { WebTransport } from "../https/web-transport.ts";
import type { AdmittingReceiver } from "../transport.ts";
import { AccountAuthority } from "./account-authority.ts";
import { AccountClient } from "./account-client.ts";
import { AccountDirectory } from "./account-directory.ts";
import { AccountLogin, unavailable } from "./account-login.ts";
import { ExternalAuthority } from "./external-authority.ts";
import { FrameOpening } from "./frame-opening.ts";
import { AccountGroupLinks } from "./group-links.ts";
import { GroupSelection } from "./group-selection.ts";
import { AccountMembers } from "./members.ts";
import { Membership } from "./membership.ts";
import { checkOrigin } from "./origin-check.ts";
import { Retirement } from "./retirement.ts";

export interface AccountDependencies {
  files: Files;
  clock: Clock;
  random: Random;
  log: Log;
  http: HttpClient;
  paths: HomePaths;
  kept?: KeptFiles;
  identity: InstanceIdentity;
  hostname: string;
  receiver: Pick<AdmittingReceiver, "admit">;
  registry: Pick<GroupRegistry, "find" | "get" | "knows" | "list" | "unavailable">;
  /** The origin where others reach this instance, if it is on. */
  advertisedOrigin: () => string | null;
  /** The account service, unless a person names another; null when none is set. */
  defaultOrigin: string | null;
  /** Seconds that a request to the account service may take. */
  seconds: number;
}

export class Account {
  readonly authority: AccountAuthority;
  /** Of connections to Groups of other accounts. */
  readonly external: ExternalAuthority;
  readonly transport: WebTransport;
  readonly endpoint: PeerEndpoint;
  /** For pages that show the Workbench of another instance. */
  readonly opening: FrameOpening;
  /** Of this instance's Workbench, in pages of the account's other instances. */
  readonly frames: Frames;
  readonly directory: AccountDirectory;
  readonly #links: AccountGroupLinks;
  readonly #selection: GroupSelection;
  readonly #deps: AccountDependencies;
  readonly #membership: Membership;
  readonly #members: AccountMembers;
  readonly #client: AccountClient;
  readonly #login: AccountLogin;
  readonly #retirement: Retirement;
  readonly #abort: AbortController;
  /** Changes of the account's own data come one after another. */
  readonly #turn = new Mutex();

  private constructor(
    deps: AccountDependencies,
    parts: {
      membership: Membership;
      members: AccountMembers;
      client: AccountClient;
      retirement: Retirement;
      directory: AccountDirectory;
      links: AccountGroupLinks;
      abort: AbortController;
    },
  ) {
    const { clock, random, http, identity, receiver, hostname, log, registry } = deps;
    const { membership, members, client, directory, links } = parts;
    this.#deps = deps;
    this.#membership = membership;
    this.#members = members;
    this.#client = client;
    this.#abort = parts.abort;
    this.#retirement = parts.retirement;
    this.directory = directory;
    this.#login = new AccountLogin({ clock, log, hostname, membership, client });
    this.transport = new WebTransport({ clock, random, http });
    const { instance_id: instanceId } = identity;
    const { transport } = this;
    this.authority = new AccountAuthority({
      membership,
      directory,
      transport,
      instance_id: instanceId,
      since: (deviceId) => members.since(membership.binding, deviceId),
    });
    this.frames = new Frames({
      clock,
      instance_id: instanceId,
      grantOf: (proof) => this.authority.between(proof),
      ask: (proof) => this.#ask(proof),
    });
    this.#links = links;
    this.external = new ExternalAuthority({ membership, links, transport });
    this.opening = new FrameOpening({ clock, random, identity, membership, directory, transport });
    this.#selection = new GroupSelection({ clock, identity, membership, directory, registry });
    this.endpoint = new PeerEndpoint({
      clock,
      identity,
      receiver,
      registered: () => this.#registered(),
      checkGroup: (body) => this.#selection.check(body),
    });
  }

  /** Reads the files. Nothing is asked before `start`. */
  static async open(deps: AccountDependencies): Promise<Account> {
    const { files, clock, random, log, http, paths, identity } = deps;
    const abort = new AbortController();
    const client = new AccountClient(http, deps.seconds, abort.signal);
    const membership = await Membership.open(files, paths.membership, deps.kept);
    const members = await AccountMembers.open({ files, clock, log, path: paths.connect.instances });
    const retirement = new Retirement({ clock, log, membership, client });
    const publicOrigin = (accountOrigin: string) => originFor(deps.advertisedOrigin(), accountOrigin);
    const directory = await AccountDirectory.open({
      files,
      clock,
      random,
      log,
      path: paths.directory,
      identity,
      membership,
      client,
      members,
      retireEarlier: (origin) => retirement.retire(origin),
      publicOrigin,
    });
    const links = await AccountGroupLinks.open({
      files,
      clock,
      random,
      log,
      path: paths.groupLinks,
      identity,
      membership,
      client,
      directory,
      registry: deps.registry,
    });
    return new Account(deps, { membership, members, client, retirement, directory, links, abort });
  }

  start(): void {
    this.#login.start();
    this.#retirement.start();
    this.directory.start();
    this.#links.start();
  }

  /** Ends every request to the account service. Nothing is written after that. */
  async close(): Promise<void> {
    this.#abort.abort();
    await Promise.all([
      this.#login.close(),
      this.#retirement.close(),
      this.directory.close(),
      this.#links.close(),
    ]);
  }

  /** What is known, without asking anyone and without secrets. */
  status(): ResultOf<"connect_status"> {
    const { snapshot, current } = this.directory;
    const { lastSync } = this.#links;
    return {
      connect:
        snapshot === null
          ? null
          : {
              ...snapshot,
              directory: current,
              ...(lastSync !== undefined && { group_sync: lastSync }),
              rejected: snapshot.directory === null && snapshot.error_code !== null,
            },
      account_label: this.#membership.value.account_label ?? null,
      group_connections: this.#connectionCounts(),
    };
  }

  /** The connections of a Group to other accounts, as last confirmed. Asks nobody. */
  groupStatus(groupId: string): ResultOf<"connect_group_status"> {
    const { binding } = this.#membership;
    const { current, known, sync, status } = this.#links;
    const links = (current === null ? [] : this.#links.ends(current)).filter(
      ({ own }) => own.group_id === groupId,
    );
    return {
      status,
      links: links.map(({ link, own, other }) => ({
        id: link.id,
        connected_at: link.connected_at ?? null,
        title: own.title,
        account_id: other.account_id,
        account_label: other.account_label ?? null,
        instance_id: other.instance.instance_id,
        instance_name: other.instance.display_name,
        public_origin: other.instance.public_origin,
        group_id: other.group_id,
        group_title: other.title,
        end_url: `${binding?.account_origin ?? ""}/connect/${link.id}/disconnect`,
      })),
      expires_at: current?.expires_at ?? null,
      account_origin: binding?.account_origin ?? null,
      account_id: known?.account_id ?? this.directory.current?.account_id ?? null,
      checked_at: sync.checked_at,
      error_code: sync.error_code,
      error_message: current === null ? this.#links.trouble : sync.error_message,
    };
  }

  /** The page on which the person goes on. Throws what `GroupSelection.select` throws. */
  selectGroup(groupId: string, invitation: string | undefined): string {
    const url = this.#selection.select(groupId, invitation);
    this.#links.await();
    return url;
  }

  /** Groups were deleted or reset. */
  groupsChanged(): void {
    this.#links.groupsChanged();
  }

  show(): ResultOf<"account_show"> {
    const { value, binding } = this.#membership;
    const { pending_login: pending, last_error: error } = value;
    const origin = binding?.account_origin ?? pending?.account_origin ?? null;
    return {
      state: this.#state(),
      account_origin: origin ?? this.#deps.defaultOrigin,
      account_label: value.account_label ?? null,
      device_id: binding?.device_id ?? null,
      public_origin: origin === null ? null : originFor(this.#deps.advertisedOrigin(), origin),
      pending:
        pending === null
          ? null
          : {
              user_code: pending.user_code,
              verification_uri: pending.verification_uri,
              verification_uri_complete: pending.verification_uri_complete,
              expires_at: pending.expires_at,
            },
      error:
        this.#membership.problem ??
        (pending !== null
          ? this.#login.trouble
          : (error?.message ??
            this.authority.condition().error ??
            (binding === null ? null : this.#members.problem))),
      joined: this.#members.joined(binding).map((one) => ({ ...one })),
    };
  }

  /** A person has seen that these devices joined. Throws storage_full, storage_failed. */
  acknowledge(deviceIds: readonly string[]): Promise<void> {
    return this.#members.acknowledge(this.#membership.binding, deviceIds);
  }

  /**
   * Without a name, at the service where this instance is linked, retired there or not. Throws
   * invalid_args, conflict, account_unavailable.
   */
  async link(named: string | undefined): Promise<ResultOf<"account_link">> {
    const origin = named ?? this.#membership.binding?.account_origin ?? this.#deps.defaultOrigin;
    if (origin === null) {
      const specifics = "No account service is set.";
      throw new Refusal("invalid_args", { specifics, remedy: NAME_SERVICE });
    }
    if (!ServiceOrigin.safeParse(origin).success) {
      const specifics =
        "'account_origin' isn't an HTTPS origin without path, such as https://account.example.org.";
      const details = { field: "account_origin" };
      throw new Refusal("invalid_args", { specifics, remedy: NAME_SERVICE, details });
    }
    const {
      user_code: userCode,
      verification_uri: page,
      verification_uri_complete: complete,
      expires_at: expiresAt,
    } = await this.#inTurn(() => this.#login.begin(origin));
    return {
      user_code: userCode,
      verification_uri: page,
      verification_uri_complete: complete,
      expires_at: expiresAt,
    };
  }

  cancelLink(): Promise<void> {
    return this.#login.cancel();
  }

  /**
   * Retires this device in the account and forgets the binding. `forget` does the latter even if
   * the account service can't be reached, and gives up earlier devices, too. Throws
   * account_unavailable.
   */
  unlink(forget: boolean): Promise<void> {
    return this.#inTurn(async () => {
      await this.#login.cancel();
      const { binding } = this.#membership;
      const answer = binding === null ? null : await this.#client.retire(binding);
      if (answer?.ok === false && !forget) {
        const { message: specifics, code: cause } = answer.failure;
        const remedy = "Try again, or forget the link here alone with 'svc unlink --forget'.";
        throw new Refusal("account_unavailable", { specifics, remedy, details: { cause } });
      }
      await this.#membership.update((value) => {
        const { retiring, ...others } = value;
        const kept = forget && retiring !== undefined ? others : value;
        return binding !== null && this.#membership.binding === binding
          ? {
              ...kept,
              logged_in: false,
              account_origin: null,
              device_id: null,
              device_token: null,
              hostname: "",
              account_label: null,
              disabled: false,
              last_error: null,
            }
          : kept;
      });
    });
  }

  /** Throws conflict without a binding, account_unavailable. */
  async rename(name: string): Promise<void> {
    // The name that it gives itself after a grant must not come later than the person's.
    await this.#login.settled();
    await this.#inTurn(async () => {
      const { binding } = this.#membership;
      if (binding === null) {
        const specifics = "This instance isn't linked to an account.";
        throw new Refusal("conflict", { specifics, remedy: "Link it with 'svc link'." });
      }
      const answer = await this.#client.name(binding, name);
      if (!answer.ok) throw unavailable(answer.failure);
      // The name is saved. If it can't be seen yet, the next refresh shows it (DIR-071).
      await Promise.all([this.directory.refresh(), this.#links.refresh()]);
    });
  }

  /** Whether this instance is reached at the origin that it advertises, or what is wrong. */
  checkOrigin(): Promise<ResultOf<"remote_access_check">> {
    const { clock, http, random, identity } = this.#deps;
    return checkOrigin({
      clock,
      http,
      random,
      identity,
      signal: this.#abort.signal,
      origin: this.#deps.advertisedOrigin(),
      registered: this.#registered(),
    });
  }

  /**
   * Asks for the directory because a device of this account isn't in it. While the account service
   * fails, strangers hasten nothing.
   */
  #ask(proof: ConnectFrameProof): Promise<void> | null {
    const { binding } = this.#membership;
    const { current, snapshot } = this.directory;
    const isOfAccount =
      binding?.account_origin === proof.account_origin && binding.device_id === proof.target_device_id;
    if (!isOfAccount || current === null || snapshot?.error_code !== null) return null;
    const isListed = current.instances.some((entry) => entry.device_id === proof.source_device_id);
    return isListed ? null : this.directory.refresh();
  }

  async #inTurn<Result>(change: () => Promise<Result>): Promise<Result> {
    const release = await this.#turn.acquireWrite();
    try {
      return await change();
    } finally {
      release();
    }
  }

  /** Null while nothing is confirmed, which isn't none (SNAP-013). */
  #connectionCounts(): ResultOf<"connect_status">["group_connections"] {
    const { current } = this.#links;
    if (current === null) return null;
    const { registry } = this.#deps;
    const counts: Record<string, number | null> = {};
    for (const { group_id: groupId } of registry.unavailable()) counts[groupId] = null;
    for (const { record } of registry.list()) {
      counts[record.group_id] = this.external.discover(record).length;
    }
    return { counts, expires_at: current.expires_at };
  }

  #registered(): { device_id: string; public_origin: string | null } | null {
    const { binding } = this.#membership;
    if (binding === null) return null;
    return {
      device_id: binding.device_id,
      public_origin: originFor(this.#deps.advertisedOrigin(), binding.account_origin),
    };
  }

  #state(): ResultOf<"account_show">["state"] {
    const { binding, value } = this.#membership;
    if (value.pending_login !== null) return "waiting";
    if (binding === null) return "not_linked";
    if (value.disabled) return "disabled";
    return value.logged_in ? "linked" : "logged_out";
  }
}

const NAME_SERVICE = "Name it with 'svc link --account https://HOST'.";

/** An origin of this machine is told only to an account service that is there too (DIR-019). */
function originFor(advertised: string | null, accountOrigin: string): string | null {
  if (advertised === null || accountOrigin.startsWith("http:")) return advertised;
  return isOfThisMachine(advertised) ? null : advertised;
}

/** `SVC_ACCOUNT_TIMEOUT_S`, if it makes sense. */
export function requestSeconds(text: string | undefined): number {
  const seconds = Number(text ?? "");
  const { requestSeconds: usual, requestSecondsMax: most } = LIMITS.link;
  return seconds > 0 && seconds <= most ? seconds : usual;
}
