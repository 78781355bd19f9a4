/** Every command: its title, when it is enabled and where it appears. */
import { CONTEXT, ONLINE } from "./contribution.ts";

export interface Command {
  title: string;
  icon?: string;
  /** When it can run. Elsewhere it is shown disabled, or not at all in the palette. */
  enablement?: string;
  /** False for commands that need a row of a tree. */
  palette?: false;
}

const commands = {
  startDaemon: { title: "Start the Daemon", icon: "play" },
  stopDaemon: { title: "Stop the Daemon", enablement: ONLINE },
  restartDaemon: { title: "Restart the Daemon", icon: "debug-restart" },
  upgradeDaemon: { title: "Restart the Daemon to Upgrade It", enablement: ONLINE },
  showLog: { title: "Show the Daemon's Log" },
  refresh: { title: "Refresh", icon: "refresh" },
  attachFolder: { title: "Attach a Folder", icon: "add", enablement: ONLINE },
  openWorkbench: { title: "Open the Workbench", icon: "comment-discussion" },
  openInBrowser: { title: "Open the Workbench in the Browser", icon: "link-external", enablement: ONLINE },
  openInstance: {
    title: "Open an Instance of the Account in the Browser",
    icon: "link-external",
    enablement: `${ONLINE} && ${CONTEXT.hasInstances}`,
  },
  openInstancePage: {
    title: "Open the Instance's Own Page",
    icon: "globe",
    enablement: ONLINE,
    palette: false,
  },
  showNeedsYou: { title: "Show What Needs You", icon: "bell-dot" },
  addActor: { title: "Add an Actor", icon: "person-add", enablement: ONLINE },
  startActor: { title: "Start the Actor", icon: "play", enablement: ONLINE },
  stopActor: { title: "Stop the Actor", icon: "debug-stop", enablement: ONLINE },
  restartActor: { title: "Restart the Actor", icon: "debug-restart", enablement: ONLINE },
  interruptActor: { title: "Interrupt the Actor", icon: "debug-pause", enablement: ONLINE },
  removeActor: { title: "Remove the Actor", icon: "trash", enablement: ONLINE },
  openTerminal: { title: "Open the Actor's Terminal", icon: "terminal", enablement: ONLINE },
  showConnections: { title: "Show a Group's Connections", icon: "plug", enablement: ONLINE },
  connectGroup: { title: "Connect a Group", icon: "add", enablement: ONLINE },
  acceptInvitation: { title: "Accept an Invitation", icon: "key", enablement: ONLINE },
  answerInvitation: {
    title: "Answer an Invitation of Another Account",
    enablement: ONLINE,
    palette: false,
  },
  showAccount: { title: "Show the Account", icon: "account", enablement: ONLINE },
  endConnection: {
    title: "End the Connection",
    icon: "debug-disconnect",
    enablement: ONLINE,
    palette: false,
  },
  answerQuestion: {
    title: "Answer the Question",
    icon: "comment-unresolved",
    enablement: ONLINE,
    palette: false,
  },
  sendSelection: { title: "Send the Selection to an Actor", enablement: ONLINE },
  sendTerminalSelection: { title: "Send the Terminal's Selection to an Actor", enablement: ONLINE },
  sendFile: { title: "Send This File to an Actor", enablement: ONLINE },
  sendProblem: { title: "Send the Problem to an Actor", palette: false },
  connectAgent: { title: "Connect an Agent", icon: "plug", enablement: ONLINE },
  writeChange: { title: "Write the Change", icon: "check", palette: false },
  dropChange: { title: "No, Leave the File as It Is", icon: "close", palette: false },
  disconnectAgent: { title: "Disconnect an Agent", icon: "debug-disconnect" },
  sendMessage: { title: "Send a Message", icon: "send", enablement: ONLINE },
} as const satisfies Record<string, Command>;

export type CommandName = keyof typeof commands;
export const COMMANDS: Readonly<Record<CommandName, Command>> = commands;

/** The id that the editor knows a command by. */
export function commandId(name: CommandName): string {
  return `svc.${name}`;
}
