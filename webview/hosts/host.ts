/**
 * What the interface needs from its host. The same elements work in a browser (`http/http-host.ts`)
 * and in a VS Code webview, which has its own version. Nothing above this file knows about HTTP,
 * cookies or `postMessage`.
 */
import type { Address } from "../../shared/address.ts";
import type { Attachment } from "../../shared/model.ts";
import type { ArgumentsOf, OperationName, ResultOf } from "../../shared/operations/registry.ts";
import type {
  ActivityListener,
  Connection,
  GroupsListener,
  LedgerListener,
  Release,
  TerminalLink,
  TerminalListener,
} from "../../shared/stream-client/listeners.ts";

/**
 * A refusal or failure as people see it. `offline` means that no answer came, or that the daemon is
 * ending and took nothing: the same call may be repeated.
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
    return this.code === "offline" || this.code === "shutting_down";
  }
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
  /** The access token of this browser's session; absent where there is none. */
  tokenId?: string;
}

/** The addresses of what the page shows. */
export interface Addresses {
  /** What the page's own address names. */
  readonly current: Address;
  /**
   * The invitation of another account with which the page was opened. The address no longer names
   * it afterwards, so that it is answered only once. Null if there is none.
   */
  takeInvitation(): string | null;
  /** The query with which the page was opened. */
  readonly first: string;
  /** Changes it. With `step`, Back leads to the one before. */
  set(address: Address, step: boolean): void;
  /** Follows Back and Forward. */
  watch(listener: (address: Address) => void): Release;
  /** For a link in the page, so that it can be opened in a new tab. */
  href(address: Address): string;
  /** A link to give to somebody else who may see it. */
  link(address: Address): Promise<string>;
}

/** Small values by key, as JSON; null forgets. */
export interface PageMemory {
  get(key: string): unknown;
  set(key: string, value: unknown): void;
}

export interface Host {
  readonly home: "browser" | "vscode";
  readonly addresses: Addresses;
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
  /** An attachment's bytes. */
  bytes(groupId: string, sha256: string): Promise<Blob>;
  /**
   * Where a version of a slot is served, to be framed; null where the page may frame nothing.
   */
  readonly presentation: ((groupId: string, slot: number, eventId: string) => string) | null;
  /** Rejects if an attachment can't be served whole, with the reason: a frame tells none. */
  checkFile(groupId: string, sha256: string): Promise<void>;
  /** Saves an attachment's bytes where the person wants them. */
  save(groupId: string, sha256: string, name: string): Promise<void>;
  /** Whether something that is dragged, with data of these types, can be dropped as files. */
  holdsFiles(types: readonly string[]): boolean;
  /** The files that were dropped. Call it during the event. */
  droppedFiles(dropped: DataTransfer): Promise<readonly File[]>;
  /** The current connection, then each change. */
  watchConnection(listener: (connection: Connection) => void): Release;
  /** Tries to reach the daemon now. */
  retry(): void;
  /** Small view state (sizes, positions, choices), kept per browser or editor window. */
  remember(key: string, value: unknown): void;
  recall(key: string): unknown;
  /** What this page alone keeps, also when it is loaded again. */
  readonly page: PageMemory;
  openLink(url: string): void;
  /** Opens an address in a browser, signed in; null where this is one. */
  readonly openInBrowser: ((address: Address) => void) | null;
  /** Opens a file at a line, given as `path:line`; null where there is no editor. */
  readonly openReference: ((reference: string) => void) | null;
}

/** How a person signs in and out, if the host doesn't vouch for them. */
export interface Session {
  /** Who is signed in, or null. Redeems a login link in the address first, if there is one. */
  restore(): Promise<Viewer | null>;
  /** With an access token or a login link. */
  signIn(credential: string): Promise<Viewer>;
  signOut(): Promise<void>;
  /** Called when the daemon no longer knows the session. */
  onEnd(listener: () => void): void;
}
