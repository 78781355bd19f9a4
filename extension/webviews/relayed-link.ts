import type { Envelope } from "../../client/client.ts";
import type { FileToUpload } from "../../client/link/upload.ts";
import type { Attachment } from "../../shared/model.ts";
import type {
  ActivityListener,
  Connection,
  GroupsListener,
  LedgerListener,
  Release,
  TerminalLink,
  TerminalListener,
} from "../../shared/stream-client/listeners.ts";

/** What a relay needs of the daemon (client/link/window-link.ts). */
export interface RelayedLink {
  call(name: string, input: unknown, options: { signal: AbortSignal }): Promise<Envelope<unknown>>;
  upload(file: FileToUpload, signal: AbortSignal): Promise<Envelope<Attachment>>;
  blob(groupId: string, sha256: string, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>>;
  watchConnection(listener: (connection: Connection) => void): Release;
  watchGroups(listener: GroupsListener): Release;
  watchLedger(groupId: string, after: string | null, listener: LedgerListener): Release;
  watchActivity(groupId: string, listener: ActivityListener): Release;
  terminal(groupId: string, actorId: string, listener: TerminalListener): TerminalLink;
  retry(): void;
}
