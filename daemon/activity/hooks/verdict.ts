/** What the fences say of one event. */
import type { HookState, Revision } from "./hook-state.ts";

/** The fence that an event failed. */
export type Fence = "session" | "turn" | "operation" | "ignored";

export interface Accepted {
  state: HookState;
  revisions: Revision[];
  /** Notes in the memory what must not come again; called when the event counts for good. */
  remember(): void;
}
