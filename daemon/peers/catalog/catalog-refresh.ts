/**
 * Keeps the catalogs of peers current: it checks every two seconds while there are grants, at most
 * eight peers at a time, with a minute between successes (docs/protocol.md#validity). A catalog is
 * published as a whole or not at all.
 */

import { type Clock, type Timer, timestamp } from "../../../platform/clock.ts";
import { errorFields, type Log } from "../../../platform/log.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { CatalogPage, type ConnectPeerOperation } from "../../../shared/wire/v1/peer.ts";
import { type Authorities, kindOf } from "../authorities.ts";
import type { Grant } from "../authority.ts";
import type { PeerSender } from "../requests/peer-sender.ts";
import type { CatalogCache, CatalogGroup } from "./catalog-cache.ts";

interface Dependencies {
  clock: Clock;
  log: Log;
  authorities: Authorities;
  cache: CatalogCache;
  sender: PeerSender;
}

/** Monotonic milliseconds. */
interface Plan {
  dueAt: number;
  failures: number;
  /** Why the last refresh failed, in words; null if none has or it didn't. */
  reason: string | null;
  isRunning: boolean;
}

const { catalog: limits } = LIMITS.connect;

export class CatalogRefresh {
  readonly #deps: Dependencies;
  readonly #plans = new Map<string, Plan>();
  readonly #running = new Set<Promise<void>>();
  readonly #abort = new AbortController();
  readonly #stops: (() => void)[] = [];
  #timer: Timer | null = null;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  start(): void {
    const { authorities } = this.#deps;
    this.#stops.push(
      authorities.onChange(() => this.#changed()),
      authorities.onReachable((instanceId) => this.#reachable(instanceId)),
    );
    this.#changed();
  }

  /** Why the peer's last refresh failed, in words. */
  reasonOf(grant: Grant): string | null {
    return this.#plans.get(keyOf(grant))?.reason ?? null;
  }

  async close(): Promise<void> {
    for (const stop of this.#stops.splice(0)) stop();
    this.#abort.abort();
    this.#timer?.cancel();
    this.#timer = null;
    await Promise.all(this.#running);
  }

  #changed(): void {
    this.#prune();
    this.#scan();
  }

  /**
   * A grant that a fresh authority no longer knows has ended. An authority that can't tell proves
   * nothing.
   */
  #prune(): void {
    const { authorities, cache } = this.#deps;
    cache.prune((connectionId) => {
      const authority = authorities.of(kindOf(connectionId));
      if (authority?.condition().status !== "ready") return false;
      return !authority.discover(null).some((grant) => grant.connection_id === connectionId);
    });
  }

