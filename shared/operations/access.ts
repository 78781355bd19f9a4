/** Web access: tokens, login links, the exhibit and the advertised origin. */
import * as z from "zod";
import { LIMITS } from "../limits.ts";
import { GroupId, label } from "../model.ts";
import { operation } from "./contract.ts";

export const AccessToken = z.strictObject({
  id: z.string(),
  name: z.string(),
  kind: z.enum(["administrator", "restricted", "exhibit"]),
  groups: z.array(GroupId),
  created_at: z.string(),
  last_used_at: z.string().nullable(),
  /** Made for the session of a browser that used a login link, and ends with it. */
  session: z.literal(true).optional(),
});
export type AccessToken = z.infer<typeof AccessToken>;

export const RemoteAccess = z.strictObject({
  provider: z.enum(["off", "manual", "managed"]),
  enabled: z.boolean(),
  /** Canonical HTTPS origin without path, or null. */
  origin: z.string().nullable(),
});

export const accessTokenOperations = [
  operation({
    name: "access_token_create",
    title: "Create an access token",
    summary:
      "Creates an administrator token, or one restricted to named Groups. The token is shown only once. Only its digest is kept.",
    input: z.strictObject({
      name: label(LIMITS.accessToken.nameBytes).default(""),
      groups: z.array(GroupId).max(LIMITS.group.perHome).optional(),
      exhibit: z.boolean().default(false),
    }),
    output: z.strictObject({ id: z.string(), token: z.string() }),
    callers: ["user"],
    lock: "home_write",
    effect: "write",
    decision: true,
    idempotent: false,
  }),
  operation({
    name: "access_token_list",
    title: "List access tokens",
    summary: "Lists names, kinds, Groups and last use, but never the tokens.",
    input: z.strictObject({}),
    output: z.strictObject({ tokens: z.array(AccessToken) }),
    callers: ["user"],
    lock: "none",
    effect: "read",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "access_token_revoke",
    title: "Revoke an access token",
    summary: "Ends the token at once, along with its browser sessions and streams.",
    input: z.strictObject({ token_id: z.string().min(1).max(64) }),
    output: z.strictObject({ revoked: z.literal(true) }),
    callers: ["user"],
    lock: "home_write",
    effect: "destroy",
    decision: true,
    idempotent: false,
  }),
] as const;

export const webAccessOperations = [
  operation({
    name: "login_link_create",
    title: "Create a login link",
    summary:
      "Creates a one-time link for a browser on this machine. It works once, for 5 minutes. At most 8 exist at a time. Works only over the local socket.",
    input: z.strictObject({}),
    output: z.strictObject({ url: z.string() }),
    callers: ["user"],
    lock: "none",
    effect: "write",
    decision: true,
    idempotent: false,
  }),
  operation({
    name: "whoami",
    title: "Show who I am",
    summary: "Shows the caller as the daemon sees it.",
    input: z.strictObject({}),
    output: z.strictObject({
      kind: z.enum(["user", "member", "actor", "exhibit"]),
      by: z.string(),
      groups: z.array(GroupId).nullable(),
      actor: z.strictObject({ group_id: GroupId, actor_id: z.string() }).nullable(),
    }),
    callers: ["user", "member", "actor", "exhibit"],
    lock: "none",
    effect: "read",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "remote_access_show",
    title: "Show Remote Access",
    summary: "Shows the provider and the origin where others reach this instance.",
    input: z.strictObject({}),
    output: z.strictObject({ remote_access: RemoteAccess }),
    callers: ["user"],
    lock: "none",
    effect: "read",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "remote_access_set",
    title: "Set Remote Access",
    summary: "Sets a canonical HTTPS origin by hand, or turns it off. No tunnel is created.",
    input: z.strictObject({ origin: z.string().max(512).nullable() }),
    output: z.strictObject({ remote_access: RemoteAccess }),
    callers: ["user"],
    lock: "home_write",
    effect: "write",
    decision: true,
    idempotent: true,
  }),
  operation({
    name: "exhibit_show",
    title: "Show the exhibit",
    summary: "Shows whether the read-only exhibit listener is on, where, and for which Groups.",
    input: z.strictObject({}),
    output: z.strictObject({
      exhibit: z
        .strictObject({
          host: z.string(),
          port: z.int(),
          origin: z.string().nullable(),
          groups: z.array(GroupId),
        })
        .nullable(),
    }),
    callers: ["user"],
    lock: "none",
    effect: "read",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "exhibit_set",
    title: "Set the exhibit",
    summary:
      "Turns the exhibit listener on for named Groups, with its own token (shown once), or turns it off.",
    input: z.strictObject({
      exhibit: z
        .strictObject({
          host: z.string().min(1).max(255).default("127.0.0.1"),
          port: z.int().min(0).max(65535),
          groups: z.array(GroupId).min(1).max(LIMITS.group.perHome),
        })
        .nullable(),
    }),
    output: z.strictObject({ origin: z.string().nullable(), token: z.string().nullable() }),
    callers: ["user"],
    lock: "home_write",
    effect: "write",
    decision: true,
    idempotent: false,
  }),
] as const;
