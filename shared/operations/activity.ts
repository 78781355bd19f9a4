/**
 * The runtime activity channel (docs/protocol.md#runtime-activity). Its stream is `GET
 * G/runtime-activity/stream` (docs/http.md).
 */
import * as z from "zod";
import { RuntimeActivityEvent } from "../activity/event.ts";
import { GroupId } from "../model.ts";
import { operation } from "./contract.ts";

/** Why an event doesn't count: the fence that it failed, or that it isn't one of ours. */
export const HookRefusal = z.enum(["launch", "session", "turn", "operation", "ignored", "malformed"]);

export const activityOperations = [
  operation({
    name: "hook_submit",
    title: "Submit a hook event",
    summary:
      "Submits what an agent's runtime reports at one of its events. The arguments are the runtime's own payload. Prompts, inputs and outputs in it are never kept. The answer comes once the event is judged. The stream shows the event once it is in the Actor's file.",
    input: z.looseObject({ hook_event_name: z.string().max(128) }),
    output: z.strictObject({ accepted: z.boolean(), reason: HookRefusal.nullable() }),
    callers: ["actor"],
    lock: "none",
    effect: "write",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "runtime_activity_snapshot",
    title: "Show runtime activity",
    summary:
      "Shows what the Group's runtimes are doing and what they finished in the last 15 seconds, oldest first.",
    input: z.strictObject({ group_id: GroupId }),
    output: z.strictObject({ count: z.int(), events: z.array(RuntimeActivityEvent) }),
    callers: ["user", "member"],
    lock: "none",
    effect: "read",
    decision: false,
    idempotent: true,
  }),
] as const;
