/** One run of what a document follows: its deltas, numbered, and how many of them were seen. */
import { LIMITS } from "../../shared/limits.ts";
import type { Release, TerminalLink } from "../../shared/stream-client/listeners.ts";
import type { TerminalRequest } from "../../shared/terminal.ts";
import type { Delta, FollowedChannel } from "../../shared/webview-protocol.ts";
import type { RelayedLink } from "./relayed-link.ts";

const { unseenDeltas, deltasPerMessage } = LIMITS.webview;

interface Numbered {
  seq: number;
  delta: Delta;
}

export class FollowedStream {
  readonly #channel: FollowedChannel;
  readonly #link: RelayedLink;
  readonly #post: (deltas: Numbered[]) => void;
  #run = 0;
  #seq = 0;
  #seen = 0;
  #waiting: Numbered[] = [];
  #flushing: ReturnType<typeof setImmediate> | null = null;
  #release: Release | null = null;
  #terminal: TerminalLink | null = null;
  #ended = false;
  /** The latest about each Group that waits until more was seen. */
  readonly #held = new Map<string, Delta>();

  /** `post` gets what came together. */
  constructor(channel: FollowedChannel, link: RelayedLink, post: (deltas: Numbered[]) => void) {
    this.#channel = channel;
    this.#link = link;
    this.#post = post;
  }

  open(run: number): void {
    this.#run = run;
    const release = this.#watch();
    // What it says while it begins may already be too much.
    if (this.#ended) release();
    else this.#release = release;
  }

  close(): void {
    this.#ended = true;
    if (this.#flushing !== null) clearImmediate(this.#flushing);
    this.#flushing = null;
    this.#waiting = [];
    this.#stop();
  }

  /** The document has the deltas up to `seq`. */
  seen(run: number, seq: number): void {
    if (run !== this.#run || seq <= this.#seen || seq > this.#seq) return;
    this.#seen = seq;
    for (const [key, delta] of this.#held) {
      if (this.#isBehind) return;
      this.#held.delete(key);
      this.#push(delta);
    }
  }

  request(request: TerminalRequest): void {
    this.#terminal?.send(request);
  }

  #stop(): void {
    this.#release?.();
    this.#release = null;
    this.#terminal = null;
  }

  #watch(): Release {
    const link = this.#link;
    const channel = this.#channel;
    const tell = (delta: Delta) => this.#tell(delta);
    switch (channel.name) {
      case "connection":
        return link.watchConnection(({ state, heard }) => tell({ type: "connection", state, heard }));
      case "groups":
        return link.watchGroups({
          restart: () => tell({ type: "restart" }),
          group: (group) => tell({ type: "group", group }),
          gone: (groupId) => tell({ type: "gone", group_id: groupId }),
          actors: (groupId) => tell({ type: "actors", group_id: groupId }),
        });
      case "ledger":
        return link.watchLedger(channel.group_id, channel.after, {
          event: (event) => tell({ type: "event", event }),
          reload: () => tell({ type: "reload" }),
        });
      case "activity":
        return link.watchActivity(channel.group_id, {
          restored: (events) => tell({ type: "restored", events: [...events] }),
          event: (event) => tell({ type: "activity", event }),
        });
      case "terminal": {
        const terminal = link.terminal(channel.group_id, channel.actor_id, {
          // The daemon waits for acknowledgements of a terminal's output itself.
          output: (data) => tell({ type: "output", data: new Uint8Array(data) }),
          message: (message) => tell({ type: "message", message }),
          lost: () => tell({ type: "lost" }),
        });
        this.#terminal = terminal;
        return () => terminal.close();
      }
    }
  }

  get #isBehind(): boolean {
    return this.#seq - this.#seen >= unseenDeltas;
  }

  #tell(delta: Delta): void {
    if (this.#ended) return;
    const key = heldAs(delta);
    if (delta.type === "restart") this.#held.clear();
    if (key !== null && (this.#isBehind || this.#held.size > 0)) {
      this.#held.delete(key);
      this.#held.set(key, delta);
    } else if (this.#isBehind && this.#terminal === null) {
      this.#ended = true;
      this.#stop();
      this.#push({ type: "paused" });
    } else this.#push(delta);
  }

  #push(delta: Delta): void {
    this.#seq += 1;
    this.#waiting.push({ seq: this.#seq, delta });
    this.#flushing ??= setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#flushing = null;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (let at = 0; at < waiting.length; at += deltasPerMessage)
      this.#post(waiting.slice(at, at + deltasPerMessage));
  }
}

/**
 * What is told about Groups waits for a slow document, one state for each Group: beginning again
 * would only bring all of them once more. Null for everything else.
 */
function heldAs(delta: Delta): string | null {
  if (delta.type === "restart") return "restart";
  if (delta.type === "group") return `group ${delta.group.group_id}`;
  if (delta.type === "gone") return `group ${delta.group_id}`;
  return delta.type === "actors" ? `actors ${delta.group_id}` : null;
}
