/** The Workbench's requests to the daemon for the open Group. Each throws `HostError`. */
import type { ActorOperation } from "../../actors/actors-panel.ts";
import { announce } from "../../controls/announce.ts";
import type { MessageAction } from "../../feed/message.ts";
import type { Host } from "../../hosts/host.ts";
import type { Conversation } from "../../state/conversation.ts";
import { isBlank } from "../../state/draft.ts";
import { rewrite } from "./writing.ts";

export type Action<Asked> = (host: Host, conversation: Conversation, asked: Asked) => Promise<void>;

export type GroupState = "active" | "paused";

export const setGroupState: Action<GroupState> = async (host, { groupId, group }, state) => {
  await host.call("group_set_state", { group_id: groupId, state });
  await group.refresh();
};

export const operateActor: Action<ActorOperation> = async (host, { groupId, group }, asked) => {
  const address = { group_id: groupId, actor_id: asked.actor.id };
  try {
    if (
      asked.newConversation === true &&
      (asked.operation === "actor_start" || asked.operation === "actor_restart")
    )
      await host.call(asked.operation, { ...address, new_conversation: true });
    else await host.call(asked.operation, address);
  } finally {
    await group.refresh();
  }
};

/**
 * Withdraws the replies still owed, or the message, whose text goes back into an empty composer;
 * marks it unread, or delivers it again, with `force` if it may have arrived already.
 */
export const actOnMessage: Action<MessageAction> = async (host, conversation, action) => {
  const { groupId, group, feed } = conversation;
  const { event, kind, target, force } = action;
  if (kind === "cancel") {
    const answer = await host.call("reply_request_cancel", { group_id: groupId, event_id: event.id });
    feed.accept(answer.event);
    announce("The reply request was cancelled");
  } else if (kind === "withdraw") {
    const { withdrawn } = await host.call("message_withdraw", { group_id: groupId, event_id: event.id });
    announce("Withdrawn");
    await conversation.draftRead;
    const isWhole = withdrawn.length === event.data.to.length;
    if (isWhole && event.by === "user" && isBlank(conversation.draft.draft))
      await rewrite(conversation, { kind: "edit", event });
  } else if (kind === "unread") {
    await conversation.markUnread(event.id);
    announce("Marked unread from here");
  } else if (kind === "again" && target !== undefined) {
    await host.call("message_deliver", {
      group_id: groupId,
      source_event_id: event.id,
      actor_ids: [target],
      force_ambiguous: force === true,
    });
    announce(`It is delivered again to ${group.name(target)}`);
  }
};
