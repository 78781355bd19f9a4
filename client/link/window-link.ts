/**
 * A lasting connection to the daemon of a Home, for an editor: operations, files and streams over
 * the local socket. All subscriptions of a window share one stream, which reconnects by itself.
 */
import type { IncomingMessage } from "node:http";
import { LIMITS } from "../../shared/limits.ts";
import type { Attachment } from "../../shared/model.ts";
import { API_PREFIX } from "../../shared/names.ts";
import { ActivitySource } from "../../shared/stream-client/activity-source.ts";
import { EventSocket } from "../../shared/stream-client/event-socket.ts";
import type {
  ActivityListener,
  Connection,
  GroupsListener,
  LedgerListener,
  NeedsYouListener,
  Release,
  TerminalLink,
  TerminalListener,
} from "../../shared/stream-client/listeners.ts";
import { TerminalSockets } from "../../shared/stream-client/terminal-sockets.ts";
import { type CallOptions, DaemonClient, type Envelope } from "../client.ts";
import { daemonProcess } from "../connection.ts";
import { DaemonSilent, DaemonUnreachable } from "../failures.ts";
import { localEvents, localSocket } from "./local-streams.ts";
import { type FileToUpload, uploadFile } from "./upload.ts";

export class WindowLink {
  readonly home: string;
  readonly client: DaemonClient;
  readonly #socket: EventSocket;
  readonly #terminals = new TerminalSockets();

  /**
   * Nothing is opened before something is called or watched. `lost` is told, each time, why the
   * daemon can't be reached: DaemonSilent if it is there and doesn't answer.
   */
  constructor(home: string, lost: (error: unknown) => void) {
    this.home = home;
    this.client = new DaemonClient(home, null);
    this.#socket = new EventSocket(
      localSocket(home, `${API_PREFIX}/events/ws`),
      (why) => lost(why ?? new DaemonSilent(home, daemonProcess(home))),
      LIMITS.client.retryMillisecondsMax,
    );
  }

  /** Ends it for good. */
  close(): void {
    this.#terminals.close();
    this.#socket.stop();
    this.client.close();
  }

  /**
   * The daemon's envelope, including refusals. Throws DaemonUnreachable, and the signal's reason
   * after an abort.
   */
  call(name: string, input: unknown, options: CallOptions = {}): Promise<Envelope<unknown>> {
    return this.#noticing(() => this.client.callByName(name, input, options));
  }

  upload(file: FileToUpload, signal: AbortSignal): Promise<Envelope<Attachment>> {
    return this.#noticing(() => uploadFile(this.home, file, signal));
  }

  /** The bytes of a file of a message. Throws DaemonUnreachable and RefusedByDaemon. */
  blob(groupId: string, sha256: string, signal: AbortSignal): Promise<IncomingMessage> {
    return this.#noticing(() =>
      this.client.open(`${API_PREFIX}/groups/${groupId}/blobs/${sha256}`, {}, { signal }),
    );
  }

  watchGroups(listener: GroupsListener): Release {
    this.#socket.start();
    return this.#socket.groups(listener);
  }

  watchNeedsYou(listener: NeedsYouListener): Release {
    this.#socket.start();
    return this.#socket.needsYou(listener);
  }

  watchLedger(groupId: string, after: string | null, listener: LedgerListener): Release {
    this.#socket.start();
    return this.#socket.ledger(groupId, after, listener);
  }

  watchActivity(groupId: string, listener: ActivityListener): Release {
    const path = `${API_PREFIX}/groups/${groupId}/runtime-activity/stream?replay=true`;
    const snapshot = async () =>
      (await this.client.result("runtime_activity_snapshot", { group_id: groupId })).events;
    const source = new ActivitySource(localEvents(this.client, path, "runtime-activity"), snapshot, listener);
    return () => source.close();
  }

  terminal(groupId: string, actorId: string, listener: TerminalListener): TerminalLink {
    const path = `${API_PREFIX}/groups/${groupId}/actors/${actorId}/term`;
    return this.#terminals.attach(localSocket(this.home, path), listener, () => {});
  }

  /** The current connection, then each change. */
  watchConnection(listener: (connection: Connection) => void): Release {
    this.#socket.start();
    return this.#socket.watch(listener);
  }

  /** Tries to reach the daemon now. */
  retry(): void {
    this.#socket.retry();
    this.#terminals.retry();
  }

  /** An answer, or its absence, says something about the stream too. */
  async #noticing<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    try {
      const answer = await ask();
      this.#socket.heard();
      return answer;
    } catch (error) {
      if (error instanceof DaemonUnreachable) this.#socket.doubt();
      throw error;
    }
  }
}
