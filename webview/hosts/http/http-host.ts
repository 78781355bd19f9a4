/**
 * The interface's host in a browser: the daemon's Web API under the page's own origin, in a cookie
 * session.
 */
import { API_PREFIX } from "../../../shared/names.ts";
import type { ArgumentsOf, OperationName, ResultOf } from "../../../shared/operations/registry.ts";
import { ActivitySource } from "../../../shared/stream-client/activity-source.ts";
import { EventSocket } from "../../../shared/stream-client/event-socket.ts";
import type {
  ActivityListener,
  Connection,
  GroupsListener,
  LedgerListener,
  NeedsYouListener,
  Release,
  TerminalLink,
  TerminalListener,
} from "../../../shared/stream-client/listeners.ts";
import { TerminalSockets } from "../../../shared/stream-client/terminal-sockets.ts";
import { fileName } from "../../controls/file-name.ts";
import type { BlobAddress, Host, PageMemory, Uploaded, UploadOptions } from "../host.ts";
import { BrowserAddresses } from "./browser-addresses.ts";
import { browserSocket, serverSentEvents } from "./browser-streams.ts";
import type { Requests } from "./requests.ts";
import { prepare } from "./routes.ts";
import { upload } from "./upload.ts";

const MEMORY_PREFIX = "svc/";
const WS_ORIGIN = location.origin.replace(/^http/, "ws");

export class HttpHost implements Host {
  readonly home = "browser";
  readonly openInBrowser = null;
  readonly openReference = null;
  readonly addresses: BrowserAddresses;
  readonly #requests: Requests;
  readonly #socket: EventSocket;
  readonly #stopped = new AbortController();
  readonly #terminals = new TerminalSockets();
  readonly page: PageMemory = {
    get: (key) => {
      try {
        return JSON.parse(sessionStorage.getItem(MEMORY_PREFIX + key) ?? "null");
      } catch {
        return null;
      }
    },
    set: (key, value) => {
      try {
        if (value === null) sessionStorage.removeItem(MEMORY_PREFIX + key);
        else sessionStorage.setItem(MEMORY_PREFIX + key, JSON.stringify(value));
      } catch {
        // A browser without storage, or a full one.
      }
    },
  };
  /** What the browser's storage didn't accept. */
  readonly #memory = new Map<string, unknown>();

  constructor(requests: Requests) {
    this.#requests = requests;
    this.addresses = new BrowserAddresses(requests.frameId === null ? null : "/");
    this.#socket = new EventSocket(
      browserSocket(requests.framed(`${WS_ORIGIN}${API_PREFIX}/events/ws`)),
      () => void this.#probe(),
    );
    requests.heard = () => this.#socket.heard();
    requests.silent = () => this.#socket.doubt();
  }

  start(): void {
    const { signal } = this.#stopped;
    addEventListener("online", () => this.retry(), { signal });
    addEventListener("focus", () => this.retry(), { signal });
    this.#socket.start();
  }

  /** Ends it for good. */
  stop(): void {
    this.#stopped.abort();
    this.#terminals.close();
    this.#socket.stop();
  }

  /** A browser doesn't say why a WebSocket was refused: ask whether the session is still known. */
  async #probe(): Promise<void> {
    try {
      await this.#requests.json("GET", `${API_PREFIX}/web-access/session`);
    } catch {
      // Unauthenticated: the session's end is reported. Offline: the connection already says so.
    }
  }

  async call<Name extends OperationName>(
    name: Name,
    input: ArgumentsOf<Name>,
    options: { signal?: AbortSignal } = {},
  ): Promise<ResultOf<Name>> {
    const { method, url, body } = prepare(name, input);
    return (await this.#requests.json(
      method,
      this.#requests.framed(url),
      body,
      options.signal,
    )) as ResultOf<Name>;
  }

  watchGroups(listener: GroupsListener): Release {
    return this.#socket.groups(listener);
  }

  watchNeedsYou(listener: NeedsYouListener): Release {
    return this.#socket.needsYou(listener);
  }

  watchLedger(groupId: string, after: string | null, listener: LedgerListener): Release {
    return this.#socket.ledger(groupId, after, listener);
  }

  watchActivity(groupId: string, listener: ActivityListener): Release {
    const snapshot = async () => {
      const { events } = await this.call("runtime_activity_snapshot", { group_id: groupId });
      return events;
    };
    const url = `${API_PREFIX}/groups/${groupId}/runtime-activity/stream?replay=true`;
    const source = new ActivitySource(
      serverSentEvents(this.#requests.framed(url), "runtime-activity"),
      snapshot,
      listener,
    );
    return () => source.close();
  }

  terminal(groupId: string, actorId: string, listener: TerminalListener): TerminalLink {
    const url = `${WS_ORIGIN}${API_PREFIX}/groups/${groupId}/actors/${actorId}/term`;
    return this.#terminals.attach(
      browserSocket(this.#requests.framed(url)),
      listener,
      () => void this.#probe(),
    );
  }

  upload(groupId: string, file: File, options: UploadOptions): Promise<Uploaded> {
    const name = new URLSearchParams({ name: fileName(file) });
    const url = this.#requests.framed(`${API_PREFIX}/groups/${groupId}/uploads?${name}`);
    return upload(this.#requests, url, file, options);
  }

  async blob(groupId: string, sha256: string): Promise<BlobAddress> {
    const url = URL.createObjectURL(await this.bytes(groupId, sha256));
    return { url, release: () => URL.revokeObjectURL(url) };
  }

  bytes(groupId: string, sha256: string): Promise<Blob> {
    return this.#requests.blob(this.#fileAddress(groupId, sha256));
  }

  checkFile(groupId: string, sha256: string): Promise<void> {
    return this.#requests.checkFile(this.#fileAddress(groupId, sha256));
  }

  #fileAddress(groupId: string, sha256: string): string {
    return this.#requests.framed(`${API_PREFIX}/groups/${groupId}/blobs/${sha256}`);
  }

  presentation(groupId: string, slot: number, eventId: string): string {
    const address = `${API_PREFIX}/groups/${groupId}/presentations/${slot}/content?event=${eventId}`;
    return this.#requests.framed(address);
  }

  async save(groupId: string, sha256: string, name: string): Promise<void> {
    const { url, release } = await this.blob(groupId, sha256);
    const link = document.createElement("a");
    link.href = url;
    link.download = name;
    link.click();
    setTimeout(release, 60_000);
  }

  holdsFiles(types: readonly string[]): boolean {
    return types.includes("Files");
  }

  async droppedFiles({ files }: DataTransfer): Promise<readonly File[]> {
    return [...files];
  }

  watchConnection(listener: (connection: Connection) => void): Release {
    return this.#socket.watch(listener);
  }

  retry(): void {
    this.#socket.retry();
    this.#terminals.retry();
  }

  remember(key: string, value: unknown): void {
    this.#memory.delete(key);
    try {
      if (value === null) localStorage.removeItem(MEMORY_PREFIX + key);
      else localStorage.setItem(MEMORY_PREFIX + key, JSON.stringify(value));
    } catch {
      // A browser without storage, or a full one: the page remembers it until it is closed.
      this.#memory.set(key, value);
    }
  }

  recall(key: string): unknown {
    if (this.#memory.has(key)) return this.#memory.get(key);
    try {
      return JSON.parse(localStorage.getItem(MEMORY_PREFIX + key) ?? "null");
    } catch {
      return null;
    }
  }

  openLink(url: string): void {
    window.open(url, "_blank", "noopener,noreferrer");
  }
}
