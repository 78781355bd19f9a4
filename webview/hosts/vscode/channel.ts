/**
 * A webview's end of what it says to the extension host (shared/webview-protocol.ts): requests and
 * their answers, and what is followed, without a gap.
 */
import { config } from "zod/mini";
import { LIMITS } from "../../../shared/limits.ts";
import type { Release } from "../../../shared/stream-client/listeners.ts";
import {
  type Delta,
  type ExtensionMessage,
  type FollowedChannel,
  type NumberedDelta,
  readExtensionMessage,
  type Shown,
  WEBVIEW_PROTOCOL,
  type WebviewMessage,
} from "../../../shared/webview-protocol.ts";
import { HostError } from "../host.ts";

// The page's policy allows no code that is made from text.
config({ jitless: true });

/** What the editor gives a webview to talk with. */
export interface WebviewApi {
  postMessage(message: unknown): void;
  getState(): unknown;
  setState(state: unknown): void;
}

export type Welcome = ExtensionMessage & { type: "welcome" };

/** Requests at the same time. The rest waits here: previews and files also count. */
const MOST_REQUESTS = LIMITS.webview.requests - 8;
/** A `ready` that wasn't answered is said again. */
const READY_AGAIN_MS = 1000;

type Without<Message, Key extends string> = Message extends unknown ? Omit<Message, Key> : never;
type Asking = Without<
  Extract<WebviewMessage, { type: "call" | "upload" | "blob" | "dropped" | "save" }>,
  "id"
>;

interface Pending {
  resolve(result: unknown): void;
  reject(error: Error): void;
  /** A piece of a file that comes in, or the acknowledgement of one that goes out. */
  piece?: (seq: number, data: Uint8Array) => void;
  taken?: (seq: number) => void;
}

interface Followed {
  channel: FollowedChannel;
  run: number;
  /** The number of the last delta of this run. */
  seq: number;
  delta(delta: Delta): void;
  /** Called instead of beginning again, where that would lose something. */
  lost?: (() => void) | undefined;
}

export interface AskOptions {
  signal?: AbortSignal | undefined;
  piece?: (seq: number, data: Uint8Array, id: number) => void;
  taken?: (seq: number) => void;
  /** The request is on its way under this id. */
  sent?: (id: number) => void;
}

export class Channel {
  readonly #api: WebviewApi;
  readonly #session = crypto.randomUUID();
  readonly #pending = new Map<number, Pending>();
  readonly #followed = new Map<number, Followed>();
  readonly #queue: (() => void)[] = [];
  readonly #show: (shown: Shown) => void;
  #next = 1;
  #welcome: ((welcome: Welcome) => void) | null = null;

  /** `show` is told what the editor wants to be shown. */
  constructor(api: WebviewApi, show: (shown: Shown) => void) {
    this.#api = api;
    this.#show = show;
  }

  /** Says that this document is ready. Resolves with the extension host's answer. */
  open(): Promise<Welcome> {
    return new Promise((resolve) => {
      this.post({ type: "ready" });
      const again = setInterval(() => this.post({ type: "ready" }), READY_AGAIN_MS);
      this.#welcome = (welcome) => {
        clearInterval(again);
        this.#welcome = null;
        resolve(welcome);
      };
    });
  }

  post(message: WebviewMessage): void {
    this.#api.postMessage({ svc: WEBVIEW_PROTOCOL, session: this.#session, message });
  }

  /** The result of a request. Throws `HostError`, and the signal's reason after an abort. */
  async ask(asking: Asking, options: AskOptions = {}): Promise<unknown> {
    const { signal } = options;
    if (this.#pending.size >= MOST_REQUESTS)
      await new Promise<void>((resolve) => {
        this.#queue.push(resolve);
      });
    const id = this.#next++;
    try {
      signal?.throwIfAborted();
      return await new Promise((resolve, reject) => {
        this.#pending.set(id, {
          resolve,
          reject,
          ...(options.piece === undefined ? {} : { piece: (seq, data) => options.piece?.(seq, data, id) }),
          ...(options.taken === undefined ? {} : { taken: options.taken }),
        });
        signal?.addEventListener("abort", () => {
          if (!this.#pending.has(id)) return;
          this.post({ type: "cancel", id });
          reject(signal.reason as Error);
        });
        this.post({ ...asking, id });
        options.sent?.(id);
      });
    } finally {
      this.#pending.delete(id);
      this.#queue.shift()?.();
    }
  }

  /**
   * Follows a channel until released. After a gap it begins again: `delta` gets the state anew, or
   * what came after the last event. `lost` is called instead when neither is possible.
   */
  follow(channel: FollowedChannel, delta: (delta: Delta) => void, lost?: () => void): FollowedHandle {
    const id = this.#next++;
    const followed: Followed = { channel, run: 1, seq: 0, delta, lost };
    this.#followed.set(id, followed);
    this.post({ type: "follow", id, run: 1, channel });
    return {
      id,
      release: () => {
        if (this.#followed.delete(id)) this.post({ type: "unfollow", id });
      },
    };
  }

  /** What was posted to this document. */
  receive(posted: unknown): void {
    const sealed = readExtensionMessage(posted);
    if (sealed === null || sealed.session !== this.#session) return;
    const { message } = sealed;
    switch (message.type) {
      case "welcome":
        this.#welcome?.(message);
        break;
      case "result":
        this.#pending.get(message.id)?.resolve(message.result);
        break;
      case "failed":
        this.#pending.get(message.id)?.reject(new HostError(message.code, message.message, message.details));
        break;
      case "deltas":
        this.#take(message.deltas);
        break;
      case "piece":
        this.#pending.get(message.id)?.piece?.(message.seq, message.data);
        break;
      case "taken":
        this.#pending.get(message.id)?.taken?.(message.seq);
        break;
      case "show":
        this.#show(message.shown);
        break;
    }
  }

  #take(deltas: readonly NumberedDelta[]): void {
    const touched = new Set<number>();
    for (const { id, run, seq, delta } of deltas) {
      const followed = this.#followed.get(id);
      if (followed === undefined || followed.run !== run) continue;
      if (seq !== followed.seq + 1 || delta.type === "paused") {
        this.#again(id, followed);
        continue;
      }
      followed.seq = seq;
      touched.add(id);
      if (followed.channel.name === "ledger" && delta.type === "event")
        followed.channel = { ...followed.channel, after: delta.event.id };
      followed.delta(delta);
    }
    for (const id of touched) {
      const followed = this.#followed.get(id);
      if (followed !== undefined && followed.seq > 0)
        this.post({ type: "seen", id, run: followed.run, seq: followed.seq });
    }
  }

  #again(id: number, followed: Followed): void {
    if (followed.channel.name === "ledger" && followed.channel.after === null) {
      this.#followed.delete(id);
      this.post({ type: "unfollow", id });
      followed.lost?.();
      return;
    }
    followed.run += 1;
    followed.seq = 0;
    this.post({ type: "follow", id, run: followed.run, channel: followed.channel });
  }
}

export interface FollowedHandle {
  id: number;
  release: Release;
}
