/**
 * What a webview and the extension host say to each other. The webview never talks to the daemon:
 * it asks the extension host, which relays over the local socket.
 *
 * - A webview speaks first, with `ready` and a session that it made up. Every message of either
 *   side names the session, so that nothing of an earlier document counts.
 * - Requests have ids of the webview. Each is answered once, with `result` or `failed`.
 * - What is followed comes as deltas, numbered from 1 in each run. A gap, or a pause of the
 * extension
 *   host (`paused`), begins the next run, from a snapshot or after the last event that was seen.
 * - Bytes go in pieces, each acknowledged before many more follow.
 *
 * Both sides check everything with these schemas and ignore what doesn't fit. Inputs of operations
 * and requests to terminals are checked by the daemon; its answers are taken as they are.
 */
import * as z from "zod/mini";
import type { RuntimeActivityEvent } from "./activity/event.ts";
import type { LedgerEvent } from "./events.ts";
import { ID_PATTERNS } from "./id-patterns.ts";
import { LIMITS } from "./limits.ts";
import type { GroupSummary } from "./operations/groups.ts";
import type { TerminalMessage } from "./terminal.ts";

const { webview } = LIMITS;

/** The version of the protocol. Both sides are of one package, so that it never differs. */
export const WEBVIEW_PROTOCOL = 1;

/** `[length]` of UTF-16 units at most. */
const text = (characters: number) => z.string().check(z.maxLength(characters));
const RequestId = z.int().check(z.positive(), z.maximum(2 ** 31));
const Count = z.int().check(z.nonnegative());
const Session = z.string().check(z.regex(/^[0-9a-f-]{36}$/));
const GroupId = z.string().check(z.regex(ID_PATTERNS.group));
const EventId = z.string().check(z.regex(ID_PATTERNS.event));
const ActorId = z.string().check(z.regex(ID_PATTERNS.actor));
const Sha256 = z.string().check(z.regex(/^[0-9a-f]{64}$/));
const Piece = z
  .instanceof(Uint8Array)
  .check(z.refine((bytes) => bytes.byteLength > 0 && bytes.byteLength <= webview.pieceBytes));
const FileName = text(LIMITS.attachment.nameBytes);

const Channel = z.discriminatedUnion("name", [
  z.strictObject({ name: z.literal("connection") }),
  z.strictObject({ name: z.literal("groups") }),
  z.strictObject({ name: z.literal("ledger"), group_id: GroupId, after: z.nullable(EventId) }),
  z.strictObject({ name: z.literal("activity"), group_id: GroupId }),
  z.strictObject({ name: z.literal("terminal"), group_id: GroupId, actor_id: ActorId }),
]);

/** From the webview. */
const WebviewMessage = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("ready") }),
  /** Calls an operation. */
  z.strictObject({
    type: z.literal("call"),
    id: RequestId,
    name: text(64),
    input: z.record(z.string(), z.unknown()),
  }),
  /** Ends a request that isn't answered yet. Nothing is answered then. */
  z.strictObject({ type: z.literal("cancel"), id: RequestId }),
  /** Begins run `run` of what is followed as `id`; a later run replaces the earlier one. */
  z.strictObject({ type: z.literal("follow"), id: RequestId, run: RequestId, channel: Channel }),
  z.strictObject({ type: z.literal("unfollow"), id: RequestId }),
  /** The deltas of this run up to `seq` have arrived. */
  z.strictObject({ type: z.literal("seen"), id: RequestId, run: RequestId, seq: Count }),
  z.strictObject({
    type: z.literal("terminal"),
    id: RequestId,
    request: z.record(z.string(), z.union([z.number(), text(LIMITS.terminal.inputBytes)])),
  }),
  /** An upload; its pieces follow. */
  z.strictObject({
    type: z.literal("upload"),
    id: RequestId,
    group_id: GroupId,
    name: FileName,
    mime_type: text(LIMITS.attachment.mimeBytes),
    bytes: Count.check(z.maximum(LIMITS.attachment.uploadBytes)),
  }),
  z.strictObject({ type: z.literal("piece"), id: RequestId, seq: Count, data: Piece }),
  /** Reads a file of a message. */
  z.strictObject({ type: z.literal("blob"), id: RequestId, group_id: GroupId, sha256: Sha256 }),
  /** Reads a file of the workspace that was dropped here. */
  z.strictObject({ type: z.literal("dropped"), id: RequestId, uri: text(webview.addressCharacters) }),
  /** The pieces up to `seq` have arrived. */
  z.strictObject({ type: z.literal("taken"), id: RequestId, seq: Count }),
  /** Saves a file of a message where the person wants it. */
  z.strictObject({
    type: z.literal("save"),
    id: RequestId,
    group_id: GroupId,
    sha256: Sha256,
    name: FileName,
  }),
  z.strictObject({ type: z.literal("retry") }),
  z.strictObject({ type: z.literal("open-link"), url: text(webview.addressCharacters) }),
  /** Opens the Workbench in a browser, at the query of an address. */
  z.strictObject({ type: z.literal("open-browser"), query: text(webview.addressCharacters) }),
  /** Opens `path:line` in the editor. */
  z.strictObject({ type: z.literal("open-reference"), reference: text(webview.referenceCharacters) }),
  z.strictObject({ type: z.literal("title"), text: text(LIMITS.group.titleBytes + 16) }),
  /** Which Group the webview shows now. */
  z.strictObject({ type: z.literal("showing"), group_id: z.nullable(GroupId) }),
  /** Opens the Workbench of a Group to write to an Actor. */
  z.strictObject({ type: z.literal("open-actor"), group_id: GroupId, actor_id: ActorId }),
  /** Small view state for this window; null forgets it. */
  z.strictObject({
    type: z.literal("remember"),
    key: text(webview.memoryKeyCharacters),
    /** JSON. */
    value: z.nullable(text(webview.memoryValueCharacters)),
  }),
]);
export type WebviewMessage = z.infer<typeof WebviewMessage>;
export type FollowedChannel = z.infer<typeof Channel>;

