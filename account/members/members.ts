/** Members: how they come in, and what the administrator may do with them. */
import type { Clock } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import { Refusal } from "../../shared/errors.ts";
import type { Audit } from "../audit.ts";
import type { Queries, Store } from "../store/store.ts";

/** The development login counts as an issuer whose subjects are names. */
export const DEVELOPMENT_ISSUER = "development";

export interface MemberDependencies {
  store: Store;
  clock: Clock;
  random: Random;
  audit: Audit;
}

/** Others who want the same lock wait for the end of this transaction, and then see what it did. */
export async function lockMember(db: Queries, kind: Store["kind"], memberId: string): Promise<void> {
  await db
    .selectFrom("members")
    .select("id")
    .where("id", "=", memberId)
    // Rows that refer to the member may be written meanwhile.
    .$if(kind === "postgres", (query) => query.forNoKeyUpdate())
    .execute();
}

export class Members {
  readonly #deps: MemberDependencies;

  constructor(deps: MemberDependencies) {
    this.#deps = deps;
  }

  /** Creates a member, in the transaction of what lets the member in. Answers the id. */
  async create(
    db: Queries,
    { name, isAdmin, address }: { name: string; isAdmin: boolean; address: string },
  ): Promise<string> {
    const { random, clock, audit } = this.#deps;
    const id = random.uuid();
    await db
      .insertInto("members")
      .values({ id, name, is_admin: isAdmin ? 1 : 0, created_at: clock.now(), disabled_at: null })
      .execute();
    await audit.record(db, { event: "member_joined", member: id, address });
    return id;
  }

  /** The member whom an issuer knows by this subject. */
  async byIdentity(
    db: Queries,
    issuer: string,
    subject: string,
  ): Promise<{ id: string; isDisabled: boolean } | null> {
    const row = await db
      .selectFrom("identities")
      .innerJoin("members", "members.id", "identities.member_id")
      .select(["members.id", "members.disabled_at"])
      .where("identities.issuer", "=", issuer)
      .where("identities.subject", "=", subject)
      .executeTakeFirst();
    return row === undefined ? null : { id: row.id, isDisabled: row.disabled_at !== null };
  }

  /** The id of that member, who signs in. Throws `permission_denied` for a disabled one. */
  async signingIn(db: Queries, issuer: string, subject: string): Promise<string | null> {
    const known = await this.byIdentity(db, issuer, subject);
    if (known?.isDisabled === true) {
      throw new Refusal("permission_denied", {
        specifics: "The administrator disabled this account.",
        remedy: "Ask the administrator.",
      });
    }
    return known?.id ?? null;
  }

  /** Lets an issuer's subject sign in as a member from now on. */
  async addIdentity(db: Queries, issuer: string, subject: string, memberId: string): Promise<void> {
    await db
      .insertInto("identities")
      .values({ issuer, subject, member_id: memberId, created_at: this.#deps.clock.now() })
      .execute();
  }

  /** How many identities of the identity provider a member has. */
  async identities(db: Queries, memberId: string): Promise<number> {
    const { count } = await db
      .selectFrom("identities")
      .select((eb) => eb.fn.countAll<number>().as("count"))
      .where("member_id", "=", memberId)
      .where("issuer", "!=", DEVELOPMENT_ISSUER)
      .executeTakeFirstOrThrow();
    return count;
  }

  /**
   * Lets no subject of the identity provider sign in as the member any more. Answers how many there
   * were.
   */
  async removeIdentities(db: Queries, memberId: string): Promise<number> {
    const removed = await db
      .deleteFrom("identities")
      .where("member_id", "=", memberId)
      .where("issuer", "!=", DEVELOPMENT_ISSUER)
      .returning("subject")
      .execute();
    return removed.length;
  }

  /** Whether a member has a passkey, which stays until the transaction ends. */
  async hasPasskey(db: Queries, memberId: string): Promise<boolean> {
    const row = await db
      .selectFrom("passkeys")
      .select("credential_id")
      .where("member_id", "=", memberId)
      .$if(this.#deps.store.kind === "postgres", (query) => query.forUpdate())
      .limit(1)
      .executeTakeFirst();
    return row !== undefined;
  }
}
