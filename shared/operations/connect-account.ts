/** This instance's link to an account, and what the account says. For the person only. */
import * as z from "zod";
import { LIMITS } from "../limits.ts";
import { GroupId } from "../model.ts";
import { DisplayName } from "../wire/v1/account.ts";
import { operation } from "./contract.ts";

const by = z.literal("user").exactOptional();

const Entry = z.object({
  instance_id: z.string(),
  device_id: z.string(),
  public_key: z.string(),
  client_version: z.string(),
  public_origin: z.string().nullable(),
  display_name: z.string(),
  registered_at: z.string(),
});

/** What the account service said last, and how the last refresh went. */
const ConnectSnapshot = z.object({
  account_origin: z.string(),
  device_id: z.string(),
  instance_id: z.string(),
  /** Null unless it is valid now. */
  directory: z
    .object({
      protocol_version: z.literal(1),
      account_id: z.string(),
      device_id: z.string(),
      issued_at: z.string(),
      expires_at: z.string(),
      instances: z.array(Entry),
    })
    .nullable(),
  checked_at: z.string().nullable(),
  error_code: z.string().nullable(),
  error_message: z.string().nullable(),
  /** The account service said that this instance isn't in the account, or not as it is. */
  rejected: z.boolean(),
  /** How the last question about connections to other accounts went. */
  group_sync: z
    .object({
      checked_at: z.string().nullable(),
      error_code: z.string().nullable(),
      error_message: z.string().nullable(),
    })
    .exactOptional(),
});

/** A connection of a Group to one of another account. Names are as they were when selected. */
const GroupConnection = z.strictObject({
  id: z.string(),
  connected_at: z.string().nullable(),
  /** Of the Group here. */
  title: z.string(),
  /** The other member, and what the account service shows of their account. */
  account_id: z.string(),
  account_label: z.string().nullable(),
  instance_id: z.string(),
  instance_name: z.string(),
  /** Null: nothing can be sent there. */
  public_origin: z.string().nullable(),
  group_id: z.string(),
  group_title: z.string(),
  /** The page that ends it. */
  end_url: z.string(),
});

/** What a person needs to confirm a link. */
const Confirmation = z.strictObject({
  user_code: z.string(),
  verification_uri: z.string(),
  verification_uri_complete: z.string(),
  expires_at: z.string(),
});

/** An instance that joined the account. */
const Joined = z.strictObject({
  device_id: z.string(),
  instance_id: z.string(),
  name: z.string(),
  /** When this instance learned of it. */
  at: z.string(),
  /** It is no longer in the account. */
  retired: z.boolean(),
});

