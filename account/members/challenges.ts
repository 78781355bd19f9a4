/** Challenges that were answered. None is answered twice, by whichever process. */
import { digestOf } from "../secrets.ts";
import type { Queries } from "../store/store.ts";

/** Uses a challenge up, which is remembered until `expires`. Answers whether it wasn't before. */
export async function useUp(db: Queries, challenge: string, expires: number): Promise<boolean> {
  const used = await db
    .insertInto("used_challenges")
    .values({ digest: digestOf(challenge), expires_at: expires })
    .onConflict((conflict) => conflict.column("digest").doNothing())
    .returning("digest")
    .executeTakeFirst();
  return used !== undefined;
}
