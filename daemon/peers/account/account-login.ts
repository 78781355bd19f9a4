/**
 * Links this instance to an account: the device grant of RFC 8628. A person confirms the code on
 * the account's page; meanwhile the daemon asks, also after a restart.
 */
import type { Clock, Timer } from "../../../platform/clock.ts";
import { errorFields, type Log } from "../../../platform/log.ts";
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { DisplayName } from "../../../shared/wire/v1/account.ts";
import type { AccountClient, AccountFailure } from "./account-client.ts";
import { type Binding, bindingOf, type Membership, type PendingLogin } from "./membership.ts";

interface Dependencies {
  clock: Clock;
  log: Log;
  hostname: string;
  membership: Membership;
  client: AccountClient;
}

/** RFC 8628, section 3.5. */
const SLOWER_SECONDS = 5;
const ENDINGS: Readonly<Record<string, string>> = {
  access_denied: "The request was declined on the account's page.",
  expired_token: "The code expired before it was confirmed. Link again for a new one.",
  unsaved: "It was confirmed, but couldn't be saved here. Free space on the disk, then link again.",
};

/** What keeps a login from going on. `code` is set when it has ended. */
interface Trouble {
  device_code: string;
  message: string;
  code?: string;
}

export class AccountLogin {
  readonly #deps: Dependencies;
  #timer: Timer | null = null;
  /** Another login may begin while an earlier one is still asked for. */
  readonly #asking = new Set<Promise<void>>();
  #trouble: Trouble | null = null;
  #isClosed = false;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /** Why what waits for its confirmation doesn't go on, in words; null if it does. */
  get trouble(): string | null {
    const { pending_login: pending } = this.#deps.membership.value;
    return pending === null ? null : (this.#troubleOf(pending)?.message ?? null);
  }

  /** Goes on with what waited when the last run ended. */
  start(): void {
    const { pending_login: pending } = this.#deps.membership.value;
    if (pending !== null) this.#askIn(pending);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    await Promise.all(this.#asking);
  }

  /**
   * Asks for a code, and then whether it was confirmed. Throws conflict while this instance is
   * linked, and connect_unavailable when the account service gives none.
   */
  async begin(origin: string): Promise<PendingLogin> {
    const { clock, membership, client, hostname } = this.#deps;
    checkUnlinked(membership);
    const name = DisplayName.safeParse(hostname).data ?? "";
    const answer = await client.deviceCode(origin, name);
    if (!answer.ok) throw unavailable(answer.failure, "Check its address.");
    const { device_code: deviceCode, user_code: userCode, verification_uri: page, interval } = answer.value;
    const pending: PendingLogin = {
      device_code: deviceCode,
      user_code: userCode,
      verification_uri: page,
      verification_uri_complete: answer.value.verification_uri_complete ?? page,
      interval,
      expires_at: new Date(clock.now() + answer.value.expires_in * 1000).toISOString(),
      account_origin: origin,
    };
    await membership.update((value) => {
      // It may have been linked while the service answered.
      checkUnlinked(membership);
      return { ...value, pending_login: pending, last_error: null };
    });
    this.#askIn(pending);
    return pending;
  }

  /** Stops waiting for a confirmation. A grant that is confirmed later is given back. */
  async cancel(): Promise<void> {
    this.#timer?.cancel();
    await this.#deps.membership.update((value) =>
      value.pending_login === null ? value : { ...value, pending_login: null },
    );
  }

