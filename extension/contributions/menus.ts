/** Where commands appear: titles of views, rows of trees, the palette. */
import { PROPOSAL_SCHEME } from "./agents.ts";
import { COMMANDS, type CommandName, commandId } from "./commands.ts";
import { VIEWS } from "./views.ts";

interface Item {
  command: string;
  when: string;
  group?: string;
}

/** `contextValue` of a row: its kind, then what it can do, as words. */
const ROW = {
  group: "viewItem =~ /^group\\b/",
  actor: "viewItem =~ /^actor\\b/",
  /** Of another instance that a browser can open. */
  elsewhere: "viewItem =~ /^other-.*\\breachable\\b/",
  can: (word: string) => `viewItem =~ /^actor\\b.*\\b${word}\\b/`,
} as const;

const item = (name: CommandName, when: string, group: string): Item => ({
  command: commandId(name),
  when,
  group,
});
const inView = (view: string, row: string) => `view == ${view} && ${row}`;
const { groups, instances, needsYou, connections } = VIEWS;

export const MENUS: Readonly<Record<string, readonly Item[]>> = {
  "view/title": [
    item("openWorkbench", `view == ${groups.id}`, "navigation@1"),
    item("attachFolder", `view == ${groups.id}`, "navigation@2"),
    item("refresh", `view == ${groups.id}`, "navigation@3"),
    item("connectAgent", `view == ${groups.id}`, "1_open@2"),
    item("disconnectAgent", `view == ${groups.id}`, "1_open@3"),
    item("openInBrowser", `view == ${groups.id}`, "1_open@1"),
    item("restartDaemon", `view == ${groups.id}`, "2_daemon@1"),
    item("stopDaemon", `view == ${groups.id}`, "2_daemon@2"),
    item("showLog", `view == ${groups.id}`, "2_daemon@3"),
    item("refresh", `view == ${instances.id}`, "navigation@1"),
    item("refresh", `view == ${needsYou.id}`, "navigation@1"),
    item("connectGroup", `view == ${connections.id}`, "navigation@1"),
    item("acceptInvitation", `view == ${connections.id}`, "navigation@2"),
    item("showAccount", `view == ${connections.id}`, "navigation@3"),
    item("refresh", `view == ${connections.id}`, "navigation@4"),
  ],
  "view/item/context": [
    item("openWorkbench", inView(groups.id, ROW.group), "inline@1"),
    item("addActor", inView(groups.id, ROW.group), "inline@2"),
    item("sendMessage", inView(groups.id, ROW.group), "1_talk@1"),
    item("showConnections", inView(groups.id, ROW.group), "2_connect@1"),
    item("connectGroup", inView(groups.id, ROW.group), "2_connect@2"),
    item("acceptInvitation", inView(groups.id, ROW.group), "2_connect@3"),
    item("sendMessage", inView(groups.id, ROW.actor), "inline@1"),
    item("openTerminal", inView(groups.id, ROW.can("terminal")), "inline@2"),
    item("startActor", inView(groups.id, ROW.can("startable")), "inline@3"),
    item("stopActor", inView(groups.id, ROW.can("stoppable")), "inline@3"),
    item("sendMessage", inView(groups.id, ROW.actor), "1_talk@1"),
    item("openTerminal", inView(groups.id, ROW.can("terminal")), "1_talk@2"),
    item("startActor", inView(groups.id, ROW.can("startable")), "2_run@1"),
    item("stopActor", inView(groups.id, ROW.can("stoppable")), "2_run@2"),
    item("restartActor", inView(groups.id, ROW.can("stoppable")), "2_run@3"),
    item("interruptActor", inView(groups.id, ROW.can("interruptible")), "2_run@4"),
    item("removeActor", inView(groups.id, ROW.actor), "9_remove@1"),
    item("openInstance", inView(instances.id, ROW.elsewhere), "inline@1"),
    item("openInstance", inView(instances.id, ROW.elsewhere), "1_open@1"),
    item("openInstancePage", inView(instances.id, ROW.elsewhere), "1_open@2"),
    item("sendMessage", inView(needsYou.id, "viewItem =~ /^waiting actor\\b/"), "inline@1"),
    item("answerQuestion", inView(needsYou.id, "viewItem =~ /^waiting question\\b/"), "inline@1"),
    item(
      "openTerminal",
      inView(needsYou.id, "viewItem =~ /^waiting question\\b.*\\bterminal\\b/"),
      "inline@2",
    ),
    item("endConnection", inView(connections.id, "viewItem =~ /^(?:connection|external)\\b/"), "inline@1"),
  ],
  "editor/title": [
    item("writeChange", `resourceScheme == ${PROPOSAL_SCHEME}`, "navigation@1"),
    item("dropChange", `resourceScheme == ${PROPOSAL_SCHEME}`, "navigation@2"),
  ],
  "editor/context": [
    item("sendSelection", "editorHasSelection && (resourceScheme == file || isInDiffEditor)", "z_svc@1"),
  ],
  "terminal/context": [item("sendTerminalSelection", "terminalTextSelected", "z_svc@1")],
  "explorer/context": [item("sendFile", "!explorerResourceIsFolder && resourceScheme == file", "z_svc@1")],
  commandPalette: Object.entries(COMMANDS)
    .filter(([, { palette }]) => palette === false)
    .map(([name]) => ({ command: commandId(name as CommandName), when: "false" })),
};
