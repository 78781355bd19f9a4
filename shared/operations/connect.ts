/** Messages to other instances, and their directory (docs/operations.md). */
import * as z from "zod";
import { MessageEventSchema } from "../events.ts";
import { LIMITS } from "../limits.ts";
import { ClientId, GroupId, MessageFormat, MessageMode, text } from "../model.ts";
import { CatalogActor } from "../wire/v1/message.ts";
import { operation } from "./contract.ts";
import { UploadReference } from "./messages.ts";

/** Checked against the credential, which says who the caller is. */
const By = z.string().min(1).max(64).optional();
/**
 * Anything but an instance's or Group's id is refused with its own sentence: it must never become a
 * local message (MCP-010).
 */
const Address = z.string().max(LIMITS.connect.idBytes);
const Recipients = z
  .array(z.string().min(1).max(LIMITS.connect.titleBytes))
  .max(LIMITS.message.recipients)
  .default([]);
const Paths = z.array(z.string().min(1).max(4096)).max(LIMITS.message.attachments);

const message = {
  group_id: GroupId,
  instance_id: Address.default(""),
  target_group_id: Address.default(""),
  client_id: ClientId,
  by: By,
  text: text(LIMITS.message.textBytes).default(""),
  message_mode: MessageMode.default("send"),
  /** `@foreman` if empty. */
  to: Recipients,
  format: MessageFormat.default("markdown"),
  insight: text(LIMITS.message.insightBytes).optional(),
};

const Queued = z.strictObject({
  accepted: z.literal(true),
  /** It waits in the outbox. */
  queued: z.boolean(),
  delivery_state: z.enum(["queued", "sent", "failed", "unconfirmed"]),
  delivery_id: z.string(),
  source_event: MessageEventSchema,
});

/** What anyone may know about an instance. */
const RemoteInstance = z.strictObject({
  instance_id: z.string(),
  /** Empty for Direct. */
  device_id: z.string(),
  client_version: z.string(),
  public_origin: z.string().nullable(),
  display_name: z.string().nullable(),
});

const CatalogGroup = z.strictObject({
  group_id: z.string(),
  title: z.string(),
  actors: z.array(z.strictObject(CatalogActor.shape)),
});

const Discovery = z.strictObject({
  self_instance_id: z.string(),
  /** Of the same account. */
  instances: z.array(RemoteInstance),
  /** Groups that this one is connected to directly. */
  external_groups: z.array(
    z.strictObject({
      connection_id: z.string(),
      instance: RemoteInstance,
      group_id: z.string(),
      title: z.string(),
      transport: z.enum(["account", "direct"]),
    }),
  ),
  status: z.enum(["ready", "unavailable", "not_linked"]),
  account_error: z.string().nullable(),
  checked_at: z.string().nullable(),
  expires_at: z.string().nullable(),
});

const Details = z.strictObject({
  instance: RemoteInstance,
  /** Null until the other side has been reached once. */
  catalog: z.strictObject({ checked_at: z.string(), groups: z.array(CatalogGroup) }).nullable(),
  /** At most two minutes old. */
  fresh: z.boolean(),
  /** `after` for the next page. */
  next: z.string().nullable(),
});

/**
 * - `reached`: it answered lately, or its channel is open.
 * - `not_tried`: it hasn't been asked yet in this run.
 * - `unreachable`: the last attempt failed, or there is no channel.
 * - `no_route`: it has no origin, so nothing can be sent there. It can send to this instance.
 * - `unconfirmed`: the account service hasn't confirmed it lately.
 */
export const ConnectionState = z.enum([
  "reached",
  "not_tried",
  "unreachable",
  "no_route",
  "unconfirmed",
  "pending",
  "ended",
]);
export type ConnectionState = z.infer<typeof ConnectionState>;

/** A way to another instance, whatever its kind. */
export const Connection = z.strictObject({
  /** How it came about: same account, two accounts, or an invitation. */
  kind: z.enum(["account", "external", "direct"]),
  /** The other device within the account, else the connection's id. */
  id: z.string(),
  /** The local Group; null when every Group may use it. */
  group_id: z.string().nullable(),
  /** Null while nobody has used the invitation. Without a Group, all of its Groups. */
  remote: z
    .strictObject({
      instance_id: z.string(),
      name: z.string().nullable(),
      group_id: z.string().nullable(),
      title: z.string().nullable(),
      public_origin: z.string().nullable(),
    })
    .nullable(),
  state: ConnectionState,
  error: z.string().nullable(),
  /** Since when this instance knows it. */
  since: z.string().nullable(),
  /** When it last asked or answered here. */
  last_contact_at: z.string().nullable(),
  /** When the account service last heard from it. */
  account_contact_at: z.string().nullable(),
});
export type Connection = z.infer<typeof Connection>;

export type RemoteInstance = z.infer<typeof RemoteInstance>;

export const connectOperations = [
  operation({
    name: "connect_send",
    title: "Send to another instance",
    summary:
      "Queues a message for a Group of another instance and records it in your own Group. The answer means that it is queued, not that it has arrived.",
    input: z.strictObject({
      ...message,
      attachments: z.array(UploadReference).max(LIMITS.message.attachments).default([]),
      paths: Paths.default([]),
    }),
    output: Queued,
    callers: ["user", "actor"],
    lock: "group_write",
    effect: "write",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "connect_send_files",
    title: "Send files to another instance",
    summary:
      "Queues 1-16 files from the attached scope, at most 10 MiB together, for a Group of another instance.",
    input: z.strictObject({ ...message, paths: Paths.min(1) }),
    output: Queued,
    callers: ["user", "actor"],
    lock: "group_write",
    effect: "write",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "connection_list",
    title: "List connections",
    summary:
      "Lists this instance's connections to others, of the same account, of other accounts and Direct ones, with their states and the last contact. Contacts no other instance.",
    input: z.strictObject({ by: z.literal("user").exactOptional(), group_id: GroupId.exactOptional() }),
    output: z.strictObject({ connections: z.array(Connection) }),
    callers: ["user"],
    lock: "none",
    effect: "read",
    decision: false,
    idempotent: true,
  }),
  operation({
    name: "connect_catalog",
    title: "List other instances",
    summary:
      "Lists instances of the same account and the Groups that this one is connected to. With an instance and a Group, lists that Group's Actors. It shows what is already known and contacts no other instance.",
    input: z.strictObject({
      group_id: GroupId,
      instance_id: Address.optional(),
      target_group_id: Address.optional(),
      by: By,
      /** A Group id: the page after it. */
      after: z.string().max(LIMITS.connect.cursorBytes).optional(),
      /** Clamped to 1-64. */
      limit: z.int().default(LIMITS.connect.catalog.defaultPage),
    }),
    output: z.union([Discovery, Details]),
    callers: ["user", "actor"],
    lock: "none",
    effect: "read",
    decision: false,
    idempotent: true,
  }),
] as const;
