/** The side bar: its container, its views, and what each says while it has nothing to show. */
import { commandId } from "./commands.ts";
import { CONTEXT, ONLINE } from "./contribution.ts";

/** Of the container in the activity bar. */
export const CONTAINER = "svc";

interface View {
  id: string;
  name: string;
  icon: string;
  /** Drawn by a page of ours; otherwise it is a tree. */
  type?: "webview";
  /** When it is there at all. */
  when?: string;
}

export const VIEWS = {
  groups: { id: "svc.groups", name: "Groups", icon: "media/svc.svg" },
  instances: {
    id: "svc.instances",
    name: "Other Instances",
    icon: "media/svc.svg",
    when: `${ONLINE} && ${CONTEXT.hasInstances}`,
  },
  needsYou: { id: "svc.needsYou", name: "Needs You", icon: "media/svc.svg" },
  connections: { id: "svc.connections", name: "Connections", icon: "media/svc.svg" },
  ticker: { id: "svc.ticker", name: "Ticker", icon: "media/svc.svg", type: "webview" },
} as const satisfies Record<string, View>;

/** The editor's names for the kinds of tabs. Windows that are restored know them. */
export const TABS = {
  workbench: "svc.workbench",
  connections: "svc.direct",
  account: "svc.account",
} as const;

export interface Welcome {
  view: string;
  contents: string;
  when: string;
}

const start = `[Start the daemon](command:${commandId("startDaemon")})`;
const attach = `[Attach this folder](command:${commandId("attachFolder")})`;
const absent = `${CONTEXT.connection} == absent`;
const waiting = `${CONTEXT.connection} == connecting || ${CONTEXT.connection} == unknown`;

export const WELCOME: readonly Welcome[] = [
  {
    view: VIEWS.groups.id,
    when: absent,
    contents: `svc's daemon isn't running. It keeps your agents' conversations and runs on after you close the editor.\n${start}`,
  },
  { view: VIEWS.groups.id, when: waiting, contents: "Looking for svc's daemon…" },
  {
    view: VIEWS.groups.id,
    when: `${ONLINE} && workbenchState != empty`,
    contents: `A Group is one conversation of agents and people about a project. Attach this folder to get one.\n${attach}`,
  },
  {
    view: VIEWS.groups.id,
    when: `${ONLINE} && workbenchState == empty`,
    contents: "Open a folder to give its agents a Group.\n[Open a folder](command:vscode.openFolder)",
  },
  { view: VIEWS.needsYou.id, when: ONLINE, contents: "Nothing waits for you." },
  { view: VIEWS.needsYou.id, when: absent, contents: "The daemon isn't running." },
  { view: VIEWS.needsYou.id, when: waiting, contents: "Looking for svc's daemon…" },
  {
    view: VIEWS.connections.id,
    when: ONLINE,
    contents: `No Group is connected to another machine. With an account, your machines find each other.\n[Link to an account](command:${commandId("showAccount")})`,
  },
  { view: VIEWS.connections.id, when: absent, contents: "The daemon isn't running." },
  { view: VIEWS.connections.id, when: waiting, contents: "Looking for svc's daemon…" },
];