  /** A route to the peer opened, so a refresh that failed before is tried now. */
  #reachable(instanceId: string): void {
    for (const grant of this.#deps.authorities.all()) {
      if (grant.remote.instance_id !== instanceId) continue;
      const plan = this.#plans.get(keyOf(grant));
      if (plan !== undefined && plan.failures > 0) plan.dueAt = 0;
    }
    this.#scan();
  }

  #scan(): void {
    if (this.#abort.signal.aborted) return;
    const { authorities, clock } = this.#deps;
    const grants = authorities.all();
    const current = new Set(grants.map(keyOf));
    for (const [key, plan] of this.#plans) if (!current.has(key) && !plan.isRunning) this.#plans.delete(key);
    const now = clock.monotonic();
    const due = grants
      .map((grant) => ({ grant, plan: this.#planOf(grant) }))
      .filter(({ grant, plan }) => !plan.isRunning && plan.dueAt <= now && this.#isStillGranted(grant))
      .sort((one, other) => one.plan.dueAt - other.plan.dueAt);
    for (const { grant, plan } of due) {
      if (this.#running.size >= limits.peers) break;
      this.#run(grant, plan);
    }
    if (grants.length > 0) this.#arm();
  }

  #arm(): void {
    if (this.#timer !== null) return;
    const tick = (): void => {
      this.#timer = null;
      this.#scan();
    };
    this.#timer = this.#deps.clock.after(limits.scanSeconds * 1000, tick, { background: true });
  }

  #run(grant: Grant, plan: Plan): void {
    plan.isRunning = true;
    const running = this.#refresh(grant, plan).finally(() => {
      plan.isRunning = false;
      this.#running.delete(running);
    });
    this.#running.add(running);
  }

  async #refresh(grant: Grant, plan: Plan): Promise<void> {
    const { clock, log, cache } = this.#deps;
    let reason: string | null;
    try {
      const found = await this.#collect(grant);
      reason = typeof found === "string" ? found : null;
      if (typeof found !== "string" && this.#isStillGranted(grant)) {
        await cache.put(grant, timestamp(clock), found);
        // The grant may have ended during the write.
        if (!this.#isStillGranted(grant)) this.#prune();
      }
    } catch (error) {
      log.warn("catalog", errorFields(error));
      reason = "The catalog couldn't be saved.";
    }
    const { backoffSeconds } = LIMITS.connect;
    const seconds =
      reason === null
        ? limits.refreshSeconds
        : backoffSeconds[Math.min(plan.failures, backoffSeconds.length - 1)]!;
    plan.failures = reason === null ? 0 : plan.failures + 1;
    plan.reason = reason;
    plan.dueAt = clock.monotonic() + seconds * 1000;
  }

  /** All pages, or why not, in words (LIM-018, LIM-023 to LIM-026). */
  async #collect(grant: Grant): Promise<CatalogGroup[] | string> {
    const { clock, sender } = this.#deps;
    const end = clock.monotonic() + limits.refreshBudgetSeconds * 1000;
    const groups: CatalogGroup[] = [];
    let after: string | null = null;
    let bytes = 0;
    for (let page = 0; page < limits.pages; page += 1) {
      const answer = await sender.ask(grant, operationOf(grant, after), this.#abort.signal, {
        isStillGranted: () => this.#isStillGranted(grant),
        until: end,
      });
      if (answer.kind !== "result") return answer.kind === "error" ? answer.message : answer.reason;
      if (clock.monotonic() >= end) return "The catalog took too long.";
      // As it arrived, including members that this version doesn't know.
      const size = Buffer.byteLength(JSON.stringify(answer.result));
      bytes += size;
      if (size > LIMITS.connect.catalogPageBytes || bytes > limits.metadataBytes)
        return "The catalog is too large.";
      const parsed = CatalogPage.safeParse(answer.result);
      if (!parsed.success) return "The answer isn't a catalog page.";
      for (const group of parsed.data.groups) {
        if (groups.length > 0 && groups.at(-1)!.group_id >= group.group_id)
          return "The pages aren't in order.";
        if (grant.pair === null || group.group_id === grant.pair.remote_group_id) groups.push(group);
      }
      after = parsed.data.next;
      if (after === null) return groups;
    }
    return "The catalog has too many pages.";
  }

  #isStillGranted(grant: Grant): boolean {
    return this.#deps.authorities.isInForce(grant);
  }

  #planOf(grant: Grant): Plan {
    const key = keyOf(grant);
    let plan = this.#plans.get(key);
    if (plan === undefined) {
      plan = { dueAt: 0, failures: 0, reason: null, isRunning: false };
      this.#plans.set(key, plan);
    }
    return plan;
  }
}

function keyOf({ authority, connection_id: connectionId, local, remote }: Grant): string {
  return [authority, connectionId ?? "", local.device_id, remote.instance_id, remote.device_id].join(" ");
}

/** Same-account discovery asks for all Groups. A pair asks only for its own. */
function operationOf(
  { connection_id: connectionId, pair }: Grant,
  after: string | null,
): ConnectPeerOperation {
  if (connectionId === null || pair === null) {
    return { op: "catalog", source_group_id: "", target_group_id: null, after };
  }
  return {
    op: "catalog",
    connection_id: connectionId,
    source_group_id: pair.local_group_id,
    target_group_id: pair.remote_group_id,
    after,
  };
}