/** A value whose members the daemon vouches for. */
const fromDaemon = <Value>() =>
  z.custom<Value>((value) => typeof value === "object" && value !== null && !Array.isArray(value));

const Delta = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("connection"),
    state: z.enum(["connecting", "online", "offline"]),
    heard: z.nullable(z.number()),
  }),
  z.strictObject({ type: z.literal("restart") }),
  z.strictObject({ type: z.literal("group"), group: fromDaemon<GroupSummary>() }),
  z.strictObject({ type: z.literal("gone"), group_id: GroupId }),
  z.strictObject({ type: z.literal("actors"), group_id: GroupId }),
  z.strictObject({ type: z.literal("event"), event: fromDaemon<LedgerEvent>() }),
  z.strictObject({ type: z.literal("reload") }),
  z.strictObject({
    type: z.literal("restored"),
    events: z.array(fromDaemon<RuntimeActivityEvent>()),
  }),
  z.strictObject({ type: z.literal("activity"), event: fromDaemon<RuntimeActivityEvent>() }),
  z.strictObject({ type: z.literal("output"), data: z.instanceof(Uint8Array) }),
  z.strictObject({ type: z.literal("message"), message: fromDaemon<TerminalMessage>() }),
  z.strictObject({ type: z.literal("lost") }),
  /** Nothing more comes in this run, because too little of it was seen in time. */
  z.strictObject({ type: z.literal("paused") }),
]);
export type Delta = z.infer<typeof Delta>;

const NumberedDelta = z.strictObject({ id: RequestId, run: RequestId, seq: RequestId, delta: Delta });
export type NumberedDelta = z.infer<typeof NumberedDelta>;

/** What the editor asks a webview to show. */
const Shown = z.strictObject({
  group_id: GroupId,
  /** Text to add to the draft, or null. */
  text: z.nullable(text(LIMITS.message.textBytes)),
  /** Actors to write to, besides those already chosen. */
  to: z.array(ActorId).check(z.maxLength(LIMITS.message.recipients)),
  /** Of a Group's connections. */
  page: z.enum(["list", "choice", "join", "answer"]),
});
export type Shown = z.infer<typeof Shown>;

/** From the extension host. */
const ExtensionMessage = z.discriminatedUnion("type", [
  /** The answer to `ready`. */
  z.strictObject({
    type: z.literal("welcome"),
    /** False in a workspace that isn't trusted. */
    may_write: z.boolean(),
    /** What this window remembers, as JSON. */
    memory: z.record(z.string(), z.string()),
    shown: z.nullable(Shown),
  }),
  z.strictObject({ type: z.literal("result"), id: RequestId, result: z.unknown() }),
  z.strictObject({
    type: z.literal("failed"),
    id: RequestId,
    code: z.string(),
    message: z.string(),
    details: z.record(z.string(), z.unknown()),
  }),
  z.strictObject({
    type: z.literal("deltas"),
    deltas: z.array(NumberedDelta).check(z.maxLength(webview.deltasPerMessage)),
  }),
  z.strictObject({ type: z.literal("piece"), id: RequestId, seq: Count, data: Piece }),
  z.strictObject({ type: z.literal("taken"), id: RequestId, seq: Count }),
  z.strictObject({ type: z.literal("show"), shown: Shown }),
]);
export type ExtensionMessage = z.infer<typeof ExtensionMessage>;

const envelope = <Message extends z.ZodMiniType>(message: Message) =>
  z.strictObject({ svc: z.literal(WEBVIEW_PROTOCOL), session: Session, message });
const FromWebview = envelope(WebviewMessage);
const FromExtension = envelope(ExtensionMessage);

export interface Sealed<Message> {
  svc: typeof WEBVIEW_PROTOCOL;
  session: string;
  message: Message;
}

/** What a webview posted, or null when it is anything else. */
export function readWebviewMessage(posted: unknown): Sealed<WebviewMessage> | null {
  return FromWebview.safeParse(posted).data ?? null;
}

/** What the extension host posted, or null when it is anything else. */
export function readExtensionMessage(posted: unknown): Sealed<ExtensionMessage> | null {
  return FromExtension.safeParse(posted).data ?? null;
}
