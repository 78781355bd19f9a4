/**
 * Groups, Actors and what belongs to them: the shapes of docs/core-model.md as schemas. Names and
 * bounds are part of the contract.
 */

import * as z from "zod";
import { hidesText } from "./foreign-text.ts";
import { ID_PATTERNS } from "./id-patterns.ts";
import { imitates } from "./imitation.ts";
import { withoutInvisible } from "./invisible.ts";
import { LIMITS } from "./limits.ts";

const encoder = new TextEncoder();
/** Text of at most `bytes` UTF-8 bytes, without lone surrogates. */
export function text(bytes: number) {
  const error = `is longer than ${bytes} bytes of UTF-8`;
  return (
    z
      .string()
      // No text has more code units than bytes.
      .max(bytes, { error, abort: true })
      .refine((value) => value.isWellFormed(), "contains half of a surrogate pair")
      // A code unit takes at most three bytes. Most texts are far below their limit.
      .refine((value) => value.length * 3 <= bytes || encoder.encode(value).length <= bytes, error)
  );
}

/**
 * At most `max` items, counted before any of them is checked. Error messages for a million bad
 * items would fill the memory.
 */
export function list<Item extends z.ZodType>(item: Item, max: number, min = 0) {
  const items = z.array(item).min(min).max(max);
  return z.preprocess((value, context) => {
    if (!Array.isArray(value) || value.length <= max) return value;
    context.addIssue({ code: "too_big", origin: "array", maximum: max, inclusive: true, input: value });
    return z.NEVER;
  }, items);
}

/** A one-line label that people see. It has no invisible or bidirectional characters. */
export function label(bytes: number) {
  return text(bytes).refine(
    (value) => withoutInvisible(value) === value,
    "contains a control, invisible or bidirectional character",
  );
}

/**
 * A label that someone gives something now. It can't be taken for words of svc or of the person.
 * What was stored before may be different, and is shown as an id or quoted.
 */
export function newLabel(bytes: number) {
  return label(bytes)
    .refine((value) => !hidesText(value), { error: "contains a character that can't be seen", abort: true })
    .refine((value) => !imitates(value), "could be taken for words of svc or of the person");
}

export const GroupId = z.string().regex(ID_PATTERNS.group, "isn't a Group id (g_ followed by 12 hex digits)");
export const ScopeKey = z
  .string()
  .regex(/^s_[0-9a-f]{12}$/, "isn't a scope key (s_ followed by 12 hex digits)");
/** Event ids are UUIDs without dashes (docs/protocol.md#ledger-events). */
export const EventId = z.string().regex(ID_PATTERNS.event, "isn't an event id (32 hex digits)");
export const Sha256 = z
  .string()
  .max(64)
  .regex(/^[0-9a-f]{64}$/, "isn't a SHA-256 in lowercase hex");

export const RESERVED_ACTOR_IDS = [
  "user",
  "all",
  "system",
  "foreman",
  "peers",
  "admin",
  "root",
  "svc",
] as const;
export const ActorId = z
  .string()
  .regex(
    ID_PATTERNS.actor,
    "isn't an Actor id (1-32 letters, digits, - and _, starting with a letter or digit)",
  );
export const NewActorId = ActorId.refine(
  (id) => !(RESERVED_ACTOR_IDS as readonly string[]).includes(id.toLowerCase()),
  "is a reserved name",
);
/** What a new Actor may be called now. */
export const AddedActorId = NewActorId.refine((id) => !imitates(id), "could be taken for svc or the person");

export const Limit = z.int().min(1).max(LIMITS.page.max);
export const ClientId = text(LIMITS.message.clientIdBytes).min(1);

export const GroupState = z.enum(["active", "idle", "paused", "stopped"]);
export const GroupSettings = z.strictObject({
  default_send_to: z.enum(["foreman", "broadcast"]),
  min_interval_seconds: z.int().min(0).max(3600),
  mail_notice_after_seconds: z.int().min(0).max(LIMITS.notices.maxSeconds),
  reply_notice_after_seconds: z.int().min(0).max(LIMITS.notices.maxSeconds),
  /**
   * Enabled Actors that the daemon runs are started with it. Groups of earlier versions don't have
   * this field.
   */
  start_actors: z.boolean().default(false),
});
export const DEFAULT_GROUP_SETTINGS: z.infer<typeof GroupSettings> = {
  default_send_to: "foreman",
  min_interval_seconds: 0,
  mail_notice_after_seconds: 1800,
  reply_notice_after_seconds: 900,
  start_actors: false,
};

