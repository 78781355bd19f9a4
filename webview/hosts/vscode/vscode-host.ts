/**
 * The interface's host in an editor's webview: everything goes through the extension host, because
 * the page may connect to nothing.
 */
import { Acknowledged } from "../../../shared/acknowledged.ts";
import { type Address, addressQuery, NOWHERE, readAddress } from "../../../shared/address.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { ArgumentsOf, OperationName, ResultOf } from "../../../shared/operations/registry.ts";
import type {
  ActivityListener,
  Connection,
  GroupsListener,
  LedgerListener,
  Release,
  TerminalLink,
  TerminalListener,
} from "../../../shared/stream-client/listeners.ts";
import type { Shown } from "../../../shared/webview-protocol.ts";
import { fileName } from "../../controls/file-name.ts";
import {
  type BlobAddress,
  type Host,
  HostError,
  type PageMemory,
  type Uploaded,
  type UploadOptions,
} from "../host.ts";
import { Channel, type WebviewApi, type Welcome } from "./channel.ts";
import { TabAddresses } from "./tab-addresses.ts";

const { pieceBytes, pieces, memoryValueCharacters } = LIMITS.webview;
/** Changes of one key within this time are told together. */
const TELL_AFTER_MS = 200;
/** The key of the tab's own address. */
const ADDRESS = "address";
/** Goes in front of keys that only this page has. */
const PAGE_PREFIX = "page/";
/** What the editor's own explorer gives of dragged files. */
const DRAGGED_ADDRESSES = ["application/vnd.code.uri-list", "text/uri-list"];

export class VsCodeHost implements Host {
  readonly home = "vscode";
  readonly addresses = new TabAddresses(this, {
    get: () => {
      const own = this.#state.get(ADDRESS)?.value;
      return typeof own === "string" ? (this.recall(addressKey(own)) ?? own) : own;
    },
    set: (query) => {
      this.#setState(ADDRESS, query);
      this.remember(addressKey(query), query);
    },
  });
  readonly page: PageMemory = {
    // A window has one tab for each Group, and it may lose a document's own last state.
    get: (key) => this.recall(PAGE_PREFIX + key),
    set: (key, value) => this.remember(PAGE_PREFIX + key, value),
  };
  readonly #api: WebviewApi;
  readonly #channel: Channel;
  readonly #watchers = new Set<(connection: Connection) => void>();
  /** This document's own state, and what the window remembers, as JSON. */
  readonly #state = new Map<string, Kept>();
  #memory: Readonly<Record<string, string>> = {};
  readonly #untold = new Set<string>();
  #connection: Connection = { state: "connecting", heard: null };
  #following = false;

  /** `show` is told what the editor wants to be shown. */
  constructor(api: WebviewApi, show: (shown: Shown) => void) {
    this.#api = api;
    this.#channel = new Channel(api, show);
    const state = api.getState();
    if (typeof state !== "object" || state === null) return;
    for (const [key, kept] of Object.entries(state)) if (isKept(kept)) this.#state.set(key, kept);
  }

  /** Call this first. */
  async open(): Promise<Welcome> {
    const welcome = await this.#channel.open();
    this.#memory = welcome.memory;
    if (welcome.shown !== null) {
      this.#setState("group", welcome.shown.group_id);
      this.addresses.set({ ...NOWHERE, groupId: welcome.shown.group_id });
    }
    return welcome;
  }

  /** What the extension host posted. */
  receive(posted: unknown): void {
    this.#channel.receive(posted);
  }

