/**
 * `connect_frame` in an address: the request comes from a Workbench in a frame, and ends with it
 * (docs/protocol.md#workbench-frames). The caller still needs the session that any other page
 * needs.
 */
import type { IncomingMessage } from "node:http";
import { Refusal } from "../../../shared/errors.ts";
import { FRAME_FIELD } from "../../../shared/names.ts";
import type { Caller } from "../../../shared/operations/caller.ts";
import type { Frames } from "../../peers/https/frames.ts";

export type LiveFrames = Pick<Frames, "find">;

/**
 * Takes the frame out of a request's address, which the route reads after this; null without one.
 * Several are none that lives.
 */
export function takeFrame(request: IncomingMessage): string | null {
  const url = request.url ?? "";
  const mark = url.indexOf("?");
  if (mark === -1 || !url.includes(FRAME_FIELD, mark)) return null;
  const query = new URLSearchParams(url.slice(mark + 1));
  const [frameId, ...others] = query.getAll(FRAME_FIELD);
  if (frameId === undefined) return null;
  query.delete(FRAME_FIELD);
  request.url = query.size === 0 ? url.slice(0, mark) : `${url.slice(0, mark)}?${query}`;
  return others.length === 0 ? frameId : "";
}

/** Why a caller may not use the frame, or may no longer; null if they may. */
export function embeddingRefusal(frames: LiveFrames, frameId: string, caller: Caller): Refusal | null {
  if (caller.kind !== "user") return new Refusal("permission_denied");
  return frames.find(frameId) === null ? new Refusal("connect_frame_expired") : null;
}
