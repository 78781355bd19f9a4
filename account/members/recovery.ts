/** Recovery codes: the way in for a member whose passkeys are lost. Each works once. */
import type { Clock } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import { LIMITS } from "../../shared/limits.ts";
import { newRecoveryCode, recoveryCodeOf, type ServiceKey } from "../secrets.ts";
import type { Queries, Store } from "../store/store.ts";
import { lockMember } from "./members.ts";

export interface RecoveryDependencies {
  store: Store;
  clock: Clock;
  random: Random;
  key: ServiceKey;
}

export class RecoveryCodes {
  readonly #deps: RecoveryDependencies;

  constructor(deps: RecoveryDependencies) {
    this.#deps = deps;
  }

  /** Replaces a member's codes. They leave the service only here. */
  async replace(db: Queries, memberId: string): Promise<string[]> {
    const { store, clock, random, key } = this.#deps;
    const codes = Array.from({ length: LIMITS.account.recoveryCodes }, () => newRecoveryCode(random));
    // Otherwise, codes that are made at the same time would all be valid.
    await lockMember(db, store.kind, memberId);
    await db.deleteFrom("recovery_codes").where("member_id", "=", memberId).execute();
    await db
      .insertInto("recovery_codes")
      .values(
        codes.map((code) => ({
          digest: key.codeDigest(code),
          member_id: memberId,
          created_at: clock.now(),
          used_at: null,
        })),
      )
      .execute();
    return codes;
  }

  /** Uses a code up. Answers whose it was, or null. */
  async use(db: Queries, typed: string): Promise<string | null> {
    const { clock, key } = this.#deps;
    const row = await db
      .updateTable("recovery_codes")
      .set({ used_at: clock.now() })
      .where("digest", "=", key.codeDigest(recoveryCodeOf(typed)))
      .where("used_at", "is", null)
      .where("member_id", "in", (eb) =>
        eb.selectFrom("members").select("id").where("disabled_at", "is", null),
      )
      .returning("member_id")
      .executeTakeFirst();
    return row?.member_id ?? null;
  }

  /** How many of a member's codes are left. */
  async left(db: Queries, memberId: string): Promise<number> {
    const { count } = await db
      .selectFrom("recovery_codes")
      .select((eb) => eb.fn.countAll<number>().as("count"))
      .where("member_id", "=", memberId)
      .where("used_at", "is", null)
      .executeTakeFirstOrThrow();
    return count;
  }
}
