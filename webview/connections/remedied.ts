/** A change whose refusal names commands: what helps in the dialog takes the sentence's place. */
import { HostError } from "../hosts/host.ts";

type Refused = Pick<HostError, "code" | "details">;

/** Runs the change, then `after`. `remedyFor` gives null if the daemon's own sentence says it. */
export async function remedied(
  change: () => Promise<unknown>,
  remedyFor: (refused: Refused) => string | null,
  after: () => Promise<unknown>,
): Promise<void> {
  try {
    await change();
  } catch (error) {
    const remedy = error instanceof HostError ? remedyFor(error) : null;
    if (!(error instanceof HostError) || remedy === null) throw error;
    throw new HostError(error.code, remedy, error.details);
  } finally {
    await after();
  }
}
