/** Members as other members see them: their name, and what stands behind it. */
import type { Queries } from "../store/store.ts";

export interface Person {
  id: string;
  name: string;
  /** How the member proves to be the same one again. It doesn't prove the name. */
  proof: string;
}

const DEVELOPMENT = "development";

/** By member id. */
export async function peopleOf(db: Queries, ids: readonly string[]): Promise<ReadonlyMap<string, Person>> {
  if (ids.length === 0) return new Map();
  const rows = await db
    .selectFrom("members")
    .leftJoin("identities", "identities.member_id", "members.id")
    .select(["members.id", "members.name", "identities.issuer"])
    .where("members.id", "in", [...new Set(ids)])
    .orderBy("identities.issuer")
    .execute();
  return new Map(rows.map(({ id, name, issuer }) => [id, { id, name, proof: proofWords(issuer) }]));
}

function proofWords(issuer: string | null): string {
  if (issuer === null) return "signs in with a passkey and chose this name";
  if (issuer === DEVELOPMENT) return "development login: nothing proves who this is";
  return `signs in through ${URL.canParse(issuer) ? new URL(issuer).host : issuer}`;
}
