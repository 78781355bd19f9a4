/** Why a browser didn't show a frame, as far as it tells: it tells the page nothing by itself. */
import type { FrameProblem } from "./frame-words.ts";

/** What browsers call the permission; the newer names tell loopback from the rest. */
const PERMISSIONS = ["local-network-access", "loopback-network", "local-network"] as const;

export async function browserRefusal(origin: string): Promise<FrameProblem> {
  for (const name of PERMISSIONS) {
    try {
      const { state } = await navigator.permissions.query({ name: name as PermissionName });
      if (state === "denied") {
        return {
          code: "frame_local_network",
          message: `This browser doesn’t let this page reach your local network, where ${origin} is. Allow it in the page’s settings.`,
        };
      }
    } catch {
      // This browser has no such permission.
    }
  }
  return {
    code: "frame_silent",
    message: `${origin} didn’t show in the frame. This browser may not reach it, or may not trust its certificate.`,
  };
}
