/** The messaging room: messages, Inbox, obligations, files and the ledger's reads, for all Groups. */
import type { Attachment } from "../../shared/model.ts";
import type { ActorWithPresence } from "../../shared/operations/actors.ts";
import type { Caller } from "../../shared/operations/caller.ts";
import type { HandlersOf } from "../../shared/operations/handlers.ts";
import type { GroupCounts } from "../groups/handlers.ts";
import type { LaunchTokens } from "../groups/launch-tokens.ts";
import type { GroupRegistry } from "../groups/registry.ts";
import type { EventHead, Projection } from "../ledger/types.ts";
import type { Clock } from "../platform/clock.ts";
import type { Files } from "../platform/files.ts";
import type { Log } from "../platform/log.ts";
import type { ProjectFiles } from "../platform/project-files.ts";
import type { Random } from "../platform/random.ts";
import type { BlobReading } from "./blobs.ts";
import type { Lifeline } from "./sessions.ts";

export type MessagingOperation =
  | "send"
  | "reply"
  | "send_cross_group"
  | "send_files"
  | "file_fetch"
  | "message_deliver"
  | "reply_request_cancel"
  | "message_history"
  | "inbox_peek"
  | "inbox_read"
  | "feed_read"
  | "message_upload_preflight"
  | "draft_get"
  | "draft_put"
  | "ledger_tail"
  | "ledger_window"
  | "ledger_search"
  | "ledger_statuses"
  | "ledger_compact"
  | "ledger_verify"
  | "bootstrap"
  | "group_export"
  | "group_import";

export interface MessagingDependencies {
  files: Files;
  clock: Clock;
  random: Random;
  projects: ProjectFiles;
  log: Log;
}

export class Messaging {
  constructor(_deps: MessagingDependencies) {}

  /** For `RegistryDependencies`: what follows a Group's ledger. Called once per opening. */
  projectionsFor(_group_id: string): Projection[] {
    throw new Error("not yet");
  }
  /** For `RegistryDependencies`: the idempotency key of an event. */
  readonly keyOf = (_event: EventHead): string | undefined => {
    throw new Error("not yet");
  };
  /** Takes up every Group of the registry and follows its changes; completes what a crash interrupted. */
  start(_registry: GroupRegistry, _launchTokens: LaunchTokens): Promise<void> {
    throw new Error("not yet");
  }
  handlers(): HandlersOf<MessagingOperation> {
    throw new Error("not yet");
  }
  counts(_group_id: string): GroupCounts {
    throw new Error("not yet");
  }
  presence(_group_id: string, _actor_id: string): ActorWithPresence["presence"] {
    throw new Error("not yet");
  }
  /** An Actor's presence may have changed. Returns the way to stop listening. */
  onPresence(_listener: (group_id: string, actor_id: string) => void): () => void {
    throw new Error("not yet");
  }
  /** A Group's counts or its last event changed. */
  onCounts(_listener: (group_id: string) => void): () => void {
    throw new Error("not yet");
  }
  /**
   * For ports: a connection holds an Actor's session open. `ended` is called once when the session is ended from here (stop, restart,
   * removal, new token, shutdown). Throws limit_reached, or invalid_launch_token when the Actor isn't that one any more.
   */
  openSession(_caller: Extract<Caller, { kind: "actor" }>, _ended?: () => void): Lifeline {
    throw new Error("not yet");
  }
  /** For the dispatcher: before every call of an Actor. Keeps its session and takes the call as evidence for what was handed out to it. */
  touch(_caller: Extract<Caller, { kind: "actor" }>): void {
    throw new Error("not yet");
  }
  /** Streams a file into the Group; a throw of the stream, or of a limit, leaves nothing behind. */
  upload(
    _group_id: string,
    _chunks: AsyncIterable<Uint8Array>,
    _file: { name: string; mime_type: string },
  ): Promise<Attachment> {
    throw new Error("not yet");
  }
  /** Throws blob_not_found. `end` is exclusive; both are cut to the file. */
  openBlob(_group_id: string, _sha256: string, _range?: { start: number; end: number }): BlobReading {
    throw new Error("not yet");
  }
  /** Ends all sessions and waits. */
  close(): Promise<void> {
    throw new Error("not yet");
  }
}
