/** Puts `svc` on the PATH of the editor's terminals, once the window has a daemon. */
import type { Parts } from "../parts.ts";

export function offerCommand(parts: Parts): void {
  const { link } = parts;
  const offer = (): void => {
    if (link.state !== "online") return;
    link.off("state", offer);
    import("./command-on-path.ts")
      .then(({ putCommandOnPath }) => putCommandOnPath(parts))
      // A disk that takes no file leaves the terminals as they are.
      .catch(() => {});
  };
  link.on("state", offer);
}