  /** Resolves when nothing is asked of the service: the own name after a grant has arrived, too. */
  async settled(): Promise<void> {
    await Promise.all(this.#asking);
  }

  #askIn(pending: PendingLogin, seconds = pending.interval): void {
    this.#timer?.cancel();
    if (this.#isClosed) return;
    this.#timer = this.#deps.clock.after(
      Math.min(seconds, LIMITS.link.pollSeconds) * 1000,
      () => {
        const asking = this.#ask(pending)
          .catch((error: unknown) => {
            this.#deps.log.warn("account_login", errorFields(error));
            if (this.#waitsFor(pending)) this.#askIn(pending);
          })
          .finally(() => this.#asking.delete(asking));
        this.#asking.add(asking);
      },
      { background: true },
    );
  }

  async #ask(pending: PendingLogin): Promise<void> {
    const { clock, client } = this.#deps;
    const { account_origin: origin, device_code: deviceCode } = pending;
    if (!this.#waitsFor(pending)) return;
    const { code } = this.#troubleOf(pending) ?? {};
    if (code !== undefined) return this.#end(pending, code);
    if (clock.now() >= Date.parse(pending.expires_at)) return this.#end(pending, "expired_token");
    const answer = await client.deviceToken(origin, deviceCode);
    // The account service gives a grant once.
    if (answer.ok) {
      const { device_id: deviceId, access_token: token, hostname } = answer.value;
      return this.#take(
        pending,
        { account_origin: origin, device_id: deviceId, device_token: token },
        hostname,
      );
    }
    if (!this.#waitsFor(pending)) return;
    const device = { device_code: deviceCode };
    this.#trouble = "oauth" in answer ? null : { ...device, message: answer.failure.message };
    if (!("oauth" in answer)) {
      return this.#askIn(pending, Math.max(pending.interval, answer.failure.retrySeconds));
    }
    if (answer.oauth === "authorization_pending") return this.#askIn(pending);
    if (answer.oauth === "slow_down") {
      return this.#askIn({ ...pending, interval: pending.interval + SLOWER_SECONDS });
    }
    return this.#end(pending, answer.oauth);
  }

  /**
   * The grant becomes the binding, if it is still the one that is waited for. What isn't the
   * binding then is retired: the account service may know the earlier device after all, if it was
   * something else that said otherwise, and one instance is one device (DIR-029).
   */
  async #take(pending: PendingLogin, binding: Binding, hostname: string): Promise<void> {
    const { membership, client } = this.#deps;
    let isTaken = false;
    try {
      await membership.update((value) => {
        isTaken = value.pending_login?.device_code === pending.device_code;
        const unused = isTaken ? bindingOf(value) : binding;
        const retiring = [...(value.retiring ?? []), ...(unused === null ? [] : [unused])];
        const after = { ...value, retiring: retiring.slice(-LIMITS.link.retiring) };
        if (!isTaken) return after;
        return {
          ...after,
          ...binding,
          logged_in: true,
          hostname,
          account_label: null,
          disabled: false,
          pending_login: null,
          last_error: null,
        };
      });
    } catch (error) {
      const { device_code: deviceCode } = pending;
      const message = ENDINGS["unsaved"]!;
      if (this.#waitsFor(pending)) this.#trouble = { device_code: deviceCode, message, code: "unsaved" };
      // Its token is nowhere, so nobody could use the device.
      await client.retire(binding);
      throw error;
    }
    if (isTaken) await this.#name(binding);
  }

  /** Once, right after the grant. Without it the account shows a neutral name (DIR-048). */
  async #name(binding: Binding): Promise<void> {
    const { client, log, hostname } = this.#deps;
    const name = DisplayName.safeParse(hostname);
    if (!name.success) return;
    const answer = await client.name(binding, name.data);
    if (!answer.ok) log.warn("account_name", { code: answer.failure.code });
  }

  async #end(pending: PendingLogin, code: string): Promise<void> {
    const message = ENDINGS[code] ?? "The account service no longer accepts the request. Link again.";
    await this.#deps.membership.update((value) =>
      value.pending_login?.device_code === pending.device_code
        ? { ...value, pending_login: null, last_error: { code, message } }
        : value,
    );
  }

  #troubleOf({ device_code: deviceCode }: PendingLogin): Trouble | null {
    return this.#trouble?.device_code === deviceCode ? this.#trouble : null;
  }

  #waitsFor({ device_code: deviceCode }: PendingLogin): boolean {
    const { pending_login: now } = this.#deps.membership.value;
    return !this.#isClosed && now?.device_code === deviceCode;
  }
}

/** Throws conflict. A retired or unknown device may be replaced. */
function checkUnlinked({ binding, value }: Membership): void {
  if (binding === null || value.disabled || !value.logged_in) return;
  throw new Refusal("conflict", {
    specifics: `This instance is linked to an account at ${binding.account_origin}.`,
    remedy: "Unlink it first with 'svc unlink'.",
  });
}

/** Failures whose reason says what helps, where time alone doesn't. */
const EXPLAINED: ReadonlySet<string> = new Set(["account_untrusted", "wrong_host"]);

/**
 * What was refused for good isn't to be tried again: the message says what helps. `address` is the
 * remedy for an address that may be wrong.
 */
export function unavailable({ kind, message, code }: AccountFailure, address?: string): Refusal {
  return new Refusal("account_unavailable", {
    specifics: message,
    ...(kind === "passing" ? {} : { remedy: "'svc account' shows the link." }),
    ...(EXPLAINED.has(code) ? { remedy: "Then try again." } : {}),
    ...(code === "account_invalid" && address !== undefined ? { remedy: address } : {}),
    details: { cause: code },
  });
}
