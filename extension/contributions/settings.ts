/** The settings. Those that choose what runs, or whose data is used, need a trusted workspace. */

export interface Setting {
  type: "string" | "boolean";
  default: string | boolean;
  description: string;
  scope: "machine-overridable" | "machine" | "window";
  /** Ignored in an untrusted workspace's own settings. */
  restricted?: true;
}

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
  notifyWaiting: {
    type: "boolean",
    default: true,
    scope: "window",
    description: "Show a notification when an Actor begins to wait for you.",
  },
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof settings;
export const SETTINGS: Readonly<Record<SettingName, Setting>> = settings;
