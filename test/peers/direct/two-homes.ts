/**
 * Two real daemons on loopback, each with a Group and its Actor "lead", connected through the
 * command line that ships.
 */

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DaemonClient } from "../../../client/client.ts";
import { freePort } from "../../../demo/free-port.ts";
import type { MessageEvent } from "../../../shared/events.ts";
import type { DirectRelation } from "../../../shared/operations/direct.ts";
import type { ResultOf } from "../../../shared/operations/registry.ts";
import { envelope, run } from "../../cli/svc.ts";
import { DaemonProcess } from "../../support/daemon-process.ts";
import { ofKind } from "../../support/events.ts";
import { until } from "../../support/until.ts";

/** Redialling takes 5 s, noticing a silence 45, a slow machine its time. */
const PATIENCE_MS = 120_000;

export class Side {
  readonly daemon: DaemonProcess;
  readonly group_id: string;
  readonly instance_id: string;
  /** The Group's project directory. */
  readonly project: string;
  readonly tokenFile: string;
  #client: { pid: number; client: DaemonClient } | null = null;

  private constructor(
    daemon: DaemonProcess,
    group: { group_id: string; instance_id: string; project: string; tokenFile: string },
  ) {
    this.daemon = daemon;
    this.group_id = group.group_id;
    this.instance_id = group.instance_id;
    this.project = group.project;
    this.tokenFile = group.tokenFile;
  }

  static async started(title: string, environment: Record<string, string> = {}): Promise<Side> {
    const daemon = await DaemonProcess.started({ environment });
    const client = daemon.client();
    const { group_id: groupId } = await client.result("group_create", { title });
    const project = mkdtempSync(join(tmpdir(), "svc-project-"));
    mkdirSync(join(project, ".git"));
    await client.result("attach", { path: project, group_id: groupId });
    const { token_file: tokenFile } = await client.result("actor_add", {
      group_id: groupId,
      actor_id: "lead",
      runtime: "custom",
      runner: "external",
    });
    const { instance_id: instanceId } = await client.result("daemon_status", {});
    return new Side(daemon, {
      group_id: groupId,
      instance_id: instanceId,
      project,
      tokenFile: tokenFile ?? "",
    });
  }

  /** One for all calls to one run of the daemon: each client keeps a connection. */
  get client(): DaemonClient {
    const { pid } = this.daemon;
    if (this.#client?.pid !== pid) this.#client = { pid, client: this.daemon.client() };
    return this.#client.client;
  }

  /** The command line as this Home's person; `input` is its standard input. */
  async svc<Result = Record<string, unknown>>(args: readonly string[], input = ""): Promise<Result> {
    const ran = await run([...args, "--json"], { home: this.daemon.home, input });
    const printed = envelope<Result>(ran);
    if (!printed.ok) throw new Error(`svc ${args.join(" ")}: ${printed.error.code} ${ran.err}`);
    return printed.result;
  }

  async relation(id: string): Promise<DirectRelation | undefined> {
    const { relations } = await this.client.result("connect_direct_status", { group_id: this.group_id });
    return relations.find((relation) => relation.id === id);
  }

  /** Waits until the connection is as `holds` wants it. */
  async sees(
    what: string,
    id: string,
    holds: (relation: DirectRelation) => boolean,
  ): Promise<DirectRelation> {
    return until(
      `${what} (${this.group_id})`,
      async () => {
        const relation = await this.relation(id);
        return relation !== undefined && holds(relation) ? relation : null;
      },
      PATIENCE_MS,
    );
  }

  /** Sends to the other side's Group as the person. */
  send(to: Side, clientId: string, text: string, more: { to?: string[] } = {}) {
    return this.client.result("connect_send", {
      group_id: this.group_id,
      instance_id: to.instance_id,
      target_group_id: to.group_id,
      client_id: clientId,
      text,
      to: more.to ?? ["lead"],
    });
  }

  /** The delivery state of an event sent from here. */
  async delivery(eventId: string) {
    const { statuses } = await this.client.result("ledger_statuses", {
      group_id: this.group_id,
      event_ids: [eventId],
    });
    return statuses[eventId]?.connect_delivery ?? null;
  }

  async delivered(eventId: string) {
    return until(
      `the delivery of ${eventId}`,
      async () => {
        const delivery = await this.delivery(eventId);
        return delivery !== null && delivery.state !== "queued" ? delivery : null;
      },
      PATIENCE_MS,
    );
  }

  /** Every message in the Group's ledger. */
  async messages(): Promise<MessageEvent[]> {
    const found: MessageEvent[] = [];
    let before: string | undefined;
    for (;;) {
      const page: ResultOf<"ledger_tail"> = await this.client.result("ledger_tail", {
        group_id: this.group_id,
        limit: 200,
        ...(before === undefined ? {} : { before }),
      });
      found.unshift(...ofKind(page.events, "chat.message"));
      before = page.events[0]?.id;
      if (!page.has_more || before === undefined) return found;
    }
  }

  async dispose(): Promise<void> {
    await this.daemon.dispose();
    rmSync(this.project, { recursive: true, force: true });
  }
}

/** Invited, joined, approved, online and discovered at both ends. */
export async function connect(host: Side, joiner: Side): Promise<string> {
  // Others may know its address.
  const { listener } = await host.client.result("connect_direct_status", {});
  if (listener === null) {
    const at = `127.0.0.1:${await freePort()}`;
    await host.svc(["direct", "listen", "--bind", at, "--address", at]);
  }
  const { invitation } = await host.svc<{ invitation: string }>(["direct", "invite"]);
  const { id } = await joiner.svc<{ id: string }>(["direct", "join"], `${invitation}\n`);
  await host.sees("the host sees who came", id, ({ state }) => state === "pending");
  await host.svc(["direct", "approve", id]);
  await online(host, joiner, id);
  for (const [from, to] of [
    [host, joiner],
    [joiner, host],
  ] as const) {
    await until(
      "the catalog",
      async () => {
        const found = await from.client.result("connect_catalog", {
          group_id: from.group_id,
          instance_id: to.instance_id,
          target_group_id: to.group_id,
        });
        return "catalog" in found && found.catalog !== null;
      },
      PATIENCE_MS,
    );
  }
  return id;
}

export async function online(host: Side, joiner: Side, id: string): Promise<void> {
  await host.sees("online at the host", id, (relation) => relation.online);
  await joiner.sees("online at the joiner", id, (relation) => relation.online);
}
