/**
 * What a Workbench and the page around it say to each other, when an instance shows the Workbench
 * of another one in a frame (docs/protocol.md#workbench-frames). Only navigation crosses.
 *
 * - The target speaks first, with `ready`. It sends `groups` once its person is signed in there as
 *   an administrator, and `locked` when nobody is.
 * - `expired` is the target's last word: the frame has to be opened again, with another proof.
 * - A selection carries a revision, which only the entry chooses and which only grows. The target
 *   reports what it shows with the revision of the selection that it follows.
 *
 * Both sides check everything with these schemas, and the sender with
 * `webview/hosts/frame-peer.ts`. Anything that doesn't fit is ignored.
 */
import * as z from "zod/mini";
import { ID_PATTERNS } from "./id-patterns.ts";
import { LIMITS } from "./limits.ts";

const { connect } = LIMITS;

/** Name and version of the protocol. */
const FRAME_CHANNEL = "svc.connect.frame.v1";

/** At most this many UTF-16 units. The daemon checks what the text says. */
const text = (characters: number) => z.string().check(z.minLength(1), z.maxLength(characters));
/** An id of a frame as the entry makes them. */
const FrameId = z.string().check(z.regex(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/));
const InstanceId = text(128);
const DeviceId = text(connect.idBytes);
const Time = text(40);
const GroupId = z.string().check(z.regex(ID_PATTERNS.group));
const Revision = z.int().check(z.nonnegative());

/**
 * A proof as the entry's daemon made it (`ConnectFrameProof`). Only a daemon can tell its worth.
 */
export const FrameProof = z.strictObject({
  account_origin: text(connect.originBytes),
  source_instance_id: InstanceId,
  source_device_id: DeviceId,
  target_instance_id: InstanceId,
  target_device_id: DeviceId,
  parent_origin: text(connect.originBytes),
  frame_id: FrameId,
  nonce: text(36),
  issued_at: Time,
  expires_at: Time,
  signature: text(88),
});
export type FrameProof = z.infer<typeof FrameProof>;

/** A Group of the target, as much as a list shows. */
const FrameGroup = z.strictObject({
  group_id: GroupId,
  title: z.string().check(z.maxLength(LIMITS.group.titleBytes)),
  /** Whether an Actor of it works now. */
  running: z.boolean(),
  /** Its connections to other accounts; null counts aren't confirmed. */
  connection: z.optional(
    z.strictObject({ count: z.nullable(z.int().check(z.nonnegative())), expires_at: Time }),
  ),
});
export type FrameGroup = z.infer<typeof FrameGroup>;

/** Counted before any of them is looked at. */
export const FrameGroups = z.pipe(
  z.custom<unknown[]>((value) => Array.isArray(value) && value.length <= LIMITS.group.perHome),
  z.array(FrameGroup),
);

const head = { channel: z.literal(FRAME_CHANNEL), frame_id: FrameId };

/** From the target to the entry. */
const TargetMessage = z.discriminatedUnion("type", [
  /** Its page works. This says nothing about a sign-in. */
  z.strictObject({ ...head, type: z.literal("ready"), instance_id: InstanceId, device_id: DeviceId }),
  /** All of them, whenever one changes. */
  z.strictObject({ ...head, type: z.literal("groups"), groups: FrameGroups }),
  z.strictObject({ ...head, type: z.literal("selected"), group_id: GroupId, revision: Revision }),
  /** The person wants the list of Groups. */
  z.strictObject({ ...head, type: z.literal("sidebar") }),
  /** Nobody is signed in there who may do everything. */
  z.strictObject({ ...head, type: z.literal("locked") }),
  z.strictObject({ ...head, type: z.literal("expired") }),
  /** Whether something would be lost with the page. */
  z.strictObject({ ...head, type: z.literal("workspace_dirty"), dirty: z.boolean() }),
]);

/** From the entry to the target. */
const EntryMessage = z.discriminatedUnion("type", [
  z.strictObject({
    ...head,
    type: z.literal("select"),
    group_id: GroupId,
    revision: Revision,
    /** Opens the dialog of its connections, once for each revision. */
    action: z.optional(z.literal("connections")),
  }),
  z.strictObject({ ...head, type: z.literal("renew"), proof: FrameProof }),
]);

type Body<Message> = Message extends unknown ? Omit<Message, keyof typeof head> : never;
/** A message without its channel and frame. */
export type TargetMessage = Body<z.infer<typeof TargetMessage>>;
export type EntryMessage = Body<z.infer<typeof EntryMessage>>;

/** The messages of one side. */
export interface FrameMessages<Message> {
  /** The values of `type`. */
  types: ReadonlySet<unknown>;
  /** A message of that side and frame, or null for anything else. */
  read: (posted: unknown, frameId: string) => Message | null;
}

function messages<Schema extends typeof TargetMessage | typeof EntryMessage>(
  schema: Schema,
): FrameMessages<z.infer<Schema>> {
  return {
    types: new Set(schema.def.options.map(({ shape }) => shape.type.def.values[0])),
    read: (posted, frameId) => {
      const { data } = schema.safeParse(posted);
      return data?.frame_id === frameId ? (data as z.infer<Schema>) : null;
    },
  };
}

/** What the target of a frame posts. */
export const TARGET_MESSAGES = messages(TargetMessage);
/** What the entry posts to its frame. */
export const ENTRY_MESSAGES = messages(EntryMessage);

/** A message as it is posted. */
export function frameMessage(frameId: string, message: TargetMessage | EntryMessage): object {
  return { channel: FRAME_CHANNEL, frame_id: frameId, ...message };
}

export const FramePage = z.strictObject({
  frame_id: FrameId,
  parent_origin: text(connect.originBytes),
  instance_id: InstanceId,
  device_id: DeviceId,
});
export type FramePage = z.infer<typeof FramePage>;
