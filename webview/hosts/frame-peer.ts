/**
 * The other page of a frame: one window of one origin, and nothing else
 * (docs/protocol.md#workbench-frames).
 */
import {
  type EntryMessage,
  type FrameMessages,
  frameMessage,
  type TargetMessage,
} from "../../shared/frame-protocol.ts";
import type { Release } from "../../shared/stream-client/listeners.ts";

export interface FramePeer {
  frameId: string;
  /** Its exact origin. The browser drops what is posted when it has another one. */
  origin: string;
  /** Null while it has none. */
  window(): Window | null;
}

/** Of more of them in a second, only the last of each type is read, when the second is over. */
const MESSAGES_PER_SECOND = 30;

/**
 * Calls `heard` with each message of the peer, until it is released. Pages inside of the peer may
 * have its origin, so its window is compared as well. A peer that floods doesn't stop this page.
 */
export function hearPeer<Message>(
  peer: FramePeer,
  { types, read }: FrameMessages<Message>,
  heard: (message: Message) => void,
): Release {
  const life = new AbortController();
  const { signal } = life;
  const late = new Map<unknown, unknown>();
  /** In this second. */
  let count = 0;
  const take = (posted: unknown): void => {
    const message = signal.aborted ? null : read(posted, peer.frameId);
    if (message !== null) heard(message);
  };
  const nextSecond = (): void => {
    count = 0;
    const posted = [...late.values()];
    late.clear();
    posted.forEach(take);
  };
  const listen = ({ origin, source, data }: MessageEvent<unknown>): void => {
    if (origin !== peer.origin || source === null || source !== peer.window()) return;
    count += 1;
    if (count === 1) setTimeout(nextSecond, 1000);
    if (count <= MESSAGES_PER_SECOND) return take(data);
    const type = (data as { type?: unknown } | null)?.type;
    late.delete(type);
    if (types.has(type)) late.set(type, data);
  };
  addEventListener("message", listen, { signal });
  return () => life.abort();
}

/** Sends a message to the peer. */
export function tellPeer(peer: FramePeer, message: TargetMessage | EntryMessage): void {
  peer.window()?.postMessage(frameMessage(peer.frameId, message), peer.origin);
}
