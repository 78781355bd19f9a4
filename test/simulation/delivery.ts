/** Messages and withdrawals between daemons, as the oracle knows them from outside. */
import { isDirect } from "../../shared/wire/v1/fields.ts";
import type { SimulatedDaemon } from "./daemon.ts";

/** A Group in one of its generations. */
export interface GroupEnd {
  instance_id: string;
  group_id: string;
  generation: string;
}

/** An end as messages name it. */
export type WorkEnd = GroupEnd & { device_id?: string };

type Status = "sent" | "failed" | "unconfirmed";

/** One logical message or withdrawal, from wherever it was first seen. */
export interface Delivery {
  id: string;
  kind: "message" | "cancel";
  /** Null within an account. */
  connection_id: string | null;
  /** Over Direct there are none. */
  devices: readonly string[];
  source: GroupEnd;
  source_event_id: string;
  target: GroupEnd;
  recipients: readonly { id: string; generation: string }[];
  /** Milliseconds since 1970, by its source's clock. */
  created_at: number;
  /** Milliseconds since 1970. */
  deliver_before: number;
  /** Somebody was told that it is queued. */
  acknowledged: boolean;
  /** Of a withdrawal: the delivery that it withdraws. */
  original: string | null;
  status: Status | null;
  /** True time of its end. */
  endedAt: number | null;
  /** Id of the target's event. */
  admitted: string | null;
  /** True time at which it was first seen. */
  since: number;
}

/** Whether a delivery goes over HTTPS. */
export function isWeb(connectionId: string | null): boolean {
  return connectionId === null || !isDirect(connectionId);
}

/** Whether a daemon may use that connection, between those devices, now. */
export function isConnected(
  { services }: SimulatedDaemon,
  connectionId: string | null,
  devices: readonly string[],
): boolean {
  if (isWeb(connectionId)) {
    const grants = services?.outbound.authorities.inForce(connectionId) ?? [];
    return grants.some(
      ({ local, remote, route }) =>
        route !== null &&
        [local, remote].every((end) => end.device_id !== null && devices.includes(end.device_id)),
    );
  }
  const { relations = [] } = services?.direct.status(undefined) ?? {};
  return relations.some(({ id, state, current }) => id === connectionId && state === "active" && current);
}

/**
 * Whether a Direct record that the target has of the pair, older than the message, keeps this
 * other connection from being used (DRC-094).
 */
export function isKeptOff(
  { services }: SimulatedDaemon,
  { connection_id: connectionId, created_at: createdAt, source, target }: Delivery,
): boolean {
  if (!isWeb(connectionId)) return false;
  const known = services?.outbound.authorities.known() ?? [];
  return known.some(
    ({ kind, connection: { local_group_id: groupId, remote, since } }) =>
      kind === "direct" &&
      groupId === target.group_id &&
      remote?.instance_id === source.instance_id &&
      remote.group_id === source.group_id &&
      since !== null &&
      Date.parse(since) <= createdAt,
  );
}

/** Whether the daemon has the Group in that generation. */
export function hasGeneration(
  { services }: SimulatedDaemon,
  { group_id: groupId, generation }: GroupEnd,
): boolean {
  return services?.groups.registry.find(groupId)?.record.generation === generation;
}

/** An id as stories show it. */
export function short(id: string): string {
  return id.slice(0, 8);
}
