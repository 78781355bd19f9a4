/** Direct connections between two Groups (docs/protocol.md#direct). For the person only. */
import * as z from "zod";
import { LIMITS } from "../limits.ts";
import { GroupId, newLabel } from "../model.ts";
import { DirectAddress, DirectEndpoint, DirectState } from "../wire/v1/direct.ts";
import { DirectId } from "../wire/v1/fields.ts";
import { operation } from "./contract.ts";

const OCTET = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";
const IPV4 = new RegExp(`^${OCTET}(?:\\.${OCTET}){3}:[1-9]\\d{0,4}$`, "u");
const IPV6 = /^\[([0-9A-Fa-f:.]+)\]:[1-9]\d{0,4}$/u;

function isBind(value: string): boolean {
  const six = IPV6.exec(value)?.[1];
  if (six === undefined ? !IPV4.test(value) : !URL.canParse(`http://[${six}]`)) return false;
  return Number(value.slice(value.lastIndexOf(":") + 1)) <= 65_535;
}

/** An address of this machine, never a name: `127.0.0.1:8847`, `[::1]:8847` (DRC-046). */
const Bind = z.string().max(64).refine(isBind, "isn't IP:PORT");

/** Where the daemon listens, and how the other side reaches it. */
export const DirectListener = z.strictObject({ bind: Bind, address: DirectAddress });
export type DirectListener = z.infer<typeof DirectListener>;

/** The status file: what the daemon knows about its listener and channels. */
export const DirectRuntime = z.strictObject({
  checked_at: z.string(),
  /** The setting that was in effect. */
  listener: DirectListener.nullable(),
  /** The bound address, or null. */
  bind: z.string().nullable(),
  /** Why it isn't bound. */
  error: z.string().nullable(),
  /** Connections with a live channel. */
  online: z.array(DirectId),
  /** The last problem with a connection. */
  errors: z.record(z.string(), z.string()),
});
export type DirectRuntime = z.infer<typeof DirectRuntime>;

/** A relation without its secrets (DRC-069). */
export const DirectRelation = z.strictObject({
  id: DirectId,
  local: DirectEndpoint,
  remote: DirectEndpoint.nullable(),
  state: DirectState,
  /** This side accepted the invitation; the other one approves. */
  initiated: z.boolean(),
  /** This instance and the Group are still the ones that it was made for. */
  current: z.boolean(),
  /** The time for approval has expired. */
  expired: z.boolean(),
  expires_at: z.string(),
  online: z.boolean(),
  error: z.string().nullable(),
  /**
   * What the other side may still write here now: messages and withdrawals, and the bytes of them
   * and their files. Null before approval.
   */
  allowance: z.strictObject({ records: z.int(), bytes: z.int() }).nullable(),
});
export type DirectRelation = z.infer<typeof DirectRelation>;

const by = z.literal("user").exactOptional();
const connection = z.strictObject({ by, group_id: GroupId, id: DirectId });
const updated = z.strictObject({ updated: z.literal(true) });
const expectedListener = DirectListener.nullable().exactOptional();

/** Every operation but the status is called by `POST /api/v1/connect/direct` with `action`. */
export const directOperations = [
  operation({
    name: "connect_direct_status",
    title: "Show Direct connections",
    summary:
      "Shows the Direct listener, addresses to advertise, and a Group's Direct connections, or those of every Group if you name none.",
    input: z.strictObject({ by, group_id: GroupId.exactOptional() }),
    output: z.strictObject({
      listener: DirectListener.nullable(),
      display_name: z.string(),
      addresses: z.array(z.strictObject({ interface: z.string(), bind: z.string(), address: z.string() })),
      /** Null when there is nothing to watch. */
      runtime: DirectRuntime.nullable(),
      relations: z.array(DirectRelation),
    }),
    callers: ["user"],
    lock: "none",
    effect: "read",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "connect_direct_configure",
    title: "Set the Direct listener",
    summary:
      "Sets where this instance listens for Direct connections and how others reach it. null turns it off. All Groups share one listener.",
    input: z.strictObject({
      by,
      group_id: GroupId.exactOptional(),
      listener: DirectListener.nullable(),
      display_name: newLabel(LIMITS.direct.nameBytes)
        .transform((name) => name.trim())
        .pipe(z.string().min(1))
        .exactOptional(),
      expected_listener: expectedListener,
    }),
    output: z.strictObject({ configured: z.literal(true) }),
    callers: ["user"],
    lock: "home_write",
    effect: "write",
    decision: true,
    idempotent: true,
  }),
  operation({
    name: "connect_direct_invite",
    title: "Invite a Group of another instance",
    summary:
      "Creates an invitation to this Group. It is valid for one other Group and for 30 minutes. It is a secret and is shown only once.",
    input: z.strictObject({ by, group_id: GroupId, expected_listener: expectedListener }),
    output: z.strictObject({ invitation: z.string() }),
    callers: ["user"],
    lock: "home_write",
    effect: "write",
    decision: true,
    idempotent: false,
  }),
  operation({
    name: "connect_direct_join",
    title: "Accept an invitation",
    summary:
      "Asks the instance that sent the invitation to connect this Group to its own. The request waits there for approval.",
    input: z.strictObject({
      by,
      group_id: GroupId,
      invitation: z.string().max(LIMITS.direct.invitationCharacters),
    }),
    output: z.strictObject({ id: DirectId }),
    callers: ["user"],
    lock: "home_write",
    effect: "write",
    decision: true,
    idempotent: true,
  }),
  operation({
    name: "connect_direct_approve",
    title: "Approve a Direct connection",
    summary: "Lets the Group that used the invitation write to this one, and this one to it.",
    input: connection,
    output: updated,
    callers: ["user"],
    lock: "home_write",
    effect: "write",
    decision: true,
    idempotent: true,
  }),
  operation({
    name: "connect_direct_revoke",
    title: "Revoke a Direct connection",
    summary:
      "Ends the connection for good. Messages that arrived stay. Connecting again needs a new invitation.",
    input: connection,
    output: updated,
    callers: ["user"],
    lock: "home_write",
    effect: "destroy",
    decision: true,
    idempotent: true,
  }),
  operation({
    name: "connect_direct_remove",
    title: "Remove a Direct connection",
    summary: "Removes a connection that was revoked, or that expired without approval.",
    input: connection,
    output: z.strictObject({ removed: z.literal(true) }),
    callers: ["user"],
    lock: "home_write",
    effect: "destroy",
    decision: true,
    idempotent: false,
  }),
] as const;
