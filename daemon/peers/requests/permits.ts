/** A Group's permit for background work, with a limited wait (LIM-045). */

import type { Clock } from "../../../platform/clock.ts";
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { OpenGroup } from "../../groups/group.ts";

/**
 * Runs `step` under the Group's read permit, as appends do. Throws group_busy after 5 s, or what
 * `step` throws.
 */
export async function withPermit<Result>(
  group: OpenGroup,
  clock: Clock,
  step: () => Promise<Result>,
): Promise<Result> {
  const release =
    group.permit.tryRead() ??
    (await group.permit.acquireRead({
      clock,
      milliseconds: LIMITS.outbox.permitSeconds * 1000,
      late: () => new Refusal("group_busy"),
    }));
  try {
    return await step();
  } finally {
    release();
  }
}
