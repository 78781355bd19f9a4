/** The device grant (RFC 8628): how a daemon becomes a device of a member. */
import type { Clock } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { Audit } from "../audit.ts";
import { digestOf, newLabel, newToken, newUserCode, type ServiceKey, shownUserCode } from "../secrets.ts";
import { isDuplicate, type Queries, type Store } from "../store/store.ts";

const { account } = LIMITS;
const GRANT_MS = account.grantSeconds * 1000;
const POLL_MS = account.pollSeconds * 1000;
/** Two live grants with one code are improbable; the second draws again. */
const DRAWS = 5;
const MISSED_POLLS = 6;

/** An error of RFC 8628, section 3.5, or RFC 6749, section 5.2. */
export class GrantError extends Error {
  readonly code: GrantErrorCode;

  constructor(code: GrantErrorCode) {
    super(code);
    this.name = "GrantError";
    this.code = code;
  }
}

export type GrantErrorCode =
  | "authorization_pending"
  | "slow_down"
  | "expired_token"
  | "access_denied"
  | "unsupported_grant_type"
  | "invalid_request";

/** What a device says about itself. Nobody has checked it. */
export interface Claims {
  hostname: string | null;
  version: string | null;
}

/** A grant as its confirmation page shows it. */
export interface OpenGrant {
  digest: string;
  claims: Claims;
  address: string;
  createdAt: number;
}

export interface Granted {
  token: string;
  device: string;
  hostname: string;
}

export interface GrantDependencies {
  store: Store;
  clock: Clock;
  random: Random;
  key: ServiceKey;
  audit: Audit;
}

export class DeviceGrants {
  readonly #deps: GrantDependencies;

  constructor(deps: GrantDependencies) {
    this.#deps = deps;
  }

  /** Begins a grant. Both codes leave the service only here. */
  async begin(claims: Claims, address: string): Promise<{ deviceCode: string; userCode: string }> {
    const { store, clock, random, key } = this.#deps;
    const now = clock.now();
    if ((await countOpen(store.db, now)) >= account.openGrants) {
      // Otherwise, somebody who only begins grants would keep everybody else from it.
      await removeAbandoned(store.db, now);
      if ((await countOpen(store.db, now)) >= account.openGrants) throw new Refusal("overloaded");
    }
    const deviceCode = newToken(random);
    for (let draw = 1; ; draw += 1) {
      const userCode = newUserCode(random);
      try {
        await store.db
          .insertInto("device_grants")
          .values({
            device_code_digest: digestOf(deviceCode),
            user_code_digest: key.codeDigest(userCode),
            claimed_hostname: claims.hostname,
            claimed_version: claims.version,
            address,
            created_at: now,
            expires_at: now + GRANT_MS,
            poll_interval: POLL_MS,
            polled_at: null,
            opened: 0,
            decision: null,
            member_id: null,
          })
          .execute();
        return { deviceCode, userCode: shownUserCode(userCode) };
      } catch (error) {
        if (!isDuplicate(error) || draw === DRAWS) throw error;
      }
    }
  }

  /**
   * The undecided grant with this code, or null. It can be opened a few times only, however many
   * members try it.
   */
  async open(userCode: string): Promise<OpenGrant | null> {
    const { store, clock, key } = this.#deps;
    const row = await store.db
      .updateTable("device_grants")
      .set((eb) => ({ opened: eb("opened", "+", 1) }))
      .where("user_code_digest", "=", key.codeDigest(userCode))
      .where("decision", "is", null)
      .where("expires_at", ">", clock.now())
      .where("opened", "<", account.userCodes.perCode)
      .returning(["user_code_digest", "claimed_hostname", "claimed_version", "address", "created_at"])
      .executeTakeFirst();
    if (row === undefined) return null;
    return {
      digest: row.user_code_digest,
      claims: { hostname: row.claimed_hostname, version: row.claimed_version },
      address: row.address,
      createdAt: row.created_at,
    };
  }

