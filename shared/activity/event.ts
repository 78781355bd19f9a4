/**
 * Runtime activity events: what the channel carries (docs/protocol.md#activity-events;
 * docs/protocol.md#runtime-activity). They never contain prompts, command lines, tool inputs, tool
 * outputs or notification text.
 */
import * as z from "zod";
import { ActorId, GroupId, Runtime } from "../model.ts";

export const ActivityKind = z.enum(["session", "turn", "tool", "subagent"]);
export const ActivityStatus = z.enum(["started", "waiting", "completed", "failed"]);

/** Letters, digits and `_ - . : /`, at most 64 of them (ACT-016, ACT-017). */
const TOOL_LABEL = /^[A-Za-z0-9_.:/-]{0,64}$/;
/**
 * What a runtime may call a session, turn or operation. It has no spaces, so that it can't hide
 * text.
 */
export const RUNTIME_ID = /^[\x21-\x7e]{1,128}$/;
const OptionalRuntimeId = z.union([z.literal(""), z.string().regex(RUNTIME_ID)]);

/** Members are in this order. An absent turn_id, operation_id or tool_name is the empty string. */
export const RuntimeActivityEvent = z.strictObject({
  v: z.literal(1),
  /** Of this revision; unique. */
  id: z.string().min(1),
  /** UTC ISO 8601 with milliseconds. */
  ts: z.string(),
  group_id: GroupId,
  actor_id: ActorId,
  runtime: Runtime,
  /**
   * `<runtime>:<session>:<tool or kind>:<operation>`. A newer event with the same value replaces
   * the shown revision.
   */
  activity_id: z.string().min(1),
  kind: ActivityKind,
  status: ActivityStatus,
  /**
   * The hook's name, or SessionEnded, TurnSuperseded or UserInterrupt if something else closed it.
   */
  event_type: z.string(),
  session_id: z.string().regex(RUNTIME_ID),
  turn_id: OptionalRuntimeId,
  operation_id: OptionalRuntimeId,
  tool_name: z.string().regex(TOOL_LABEL),
  /** From the start to a terminal status; null otherwise. */
  duration_ms: z.number().min(0).nullable(),
});

export type ActivityKind = z.infer<typeof ActivityKind>;
export type ActivityStatus = z.infer<typeof ActivityStatus>;
export type RuntimeActivityEvent = z.infer<typeof RuntimeActivityEvent>;

/** Reduces a tool's name to a label: removes every other character, and everything beyond 64. */
export function toolLabel(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_.:/-]/g, "").slice(0, 64);
}
