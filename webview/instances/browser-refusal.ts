/** Why a browser didn't show a frame, as far as it tells: it tells the page nothing by itself. */
import type { FrameProblem } from "./frame-words.ts";

/** What browsers call the permission; the newer names tell loopback from the rest. */
const PERMISSIONS = ["local-network-access", "loopback-network", "local-network"] as const;

export async function browserRefusal(origin: string): Promise<FrameProblem> {
  const permission = await localNetwork();
  if (permission === "denied") {
    return {
      code: "frame_local_network",
      message: `This browser doesn’t let this page reach your local network, where ${origin} is. Allow it in the page’s settings.`,
    };
  }
  const why =
    permission === "prompt"
      ? "If this browser asks whether this page may reach your local network, allow it and choose the instance again. It may also not trust the certificate there."
      : "This browser may not reach it, or may not trust its certificate.";
  return { code: "frame_silent", message: `${origin} didn’t show in the frame. ${why}` };
}

/** Whether this page may reach more private addresses than its own; null where nobody asks. */
async function localNetwork(): Promise<PermissionState | null> {
  const states = await Promise.all(
    PERMISSIONS.map(async (name) => {
      try {
        return (await navigator.permissions.query({ name: name as PermissionName })).state;
      } catch {
        return null;
      }
    }),
  );
  return (["denied", "prompt", "granted"] as const).find((state) => states.includes(state)) ?? null;
}
