/** One registry of health checks feeds `svc doctor`, the Workbench and the metrics. */
import * as z from "zod";

export const HealthCheck = z.strictObject({
  /** Stable snake_case. */
  code: z.string(),
  severity: z.enum(["ok", "warning", "error"]),
  title: z.string(),
  text: z.string(),
  /** What to do; empty if nothing is wrong. */
  remedy: z.string(),
});
export type HealthCheck = z.infer<typeof HealthCheck>;
