/** A Group's permit for background work, with a limited wait (LIM-045). */

import type { Clock } from "../../../platform/clock.ts";
import type { Release } from "../../../platform/mutex.ts";
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
  const release = group.permit.tryRead() ?? (await acquire(group, clock));
  try {
    return await step();
  } finally {
    release();
  }
}

function acquire(group: OpenGroup, clock: Clock): Promise<Release> {
  return new Promise((resolve, reject) => {
    let isLate = false;
    const timer = clock.after(LIMITS.outbox.permitSeconds * 1000, () => {
      isLate = true;
      reject(new Refusal("group_busy"));
    });
    group.permit.acquireRead().then(
      (release) => {
        timer.cancel();
        if (isLate) release();
        else resolve(release);
      },
      (error: unknown) => {
        timer.cancel();
        reject(error);
      },
    );
  });
}
