/** The daemon itself. */
import * as z from "zod";
import { HealthCheck } from "../health.ts";
import { operation } from "./contract.ts";

export const DaemonStatus = z.strictObject({
  running: z.literal(true),
  pid: z.int(),
  version: z.string(),
  instance_id: z.string(),
  socket: z.string(),
  web_origin: z.string().nullable(),
  home: z.string(),
  started_at: z.string(),
});

export const systemOperations = [
  operation({
    name: "daemon_status",
    title: "Show the daemon's status",
    summary: "Shows the daemon's process id, version, addresses and start time.",
    input: z.strictObject({}),
    output: DaemonStatus,
    callers: ["user"],
    lock: "none",
    effect: "read",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "daemon_stop",
    title: "Stop the daemon",
    summary: "Lets running requests finish, then stops the daemon. Works only over the local socket.",
    input: z.strictObject({}),
    output: z.strictObject({ stopping: z.literal(true), pid: z.int() }),
    callers: ["user"],
    lock: "none",
    effect: "write",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "health",
    title: "Run the health checks",
    summary: "Runs all of the daemon's health checks. Each problem comes with a remedy.",
    input: z.strictObject({}),
    output: z.strictObject({ checks: z.array(HealthCheck) }),
    callers: ["user"],
    lock: "none",
    effect: "read",
    decision: false,
    idempotent: true,
  }),
] as const;