export const accountOperations = [
  operation({
    name: "connect_status",
    title: "Show the account's directory",
    summary:
      "Shows what the account service said last about this account's instances, and how the last refresh went. Asks nobody.",
    input: z.strictObject({ by }),
    output: z.strictObject({
      connect: ConnectSnapshot.nullable(),
      account_label: z.string().nullable(),
      /** Null means that nothing is confirmed, never that there are none. */
      group_connections: z
        .strictObject({ counts: z.record(z.string(), z.int().nullable()), expires_at: z.string() })
        .nullable(),
    }),
    callers: ["user"],
    lock: "none",
    effect: "read",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "connect_rename",
    title: "Rename this instance",
    summary: "Gives this instance another name in its account: 1-60 characters.",
    input: z.strictObject({ by: z.literal("user").default("user"), display_name: DisplayName }),
    output: z.strictObject({ renamed: z.literal(true) }),
    callers: ["user"],
    lock: "none",
    effect: "write",
    decision: true,
    idempotent: true,
  }),
  operation({
    name: "account_show",
    title: "Show the link to an account",
    summary: "Shows whether this instance is linked to an account, and what is wrong if it isn't.",
    input: z.strictObject({ by }),
    output: z.strictObject({
      state: z.enum(["not_linked", "waiting", "linked", "logged_out", "disabled"]),
      /** Of the link, or what a new one would use. */
      account_origin: z.string().nullable(),
      account_label: z.string().nullable(),
      device_id: z.string().nullable(),
      /** Where others of the account reach this instance. Null: it can only send. */
      public_origin: z.string().nullable(),
      pending: Confirmation.nullable(),
      error: z.string().nullable(),
      /** Instances that joined the account since a person last looked, newest last. */
      joined: z.array(Joined),
    }),
    callers: ["user"],
    lock: "none",
    effect: "read",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "account_link",
    title: "Link this instance to an account",
    summary:
      "Asks the account service for a code. You confirm it on the account's page, and this instance then finds your others.",
    input: z.strictObject({
      by,
      /** The account service. Without it, the one of the link, else the one that is set. */
      account_origin: z.string().max(LIMITS.connect.originBytes).exactOptional(),
    }),
    output: Confirmation,
    callers: ["user"],
    lock: "none",
    effect: "write",
    decision: true,
    idempotent: false,
  }),
  operation({
    name: "account_link_cancel",
    title: "Stop linking",
    summary: "Stops waiting for the confirmation of a code.",
    input: z.strictObject({ by }),
    output: z.strictObject({ cancelled: z.literal(true) }),
    callers: ["user"],
    lock: "none",
    effect: "write",
    decision: true,
    idempotent: true,
  }),
  operation({
    name: "account_unlink",
    title: "Unlink this instance",
    summary:
      "Retires this instance in its account and forgets the link. Messages that arrived stay; queued ones to the account's instances end.",
    input: z.strictObject({
      by,
      /** Forgets the link even if the account service can't be told. */
      forget: z.boolean().default(false),
    }),
    output: z.strictObject({ unlinked: z.literal(true) }),
    callers: ["user"],
    lock: "none",
    effect: "destroy",
    decision: true,
    idempotent: true,
  }),
  operation({
    name: "account_joined_seen",
    title: "Note who joined the account",
    summary: "Says that a person has seen that these devices joined the account.",
    input: z.strictObject({
      by,
      device_ids: z.array(z.string().max(LIMITS.connect.idBytes)).max(LIMITS.link.joined),
    }),
    output: z.strictObject({ seen: z.literal(true) }),
    callers: ["user"],
    lock: "none",
    effect: "write",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "connect_group_status",
    title: "Show a Group's connections to other accounts",
    summary:
      "Lists a Group's connections to Groups of other accounts, as the account service confirmed them last. Only 'ready' with an empty list means that there are none. Asks nobody.",
    input: z.strictObject({ by, group_id: GroupId }),
    output: z.strictObject({
      status: z.enum(["not_linked", "syncing", "ready", "unavailable"]),
      links: z.array(GroupConnection),
      /** Until when they are confirmed. */
      expires_at: z.string().nullable(),
      account_origin: z.string().nullable(),
      account_id: z.string().nullable(),
      checked_at: z.string().nullable(),
      error_code: z.string().nullable(),
      error_message: z.string().nullable(),
    }),
    callers: ["user"],
    lock: "none",
    effect: "read",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "connect_group_select",
    title: "Select a Group for another account",
    summary:
      "Signs the selection of a Group and returns the page of the account service on which you invite a member, or accept their invitation. Connects nothing by itself.",
    input: z.strictObject({
      by,
      group_id: GroupId,
      /** The invitation to accept. */
      invitation: z.uuid().exactOptional(),
    }),
    output: z.strictObject({ url: z.string() }),
    callers: ["user"],
    lock: "none",
    effect: "read",
    decision: true,
    idempotent: false,
  }),
  operation({
    name: "remote_access_check",
    title: "Check the advertised origin",
    summary: "Asks this instance's own identity at the origin that it advertises, as others do.",
    input: z.strictObject({ by }),
    output: z.strictObject({
      origin: z.string().nullable(),
      reached: z.boolean(),
      problem: z.string().nullable(),
    }),
    callers: ["user"],
    lock: "none",
    effect: "read",
    decision: false,
    idempotent: true,
  }),
] as const;
