/** Operations on the daemon itself. */
import { Refusal } from "../../shared/errors.ts";
import type { HealthCheck } from "../../shared/health.ts";
import type { Caller } from "../../shared/operations/caller.ts";
import type { HandlersFor } from "../../shared/operations/handlers.ts";
import type { ResultOf } from "../../shared/operations/registry.ts";
import type { systemOperations } from "../../shared/operations/system.ts";

export interface SystemDependencies {
  status(): ResultOf<"daemon_status">;
  checks(): HealthCheck[];
  /** Lets the checks look more closely first. */
  look(): Promise<void>;
  /** Begins to stop; the answer still goes out. */
  stop(): void;
}

export function systemHandlers(deps: SystemDependencies): HandlersFor<typeof systemOperations> {
  return {
    daemon_status: () => deps.status(),
    daemon_stop(_input, { caller }) {
      requireSocketOwner(caller);
      deps.stop();
      return { stopping: true, pid: deps.status().pid };
    },
    health: async () => {
      await deps.look();
      return { checks: deps.checks() };
    },
  };
}

/** Some operations are for the person at this machine, not for a token from elsewhere. */
export function requireSocketOwner(caller: Caller): void {
  if (caller.kind === "user" && caller.via === "socket") return;
  throw new Refusal("permission_denied", { specifics: "This works only over the local socket." });
}
