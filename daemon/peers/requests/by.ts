/**
 * `by` of an operation: a caller may name itself, but no one else
 * (docs/core-model.md#identity-of-a-caller).
 */
import { Refusal } from "../../../shared/errors.ts";
import type { Caller } from "../../../shared/operations/caller.ts";
import type { GroupChat } from "../../messaging/group-chat.ts";
import type { Author } from "../../messaging/messages/message-event.ts";

/**
 * Who is writing. Throws permission_denied for another name, invalid_launch_token for an Actor that
 * was replaced (MSG-042).
 */
export function checkBy(chat: GroupChat, caller: Caller, by: string | undefined): Author {
  const author = chat.author(caller);
  if (by !== undefined && by !== author.by) {
    throw new Refusal("permission_denied", {
      specifics: "'by' names someone other than the credential's owner.",
    });
  }
  return author;
}
