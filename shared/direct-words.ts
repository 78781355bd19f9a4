/**
 * States of Direct connections in words (docs/protocol.md#display-states). The command line and the
 * Workbench use the same ones.
 */
import type { DirectRelation, DirectRuntime } from "./operations/direct.ts";

export function directStateWords({
  state,
  initiated,
  expired,
  online,
  error,
}: Pick<DirectRelation, "state" | "initiated" | "expired" | "online" | "error">): string {
  if (state === "revoked" || state === "expired") return state;
  if (state === "active" && online) return error === null ? "online" : "online, messages are refused";
  if (state === "active") return "active but offline";
  // Only the other side knows whether it approved in time (DRC-032).
  return initiated && expired ? "checking approval" : "pending approval";
}

/** Null: off. */
export function listenerStateWords(listener: object | null, runtime: DirectRuntime | null): string | null {
  if (listener === null) return null;
  return typeof runtime?.bind === "string" ? "listening" : "configured";
}
