/**
 * Places at other instances of the account, as an address names them
 * (docs/interface.md#addresses).
 */
import { ID_PATTERNS } from "./id-patterns.ts";

/** A place at another instance of the account. */
export interface RemotePlace {
  instanceId: string;
  /** Of that instance; null for wherever it begins. */
  groupId: string | null;
}

const INSTANCE = /^[1-9A-HJ-NP-Za-km-z]{1,128}$/;

/** The place at another instance that a query names; null if it names none. */
export function readPlace(query: string): RemotePlace | null {
  const members = new URLSearchParams(query);
  const instanceId = members.get("instance") ?? "";
  const groupId = members.get("instance_group") ?? "";
  if (!INSTANCE.test(instanceId)) return null;
  return { instanceId, groupId: ID_PATTERNS.group.test(groupId) ? groupId : null };
}

/** A query that shows another instance, or a Group there, in this one's page. */
export function instanceQuery(instanceId: string, groupId: string | null): string {
  const members = new URLSearchParams({ instance: instanceId });
  if (groupId !== null) members.set("instance_group", groupId);
  return `?${members}`;
}
