/** What the item in the status bar says. It knows nothing of the editor. */
import { commandId } from "../contributions/commands.ts";
import type { Instance } from "../daemon/instance.ts";
import type { DaemonLink } from "../daemon/link.ts";

export interface StatusWords {
  text: string;
  tooltip: string;
  /** What a click does. */
  command: string | undefined;
  isUrgent: boolean;
}

/** The item in each state of the link and of the Actors. */
export function statusOf(
  link: Pick<DaemonLink, "state">,
  instance: Pick<Instance, "loaded" | "count" | "attention">,
): StatusWords {
  if (link.state === "absent")
    return {
      text: "$(circle-slash) svc",
      tooltip: `svc's daemon isn't running. Click to start it.`,
      command: commandId("startDaemon"),
      isUrgent: false,
    };
  if (link.state !== "online" || !instance.loaded)
    return {
      text: "$(loading) svc",
      tooltip: "Connecting to svc's daemon",
      command: undefined,
      isUrgent: false,
    };
  const working = instance.count("working");
  const waits = instance.attention;
  const said = [
    working > 0 ? `${working} working` : "",
    waits > 0 ? `${waits} ${waits === 1 ? "waits" : "wait"}` : "",
  ].filter((part) => part !== "");
  return {
    text: `$(${waits > 0 ? "bell-dot" : "comment-discussion"}) svc${said.length > 0 ? `: ${said.join(", ")}` : ""}`,
    tooltip: waits > 0 ? "Show what waits for you" : "Nothing waits for you",
    command: commandId("showNeedsYou"),
    isUrgent: waits > 0,
  };
}
