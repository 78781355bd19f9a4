/** `GET /metrics` in Prometheus text. prom-client is loaded with the first request for it. */

import { tellReplaced } from "../../../platform/replaced.ts";
import { Refusal } from "../../../shared/errors.ts";
import type { HealthCheck } from "../../../shared/health.ts";
import type { OperationCount } from "../../operations/dispatcher.ts";
import { callerOfExchange, type Exchange } from "../exchange/exchange.ts";

export interface MetricSources {
  operations(): Iterable<readonly [name: string, count: OperationCount]>;
  streams(): number;
  groups(): number;
  checks(): readonly HealthCheck[];
}

export function metricsService(sources: MetricSources): (exchange: Exchange) => Promise<void> {
  let registry: Promise<{ contentType: string; text: () => Promise<string> }> | undefined;
  return async (exchange) => {
    const caller = callerOfExchange(exchange);
    if (caller.kind !== "user") throw new Refusal("permission_denied");
    registry ??= createRegistry(sources);
    const { contentType, text } = await registry;
    const { response } = exchange;
    response.setHeader("Content-Type", contentType);
    response.setHeader("Cache-Control", "no-store");
    response.end(await text());
  };
}

async function createRegistry(sources: MetricSources) {
  const { default: client } = await import("prom-client").catch(tellReplaced);
  const registry = new client.Registry();
  const registers: never[] = [];
  client.collectDefaultMetrics({ register: registry, prefix: "svc_" });
  const operations = new client.Gauge({
    name: "svc_operations",
    help: "Operations since the start, by name and outcome.",
    labelNames: ["operation", "outcome"],
    registers,
    collect() {
      for (const [operation, { done, refused }] of sources.operations()) {
        if (done > 0) this.set({ operation, outcome: "done" }, done);
        if (refused > 0) this.set({ operation, outcome: "refused" }, refused);
      }
    },
  });
  const streams = new client.Gauge({
    name: "svc_streams",
    help: "Open streams.",
    registers,
    collect() {
      this.set(sources.streams());
    },
  });
  const groups = new client.Gauge({
    name: "svc_groups",
    help: "Open Groups.",
    registers,
    collect() {
      this.set(sources.groups());
    },
  });
  const health = new client.Gauge({
    name: "svc_health",
    help: "Health checks: 0 ok, 1 warning, 2 error.",
    labelNames: ["code"],
    registers,
    collect() {
      for (const { code, severity } of sources.checks()) {
        this.set({ code }, severity === "ok" ? 0 : severity === "warning" ? 1 : 2);
      }
    },
  });
  for (const gauge of [operations, streams, groups, health]) registry.registerMetric(gauge);
  return { contentType: registry.contentType, text: () => registry.metrics() };
}
