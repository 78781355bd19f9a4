/**
 * What the interface needs from its host. The same elements work in a browser (`http/http-host.ts`)
 * and in a VS Code webview, which has its own version. Nothing above this file knows about HTTP,
 * cookies or `postMessage`.
 */
import type { RuntimeActivityEvent } from "../../shared/activity/event.ts";
import type { LedgerEvent } from "../../shared/events.ts";
import type { Attachment } from "../../shared/model.ts";
import type { GroupSummary } from "../../shared/operations/groups.ts";
import type { ArgumentsOf, OperationName, ResultOf } from "../../shared/operations/registry.ts";
import type { TerminalMessage, TerminalRequest } from "../../shared/terminal.ts";

export type Release = () => void;

/**
 * A refusal or failure as people see it. `offline` means that no answer came: the same call may be
 * repeated.
 */
export class HostError extends Error {
  readonly code: string;
  readonly details: Record<string, unknown>;

  constructor(code: string, message: string, details: Record<string, unknown> = {}) {
    super(message);
    this.name = "HostError";
    this.code = code;
    this.details = details;
  }

  get offline(): boolean {
    return this.code === "offline";
  }
}

export interface Connection {
  state: "connecting" | "online" | "offline";
  /** When the daemon last answered, in epoch milliseconds; null before the first time. */
  heard: number | null;
}

export interface GroupsListener {
  /** The connection is new, so what was known may be old. */
  restart(): void;
  group(summary: GroupSummary): void;
  gone(groupId: string): void;
  /** Actors of a Group changed. */
  actors(groupId: string): void;
}

export interface LedgerListener {
  event(event: LedgerEvent): void;
  /** Events can't be resumed without a gap: read a fresh page. */
  reload(): void;
}

export interface ActivityListener {
  /** The current view, at the beginning and after each break. */
  restored(events: readonly RuntimeActivityEvent[]): void;
  /** Accepted just now. */
  event(event: RuntimeActivityEvent): void;
}

export interface TerminalListener {
  output(bytes: Uint8Array): void;
  message(message: TerminalMessage): void;
  /** The connection broke. It is made again and starts with the whole screen. */
  lost(): void;
}

/** An attached terminal (shared/terminal.ts). */
export interface TerminalLink {
  /** Nothing is sent while the connection is broken. */
  send(request: TerminalRequest): void;
  close(): void;
}

export interface UploadOptions {
  signal: AbortSignal;
  /** Bytes sent so far. */
  progress(sent: number): void;
}

/** A file as a message refers to it. */
export type Uploaded = Pick<Attachment, "sha256" | "name" | "mime_type" | "bytes">;

export interface BlobAddress {
  url: string;
  release: Release;
}

/** Who is looking: `administrator` may do everything, `restricted` works in named Groups only. */
export interface Viewer {
  kind: "administrator" | "restricted";
}

export interface Host {
  readonly home: "browser" | "vscode";
  /** Calls an operation; throws `HostError`. */
  call<Name extends OperationName>(
    name: Name,
    input: ArgumentsOf<Name>,
    options?: { signal?: AbortSignal },
  ): Promise<ResultOf<Name>>;
  watchGroups(listener: GroupsListener): Release;
  /**
   * Events after `after` (null: those to come) without gap or duplicate, even over reconnects,
   * until released.
   */
  watchLedger(groupId: string, after: string | null, listener: LedgerListener): Release;
  /** What the Group's Actors do with their tools, until released. */
  watchActivity(groupId: string, listener: ActivityListener): Release;
  /** Views an Actor's terminal until closed. */
  terminal(groupId: string, actorId: string, listener: TerminalListener): TerminalLink;
  upload(groupId: string, file: File, options: UploadOptions): Promise<Uploaded>;
  /** A local address of an attachment's bytes; release it when it is no longer shown. */
  blob(groupId: string, sha256: string): Promise<BlobAddress>;
  /** The current connection, then each change. */
  watchConnection(listener: (connection: Connection) => void): Release;
  /** Tries to reach the daemon now. */
  retry(): void;
  /** Small view state (sizes, positions, choices), kept per browser or editor window. */
  remember(key: string, value: unknown): void;
  recall(key: string): unknown;
  openLink(url: string): void;
}

/** How a person signs in and out, if the host doesn't vouch for them. */
export interface Session {
  /** Who is signed in, or null. Redeems a login link in the address first, if there is one. */
  restore(): Promise<Viewer | null>;
  signIn(accessToken: string): Promise<Viewer>;
  signOut(): Promise<void>;
  /** Called when the daemon no longer knows the session. */
  onEnd(listener: () => void): void;
}
