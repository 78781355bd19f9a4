/**
 * The other page of a frame: one window of one origin, and nothing else
 * (docs/protocol.md#workbench-frames).
 */
import { type EntryMessage, frameMessage, type TargetMessage } from "../../shared/frame-protocol.ts";
import type { Release } from "../../shared/stream-client/listeners.ts";

export interface FramePeer {
  frameId: string;
  /** Its exact origin. The browser drops what is posted when it has another one. */
  origin: string;
  /** Null while it has none. */
  window(): Window | null;
}

/**
 * Calls `heard` with each message of the peer, as `read` understands it. Pages inside of the peer
 * may have its origin, so its window is compared as well.
 */
export function hearPeer<Message>(
  peer: FramePeer,
  read: (posted: unknown, frameId: string) => Message | null,
  heard: (message: Message) => void,
): Release {
  const listen = ({ origin, source, data }: MessageEvent<unknown>): void => {
    if (origin !== peer.origin || source === null || source !== peer.window()) return;
    const message = read(data, peer.frameId);
    if (message !== null) heard(message);
  };
  addEventListener("message", listen);
  return () => removeEventListener("message", listen);
}

/** Sends a message to the peer. */
export function tellPeer(peer: FramePeer, message: TargetMessage | EntryMessage): void {
  peer.window()?.postMessage(frameMessage(peer.frameId, message), peer.origin);
}