export const Scope = z.strictObject({
  scope_key: ScopeKey,
  path: z.string().min(1),
  label: z.string(),
  git_remote: z.string().nullable(),
});

/** Runtimes known by name. `external` runners may use any of them. */
export const Runtime = z.enum(["claude", "codex", "gemini", "opencode", "copilot", "cursor", "custom"]);
export const Runner = z.enum(["pty", "external"]);

export const EnvironmentName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, "isn't an environment variable's name");
const EnvironmentValue = text(LIMITS.actor.environmentValueBytes).refine(
  (value) => !value.includes("\u0000"),
  "contains a NUL",
);
const Variables = z.record(EnvironmentName, EnvironmentValue);
/** Counted before any of them is looked at, as in `list`. */
export const Environment = z.preprocess<unknown, typeof Variables, z.infer<typeof Variables>>(
  (value, context) => {
    const { environmentEntries } = LIMITS.actor;
    if (Object.keys(value ?? {}).length <= environmentEntries) return value;
    context.addIssue({
      code: "custom",
      message: `has more than ${environmentEntries} entries`,
      input: value,
    });
    return z.NEVER;
  },
  Variables,
);

const actorFields = {
  id: ActorId,
  title: z.string(),
  generation: z.string().min(1).max(128),
  runtime: Runtime,
  runner: Runner,
  command: z.array(z.string()),
  env: Environment,
  scope_key: ScopeKey.nullable(),
  enabled: z.boolean(),
  /**
   * The agent uses svc's own tools without asking a person each time. Actors of earlier versions
   * don't have this field.
   */
  allow_tools: z.boolean().default(true),
  /**
   * What its runtime asks a person can be answered through svc as well as in its terminal. Actors
   * of earlier versions don't have this field.
   */
  answerable: z.boolean().default(false),
  submit: z.enum(["enter", "none"]),
  /**
   * Its owner says that its command reads prompts. Only then are messages typed into a program that
   * svc doesn't know.
   */
  prompts: z.boolean().default(false),
  /** Its command or environment came with an import, and no person has started it since. */
  unconfirmed: z.literal(true).optional(),
  created_at: z.string(),
  updated_at: z.string(),
};
/** As stored. */
export const StoredActor = z.strictObject(actorFields);
/**
 * As read: with the effective role, which follows from the order, and whether private values exist
 * (never the values).
 */
export const Actor = z.strictObject({
  ...actorFields,
  role: z.enum(["foreman", "peer"]),
  private_env: z.array(EnvironmentName),
});

export const StoredGroup = z.strictObject({
  v: z.literal(1),
  group_id: GroupId,
  title: z.string(),
  topic: z.string(),
  created_at: z.string(),
  updated_at: z.string(),
  generation: z.string().min(1).max(128),
  state: GroupState,
  active_scope_key: ScopeKey.nullable(),
  scopes: z.array(Scope),
  actors: z.array(StoredActor),
  settings: GroupSettings,
});
/** A Group as operations return it. */
export const Group = StoredGroup.omit({ v: true }).extend({ actors: z.array(Actor) });

export const MessageMode = z.enum(["send", "request_reply", "mail"]);
export const MessageFormat = z.enum(["plain", "markdown"]);
export const Attachment = z.strictObject({
  path: z.string().regex(/^state\/blobs\/[0-9a-f]{64}$/),
  name: z.string(),
  mime_type: z.string(),
  bytes: z.int().min(0),
  sha256: Sha256,
});

export type Runtime = z.infer<typeof Runtime>;
export type Group = z.infer<typeof Group>;
export type StoredGroup = z.infer<typeof StoredGroup>;
export type GroupSettings = z.infer<typeof GroupSettings>;
export type GroupState = z.infer<typeof GroupState>;
export type Scope = z.infer<typeof Scope>;
export type Actor = z.infer<typeof Actor>;
export type StoredActor = z.infer<typeof StoredActor>;
export type MessageMode = z.infer<typeof MessageMode>;
export type Attachment = z.infer<typeof Attachment>;
