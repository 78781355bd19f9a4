/** The fences' verdict on one event. */
import type { HookState, Revision } from "./hook-state.ts";

/** The fence that an event failed. */
export type Fence = "session" | "turn" | "operation" | "ignored";

export interface Accepted {
  state: HookState;
  revisions: Revision[];
  /** Records in the memory what must not come again. Called when the event finally counts. */
  remember(): void;
}