  /**
   * Approves or denies an undecided grant, once. Answers whether there was one. Throws
   * `limit_reached` for a member who can't have another device: the grant stays undecided.
   */
  async decide(
    userCode: string,
    decision: "approved" | "denied",
    { member, address }: { member: string; address: string },
  ): Promise<boolean> {
    const { store, clock, key, audit } = this.#deps;
    return store.transaction(async (db) => {
      const decided = await db
        .updateTable("device_grants")
        .set({ decision, member_id: member })
        .where("user_code_digest", "=", key.codeDigest(userCode))
        .where("decision", "is", null)
        .where("expires_at", ">", clock.now())
        .returning("device_code_digest")
        .executeTakeFirst();
      if (decided === undefined) return false;
      if (decision === "approved" && (await hasAllDevices(db, member))) {
        throw new Refusal("limit_reached", {
          specifics: `Your account has ${account.devices} machines, and it can't have more.`,
          remedy: "Retire one that you no longer use, then enter the code again.",
        });
      }
      await audit.record(db, {
        event: decision === "approved" ? "device_approved" : "device_denied",
        member,
        address,
      });
      return true;
    });
  }

  /**
   * The device's poll. Throws GrantError until the grant is approved, then gives the token once.
   */
  async poll(deviceCode: string, address: string): Promise<Granted> {
    const digest = digestOf(deviceCode);
    const answer = await this.#deps.store.transaction(async (db) => {
      const { clock, random, audit, store } = this.#deps;
      const now = clock.now();
      const grant = await db
        .selectFrom("device_grants")
        .select(["expires_at", "decision", "member_id", "polled_at", "poll_interval"])
        .where("device_code_digest", "=", digest)
        .$if(store.kind === "postgres", (query) => query.forUpdate())
        .executeTakeFirst();
      if (grant === undefined || grant.expires_at <= now) return "expired_token";
      if (grant.decision === "denied") return "access_denied";
      if (grant.decision === null) {
        const sooner = grant.polled_at === null ? POLL_MS : now - grant.polled_at;
        // A clock that was set back isn't the device's fault.
        const isTooFast = sooner >= 0 && sooner + account.pollToleranceMilliseconds < grant.poll_interval;
        await db
          .updateTable("device_grants")
          .set({ polled_at: now, poll_interval: grant.poll_interval + (isTooFast ? POLL_MS : 0) })
          .where("device_code_digest", "=", digest)
          .execute();
        return isTooFast ? "slow_down" : "authorization_pending";
      }
      const member = grant.member_id!;
      await db.deleteFrom("device_grants").where("device_code_digest", "=", digest).execute();
      // The account may have changed since the approval.
      const isMember = await db
        .selectFrom("members")
        .select("id")
        .where("id", "=", member)
        .where("disabled_at", "is", null)
        .$if(store.kind === "postgres", (query) => query.forUpdate())
        .executeTakeFirst();
      if (isMember === undefined) return "access_denied";
      // Others may have joined since the approval, too.
      if (await hasAllDevices(db, member)) return "access_denied";
      const granted: Granted = { token: newToken(random), device: random.uuid(), hostname: newLabel(random) };
      await db
        .insertInto("devices")
        .values({
          id: granted.device,
          member_id: member,
          token_digest: digestOf(granted.token),
          hostname: granted.hostname,
          display_name: null,
          created_at: now,
          retired_at: null,
        })
        .execute();
      await audit.record(db, { event: "device_joined", member, device: granted.device, address });
      return granted;
    });
    if (typeof answer === "string") throw new GrantError(answer);
    return answer;
  }
}

async function countOpen(db: Queries, now: number): Promise<number> {
  const { open } = await db
    .selectFrom("device_grants")
    .select((eb) => eb.fn.countAll<number>().as("open"))
    .where("expires_at", ">", now)
    .executeTakeFirstOrThrow();
  return open;
}

/** Removes the undecided grants whose device has missed several polls: nobody waits for them. */
async function removeAbandoned(db: Queries, now: number): Promise<void> {
  await db
    .deleteFrom("device_grants")
    .where("decision", "is", null)
    .where((eb) =>
      eb(
        eb(eb.fn.coalesce("polled_at", "created_at"), "+", eb("poll_interval", "*", MISSED_POLLS)),
        "<",
        now,
      ),
    )
    .execute();
}

/** Whether a member has as many active devices as an account can have. */
async function hasAllDevices(db: Queries, member: string): Promise<boolean> {
  const { active } = await db
    .selectFrom("devices")
    .select((eb) => eb.fn.countAll<number>().as("active"))
    .where("member_id", "=", member)
    .where("retired_at", "is", null)
    .executeTakeFirstOrThrow();
  return active >= account.devices;
}