  async call<Name extends OperationName>(
    name: Name,
    input: ArgumentsOf<Name>,
    options: { signal?: AbortSignal } = {},
  ): Promise<ResultOf<Name>> {
    const asking = { type: "call", name, input: input as Record<string, unknown> } as const;
    return (await this.#channel.ask(asking, { signal: options.signal })) as ResultOf<Name>;
  }

  watchGroups(listener: GroupsListener): Release {
    return this.#channel.follow({ name: "groups" }, (delta) => {
      if (delta.type === "restart") listener.restart();
      else if (delta.type === "group") listener.group(delta.group);
      else if (delta.type === "gone") listener.gone(delta.group_id);
      else if (delta.type === "actors") listener.actors(delta.group_id);
    }).release;
  }

  watchLedger(groupId: string, after: string | null, listener: LedgerListener): Release {
    const handle = this.#channel.follow(
      { name: "ledger", group_id: groupId, after },
      (delta) => {
        if (delta.type === "event") listener.event(delta.event);
        else if (delta.type === "reload") {
          handle.release();
          listener.reload();
        }
      },
      () => listener.reload(),
    );
    return handle.release;
  }

  watchActivity(groupId: string, listener: ActivityListener): Release {
    return this.#channel.follow({ name: "activity", group_id: groupId }, (delta) => {
      if (delta.type === "restored") listener.restored(delta.events);
      else if (delta.type === "activity") listener.event(delta.event);
    }).release;
  }

  terminal(groupId: string, actorId: string, listener: TerminalListener): TerminalLink {
    const channel = { name: "terminal", group_id: groupId, actor_id: actorId } as const;
    const { id, release } = this.#channel.follow(channel, (delta) => {
      if (delta.type === "output") listener.output(delta.data);
      else if (delta.type === "message") listener.message(delta.message);
      else if (delta.type === "lost") listener.lost();
    });
    return {
      send: (request) => this.#channel.post({ type: "terminal", id, request }),
      close: release,
    };
  }

  async upload(groupId: string, file: File, options: UploadOptions): Promise<Uploaded> {
    const acknowledged = new Acknowledged();
    const uploading = {
      type: "upload",
      group_id: groupId,
      name: fileName(file),
      mime_type: file.type,
      bytes: file.size,
    } as const;
    const stopped = new AbortController();
    const signal = AbortSignal.any([options.signal, stopped.signal]);
    const answered = this.#channel.ask(uploading, {
      signal,
      taken: (seq) => acknowledged.take(seq),
      sent: (id) => {
        this.#sendPieces(id, file, acknowledged, signal, options).catch((error: unknown) =>
          stopped.abort(error),
        );
      },
    });
    try {
      const { sha256, bytes, name, mime_type: mimeType } = (await answered) as Uploaded;
      return { sha256, bytes, name, mime_type: mimeType };
    } catch (error) {
      if (options.signal.aborted) throw new HostError("cancelled", "The upload was cancelled.");
      if (error instanceof HostError && error.offline)
        throw new HostError("offline", "The upload was interrupted. Try again.");
      throw error;
    } finally {
      stopped.abort();
    }
  }

  async #sendPieces(
    id: number,
    file: File,
    acknowledged: Acknowledged,
    signal: AbortSignal,
    options: UploadOptions,
  ): Promise<void> {
    for (let seq = 0; seq * pieceBytes < file.size; seq += 1) {
      await acknowledged.reaches(seq - pieces, signal);
      const piece = file.slice(seq * pieceBytes, (seq + 1) * pieceBytes);
      const data = new Uint8Array(await piece.arrayBuffer());
      signal.throwIfAborted();
      this.#channel.post({ type: "piece", id, seq, data });
      options.progress(Math.min(file.size, (seq + 1) * pieceBytes));
    }
  }

  readonly presentation = null;

  async checkFile(): Promise<void> {
    // Nothing is framed here.
  }

  async blob(groupId: string, sha256: string): Promise<BlobAddress> {
    const url = URL.createObjectURL(await this.bytes(groupId, sha256));
    return { url, release: () => URL.revokeObjectURL(url) };
  }

  async bytes(groupId: string, sha256: string): Promise<Blob> {
    const { pieces } = await this.#readPieces({ type: "blob", group_id: groupId, sha256 });
    return new Blob(pieces);
  }

  async #readPieces(
    asking: Parameters<Channel["ask"]>[0],
  ): Promise<{ pieces: Uint8Array<ArrayBuffer>[]; result: unknown }> {
    const pieces: Uint8Array<ArrayBuffer>[] = [];
    const result = await this.#channel.ask(asking, {
      piece: (seq, data, id) => {
        if (seq !== pieces.length) return;
        pieces.push(data as Uint8Array<ArrayBuffer>);
        this.#channel.post({ type: "taken", id, seq });
      },
    });
    return { pieces, result };
  }

  async save(groupId: string, sha256: string, name: string): Promise<void> {
    await this.#channel.ask({ type: "save", group_id: groupId, sha256, name });
  }

  holdsFiles(types: readonly string[]): boolean {
    return types.includes("Files") || DRAGGED_ADDRESSES.some((type) => types.includes(type));
  }

  async droppedFiles(dropped: DataTransfer): Promise<readonly File[]> {
    if (dropped.files.length > 0) return [...dropped.files];
    const addresses =
      DRAGGED_ADDRESSES.map((type) => dropped.getData(type)).find((list) => list !== "") ?? "";
    const uris = addresses.split(/\r?\n/).filter((line) => line !== "" && !line.startsWith("#"));
    return Promise.all(
      uris.slice(0, LIMITS.message.attachments).map(async (uri) => {
        const { pieces, result } = await this.#readPieces({ type: "dropped", uri });
        return new File(pieces, String((result as { name?: unknown }).name));
      }),
    );
  }

  watchConnection(listener: (connection: Connection) => void): Release {
    this.#watchers.add(listener);
    listener(this.#connection);
    if (!this.#following) {
      this.#following = true;
      this.#channel.follow({ name: "connection" }, (delta) => {
        if (delta.type !== "connection") return;
        this.#connection = { state: delta.state, heard: delta.heard };
        for (const watcher of this.#watchers) watcher(this.#connection);
      });
    }
    return () => this.#watchers.delete(listener);
  }

  retry(): void {
    this.#channel.post({ type: "retry" });
  }

  remember(key: string, value: unknown): void {
    this.#setState(key, value);
    if (key === "group")
      this.#channel.post({ type: "showing", group_id: typeof value === "string" ? value : null });
    if (this.#untold.size === 0) setTimeout(() => this.tellMemory(), TELL_AFTER_MS);
    this.#untold.add(key);
  }

  /**
   * The later of what this document and the window remember: the editor may restore a document with
   * an older state. Which Group a tab shows is its own, as others show others.
   */
  recall(key: string): unknown {
    const own = this.#state.get(key);
    if (own !== undefined && key === "group") return own.value;
    const shared = readKept(this.#memory[key]);
    if (own === undefined || (shared !== null && shared.at > own.at)) return shared?.value ?? null;
    return own.value;
  }

  openLink(url: string): void {
    this.#channel.post({ type: "open-link", url });
  }

  readonly openInBrowser = (address: Address): void => {
    this.#channel.post({ type: "open-browser", query: addressQuery(address) });
  };

  readonly openReference = (reference: string): void => {
    this.#channel.post({ type: "open-reference", reference });
  };

  /** Opens the Workbench of a Group to write to an Actor. */
  openActor(groupId: string, actorId: string): void {
    this.#channel.post({ type: "open-actor", group_id: groupId, actor_id: actorId });
  }

  setTitle(text: string): void {
    this.#channel.post({ type: "title", text });
  }

  #setState(key: string, value: unknown): void {
    this.#state.set(key, { at: Date.now(), value });
    this.#api.setState(Object.fromEntries(this.#state));
  }

  /** Lets the window remember for the next document what changed in this one. */
  tellMemory(): void {
    for (const key of this.#untold) {
      const json = JSON.stringify(this.#state.get(key) ?? null);
      if (json.length <= memoryValueCharacters) this.#channel.post({ type: "remember", key, value: json });
    }
    this.#untold.clear();
  }
}

/** Under which the window remembers the address of a Group's tab. */
function addressKey(query: string): string {
  return `${ADDRESS}/${readAddress(query).groupId ?? ""}`;
}

/** Something remembered, with the time in epoch milliseconds. */
interface Kept {
  at: number;
  value: unknown;
}

function isKept(value: unknown): value is Kept {
  return (
    typeof value === "object" && value !== null && "value" in value && typeof (value as Kept).at === "number"
  );
}

function readKept(json: string | undefined): Kept | null {
  try {
    const kept: unknown = JSON.parse(json ?? "null");
    return isKept(kept) ? kept : null;
  } catch {
    return null;
  }
}
