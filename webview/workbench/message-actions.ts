/** What can be done with a message that was sent. */
import { announce } from "../elements/announce.ts";
import type { Host } from "../host.ts";
import type { Conversation } from "../state/conversation.ts";

/** Withdraws what is still owed. Throws `HostError`. */
export async function cancelReplyRequest(
  host: Host,
  conversation: Conversation,
  eventId: string,
): Promise<void> {
  const answer = await host.call("reply_request_cancel", {
    group_id: conversation.groupId,
    event_id: eventId,
  });
  conversation.feed.accept(answer.event);
  announce("The reply request was cancelled");
}

/** Hands a message out again; `force` where it may have arrived already. Throws `HostError`. */
export async function deliverAgain(
  host: Host,
  conversation: Conversation,
  eventId: string,
  again: { actorId: string; force: boolean },
): Promise<void> {
  await host.call("message_deliver", {
    group_id: conversation.groupId,
    source_event_id: eventId,
    actor_ids: [again.actorId],
    force_ambiguous: again.force,
  });
  announce(`It is delivered again to ${conversation.group.name(again.actorId)}`);
}
