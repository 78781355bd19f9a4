/** Opening the Workbench, a Group's connections and the account. */
import type { Shown } from "../../shared/webview-protocol.ts";
import type { Parts } from "../parts.ts";
import { chooseGroup, type Handlers, needDaemon, needTrust, rowOf } from "./handling.ts";

const shownGroup = (groupId: string): Shown => ({ group_id: groupId, text: null, to: [], page: "list" });

export function webviewCommands(parts: Parts) {
  const { webviews } = parts;
  const connect = (page: Shown["page"]) => async (given: unknown) => {
    needTrust();
    await needDaemon(parts);
    const { groupId } = await chooseGroup(parts, given);
    const { text } = (given ?? {}) as { text?: unknown };
    await webviews.show("connections", {
      ...shownGroup(groupId),
      page,
      text: typeof text === "string" ? text : null,
    });
  };
  return {
    // From a row of a tree, or with a text to add to the draft.
    async openWorkbench(given: unknown) {
      const row = rowOf(given);
      const { text } = (given ?? {}) as { text?: unknown };
      await webviews.show(
        "workbench",
        row === null
          ? null
          : {
              ...shownGroup(row.groupId),
              text: typeof text === "string" ? text : null,
              to: row.kind === "actor" ? [row.actorId] : [],
            },
      );
    },
    showConnections: connect("list"),
    connectGroup: connect("choice"),
    acceptInvitation: connect("join"),
    // From a link that names the invitation.
    answerInvitation: connect("answer"),
    async showAccount() {
      needTrust();
      await needDaemon(parts);
      await webviews.show("account", null);
    },
  } satisfies Handlers;
}
