/** Daemons that write to each other over Direct on loopback. */
import { freePort } from "../../demo/free-port.ts";
import type { LedgerEvent } from "../../shared/events.ts";
import { API_PREFIX } from "../../shared/names.ts";
import type { DirectListener } from "../../shared/operations/direct.ts";
import { type Daemon, makeGroup, type NodeOptions, startDaemon } from "../daemon.ts";

export interface Instance {
  daemon: Daemon;
  group_id: string;
  instance_id: string;
}

export async function startInstance(node: NodeOptions = {}): Promise<Instance> {
  const daemon = await startDaemon(node);
  const { instance_id: instanceId } = await daemon.client.result("daemon_status", {});
  return { daemon, instance_id: instanceId, group_id: await makeGroup(daemon) };
}

export async function stopAll(instances: readonly Instance[]): Promise<void> {
  await Promise.all(instances.map(({ daemon }) => daemon.stop()));
}

/** Asks again until `holds` answers something. Throws after a minute. */
export async function until<Value>(
  what: string,
  holds: () => Promise<Value | null>,
  everyMs = 20,
): Promise<Value> {
  const deadline = performance.now() + 60_000;
  for (;;) {
    const value = await holds();
    if (value !== null) return value;
    if (performance.now() > deadline) throw new Error(`never came: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

/** Listens on loopback; answers the setting. */
export async function listen({ daemon }: Instance): Promise<DirectListener> {
  const at = `127.0.0.1:${await freePort()}`;
  const listener = { bind: at, address: at };
  await daemon.client.result("connect_direct_configure", { listener });
  return listener;
}

/**
 * The connection of two Groups: invited, joined and approved. The joiner is online some seconds
 * later.
 */
export async function approve(
  host: Instance,
  joiner: Instance,
  groups = { host: host.group_id, joiner: joiner.group_id },
): Promise<string> {
  const there = host.daemon.client;
  const { invitation } = await there.result("connect_direct_invite", { group_id: groups.host });
  const { id } = await joiner.daemon.client.result("connect_direct_join", {
    group_id: groups.joiner,
    invitation,
  });
  await until("the joiner at the host", async () => {
    const { relations } = await there.result("connect_direct_status", { group_id: groups.host });
    return relations.some((one) => one.id === id && one.state === "pending") ? true : null;
  });
  await there.result("connect_direct_approve", { group_id: groups.host, id });
  return id;
}

/** Resolves when this many connections are online at an instance. */
export async function online({ daemon }: Instance, count: number): Promise<void> {
  await until(`${count} channels`, async () => {
    const { relations } = await daemon.client.result("connect_direct_status", {});
    return relations.filter((one) => one.online).length === count ? true : null;
  });
}

/** Resolves when `from` knows the other Group's Actors. */
export async function discovered(from: Instance, to: Instance): Promise<void> {
  await until("the catalog", async () => {
    const found = await from.daemon.client.result("connect_catalog", {
      group_id: from.group_id,
      instance_id: to.instance_id,
      target_group_id: to.group_id,
    });
    return "catalog" in found && found.catalog !== null ? true : null;
  });
}

/**
 * One instance that others can reach, and a number of others, each with its Group connected to the
 * first one's.
 */
export async function startStar(
  peers: number,
  node: NodeOptions = {},
): Promise<{ center: Instance; around: Instance[]; listener: DirectListener }> {
  const center = await startInstance(node);
  const listener = await listen(center);
  const around: Instance[] = [];
  for (let made = 0; made < peers; made += 1) around.push(await startInstance(node));
  for (const peer of around) await approve(center, peer);
  await online(center, peers);
  for (const peer of around) await discovered(center, peer);
  return { center, around, listener };
}

/** Receipts in an instance's ledger as they are recorded. */
export class Receipts {
  readonly #seen = new Map<string, number>();
  readonly #waiting = new Map<string, (at: number) => void>();
  readonly #abort = new AbortController();
  #count = 0;
  #wanted: { count: number; resolve: () => void }[] = [];

  static async of({ daemon, group_id: groupId }: Instance): Promise<Receipts> {
    const receipts = new Receipts();
    const path = `${API_PREFIX}/groups/${groupId}/ledger/stream`;
    const accept = { accept: "text/event-stream" };
    const stream = await daemon.client.open(path, accept, { signal: receipts.#abort.signal });
    stream.setEncoding("utf8");
    let rest = "";
    stream.on("data", (chunk: string) => {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line.includes("chat.cross_group_receipt")) receipts.#take(line);
    });
    stream.on("error", () => {});
    return receipts;
  }

  /** `performance.now()` when this message's receipt was seen. */
  async seen(sourceEventId: string): Promise<number> {
    return (
      this.#seen.get(sourceEventId) ??
      (await new Promise<number>((resolve) => this.#waiting.set(sourceEventId, resolve)))
    );
  }

  /** Resolves when this many more have come. */
  more(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.#wanted.push({ count: this.#count + count, resolve });
    });
  }

  close(): void {
    this.#abort.abort();
  }

  #take(line: string): void {
    const event = JSON.parse(line.slice(line.indexOf("{"))) as LedgerEvent;
    const { source_event_id: sourceEventId, status } = event.data as {
      source_event_id: string;
      status: string;
    };
    if (status !== "sent") throw new Error(`a message ended as ${status}: ${JSON.stringify(event.data)}`);
    const now = performance.now();
    this.#seen.set(sourceEventId, now);
    this.#waiting.get(sourceEventId)?.(now);
    this.#count += 1;
    for (const { count, resolve } of this.#wanted) if (count === this.#count) resolve();
    this.#wanted = this.#wanted.filter(({ count }) => count > this.#count);
  }
}

let sends = 0;

/** Accepts one small message; answers its source event. */
export async function send(from: Instance, to: Instance): Promise<string> {
  sends += 1;
  const { source_event: sourceEvent } = await from.daemon.client.result("connect_send", {
    group_id: from.group_id,
    instance_id: to.instance_id,
    target_group_id: to.group_id,
    client_id: `bench-${sends}`,
    text: TEXT,
    to: ["agent"],
  });
  return sourceEvent.id;
}

export const TEXT = "A message of six hundred bytes, as agents write them. ".repeat(12).slice(0, 600);
