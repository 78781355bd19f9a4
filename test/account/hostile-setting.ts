/** What tests of hostile requests share: the service, its routes, and what they may not change. */
import { sql } from "kysely";
import { ISSUER_ANSWER_PATH } from "../../account/members/issuer.ts";
import { trusting } from "./issuers.ts";
import { type Kind, TestService } from "./service.ts";

/** A service with every way to sign in, so that each of its routes is there. */
export function hostileService(kind: Kind): Promise<TestService> {
  // Nothing listens there.
  return TestService.started({ kind, issuer: trusting("http://localhost:1", false) });
}

type Who = "anybody" | "device" | "member";

/** Every route, and who may use it. */
export const API: readonly (readonly [method: string, path: string, who: Who])[] = [
  ["POST", "/v1/device/code", "anybody"],
  ["POST", "/v1/device/token", "anybody"],
  ["GET", "/v1/device", "device"],
  ["POST", "/v1/device/name", "device"],
  ["POST", "/v1/device/disable", "device"],
  ["GET", "/v1/connect/instances", "device"],
  ["POST", "/v1/connect/instances", "device"],
  ["GET", "/v1/connect/groups", "device"],
  ["POST", "/v1/connect/groups", "device"],
];
export const PAGES: readonly (readonly [path: string, who: Who])[] = [
  ["/login", "anybody"],
  ["/join", "anybody"],
  ["/login/issuer", "anybody"],
  [ISSUER_ANSWER_PATH, "anybody"],
  ["/", "member"],
  ["/device", "member"],
  ["/devices/retire", "member"],
  ["/security", "member"],
  ["/connect", "member"],
  ["/connect/select", "member"],
  ["/connect/:id/disconnect", "member"],
];
export const FORMS: readonly (readonly [path: string, who: Who])[] = [
  ["/join", "anybody"],
  ["/join/passkey", "anybody"],
  ["/login/passkey", "anybody"],
  ["/login/recovery", "anybody"],
  ["/login/development", "anybody"],
  ["/logout", "anybody"],
  ["/device", "member"],
  ["/device/decide", "member"],
  ["/devices/retire", "member"],
  ["/devices/rename", "member"],
  ["/devices/remove", "member"],
  ["/security/passkeys", "member"],
  ["/security/passkeys/remove", "member"],
  ["/security/sessions/end", "member"],
  ["/security/recovery", "member"],
  ["/security/invitations", "member"],
  ["/security/issuer", "member"],
  ["/security/issuer/remove", "member"],
  ["/connect/select", "member"],
  ["/connect/invitations/:id/cancel", "member"],
  ["/connect/invitations/:id/reject", "member"],
  ["/connect/:id/disconnect", "member"],
  ["/connect/:id/revoke", "member"],
];

const TABLES = [
  "members",
  "identities",
  "passkeys",
  "recovery_codes",
  "invitations",
  "sessions",
  "devices",
  "device_grants",
  "connect_instances",
  "group_invitations",
  "group_connections",
] as const;

/** Everything in the store but counts and the list of events. */
export async function dumpOf({ store }: TestService): Promise<string> {
  const rows = await Promise.all(
    TABLES.map(async (table) => (await sql.raw(`select * from ${table}`).execute(store.db)).rows),
  );
  return JSON.stringify(rows.map((table) => table.map((row) => JSON.stringify(row)).sort()));
}
