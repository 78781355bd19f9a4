/** The interface's host in a browser: the daemon's Web API under the page's own origin, in a cookie session. */
import { API_PREFIX } from "../../shared/names.ts";
import type { ArgumentsOf, OperationName, ResultOf } from "../../shared/operations/registry.ts";
import type {
  BlobAddress,
  Connection,
  GroupsListener,
  Host,
  LedgerListener,
  Release,
  Uploaded,
  UploadOptions,
} from "../host.ts";
import { fileName } from "../state/file-name.ts";
import { EventSocket } from "./event-socket.ts";
import type { Requests } from "./requests.ts";
import { prepare } from "./routes.ts";
import { upload } from "./upload.ts";

const MEMORY_PREFIX = "svc/";

export class HttpHost implements Host {
  readonly home = "browser";
  readonly #requests: Requests;
  readonly #socket: EventSocket;
  readonly #stopped = new AbortController();
  /** What the browser's storage wouldn't take. */
  readonly #memory = new Map<string, unknown>();

  constructor(requests: Requests) {
    this.#requests = requests;
    const origin = location.origin.replace(/^http/, "ws");
    this.#socket = new EventSocket(`${origin}${API_PREFIX}/events/ws`, () => void this.#probe());
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
    this.#socket.stop();
  }

  /** A browser doesn't say why a WebSocket was refused: ask whether the session is still known. */
  async #probe(): Promise<void> {
    try {
      await this.#requests.json("GET", `${API_PREFIX}/web-access/session`);
    } catch {
      // Unauthenticated: the session's end is told. Offline: the connection says so already.
    }
  }

  async call<Name extends OperationName>(
    name: Name,
    input: ArgumentsOf<Name>,
    options: { signal?: AbortSignal } = {},
  ): Promise<ResultOf<Name>> {
    const { method, url, body } = prepare(name, input);
    return (await this.#requests.json(method, url, body, options.signal)) as ResultOf<Name>;
  }

  watchGroups(listener: GroupsListener): Release {
    return this.#socket.groups(listener);
  }

  watchLedger(groupId: string, after: string | null, listener: LedgerListener): Release {
    return this.#socket.ledger(groupId, after, listener);
  }

  upload(groupId: string, file: File, options: UploadOptions): Promise<Uploaded> {
    const name = new URLSearchParams({ name: fileName(file) });
    return upload(this.#requests, `${API_PREFIX}/groups/${groupId}/uploads?${name}`, file, options);
  }

  async blob(groupId: string, sha256: string): Promise<BlobAddress> {
    const blob = await this.#requests.blob(`${API_PREFIX}/groups/${groupId}/blobs/${sha256}`);
    const url = URL.createObjectURL(blob);
    return { url, release: () => URL.revokeObjectURL(url) };
  }

  watchConnection(listener: (connection: Connection) => void): Release {
    return this.#socket.watch(listener);
  }

  retry(): void {
    this.#socket.retry();
  }

  remember(key: string, value: unknown): void {
    this.#memory.delete(key);
    try {
      if (value === null) localStorage.removeItem(MEMORY_PREFIX + key);
      else localStorage.setItem(MEMORY_PREFIX + key, JSON.stringify(value));
    } catch {
      // A browser without storage, or a full one: the view remembers until it is closed.
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
