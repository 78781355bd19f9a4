/** Counts for operators, in Prometheus text. */
import client from "prom-client";

/** What became of a user code that a member tried. */
export type UserCodeOutcome = "approved" | "denied" | "unknown";

export class Metrics {
  readonly #registry = new client.Registry();
  readonly #requests: client.Histogram<"route" | "status">;
  readonly #refusals: client.Counter<"code">;
  readonly #userCodes: client.Counter<"outcome">;

  constructor() {
    const registers = [this.#registry];
    client.collectDefaultMetrics({ register: this.#registry, prefix: "svc_account_" });
    this.#requests = new client.Histogram({
      name: "svc_account_request_seconds",
      help: "Requests by route and status, and how long they took.",
      labelNames: ["route", "status"],
      buckets: [0.001, 0.005, 0.025, 0.1, 0.5, 2.5],
      registers,
    });
    this.#refusals = new client.Counter({
      name: "svc_account_refusals_total",
      help: "Refused requests by error code.",
      labelNames: ["code"],
      registers,
    });
    this.#userCodes = new client.Counter({
      name: "svc_account_user_codes_total",
      help: "User codes that members tried: approved, denied, unknown.",
      labelNames: ["outcome"],
      registers,
    });
  }

  /** `route` is the pattern of a known path. */
  request(route: string, status: number, seconds: number): void {
    this.#requests.observe({ route, status }, seconds);
  }

  refusal(code: string): void {
    this.#refusals.inc({ code });
  }

  userCode(outcome: UserCodeOutcome): void {
    this.#userCodes.inc({ outcome });
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  async text(): Promise<string> {
    return this.#registry.metrics();
  }
}
