/** The settings. Those that choose what runs, or whose data is used, need a trusted workspace. */
import type { NotificationKind } from "../../shared/operations/notification-kinds.ts";
import { NOTIFY } from "./contribution.ts";

export interface Setting {
  type: "string" | "boolean";
  default: string | boolean;
  description: string;
  scope: "machine-overridable" | "machine" | "window";
  /** Ignored in an untrusted workspace's own settings. */
  restricted?: true;
}

/** What the editor notifies of: what the daemon knows, and an instance that joined the account. */
export type Notified = NotificationKind | "joined";

const notification = (description: string) =>
  ({ type: "boolean", default: true, scope: "window", description }) as const;

const notifications = {
  [`${NOTIFY}.waiting`]: notification(
    "Show a notification when an Actor waits for a permission or an answer.",
  ),
  [`${NOTIFY}.request`]: notification("Show a notification when a message asks for your reply."),
  [`${NOTIFY}.failed`]: notification("Show a notification when an Actor's turn fails."),
  [`${NOTIFY}.connection`]: notification("Show a notification when another instance wants to connect."),
  [`${NOTIFY}.joined`]: notification("Show a notification when an instance joins your account."),
} as const satisfies Record<`${typeof NOTIFY}.${Notified}`, Setting>;

const settings = {
  home: {
    type: "string",
    default: "",
    scope: "machine-overridable",
    restricted: true,
    description: "The Home: the folder that holds svc's data. Empty means SVC_HOME, or else ~/.svc.",
  },
  command: {
    type: "string",
    default: "",
    scope: "machine-overridable",
    restricted: true,
    description:
      "Path of the svc program that starts the daemon. Empty means the one in this extension, or else svc on PATH. A daemon that already runs is used, whichever program started it.",
  },
  ...notifications,
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof settings;
export const SETTINGS: Readonly<Record<SettingName, Setting>> = settings;
