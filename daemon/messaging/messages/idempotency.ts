/**
 * The same key with the same content returns the first event, over the whole history. Different
 * content is refused.
 */
import { Refusal } from "../../../shared/errors.ts";
import type { MessageEvent } from "../../../shared/events.ts";
import type { GroupChat } from "../group-chat.ts";

interface Answered {
  duplicate: boolean;
}

/**
 * Runs `first` unless the key is recorded or in use. `found` turns the recorded event into an
 * answer; it has no ordinal while it waits in the outbox for a disk that failed. Throws
 * idempotency_conflict when the recorded or running content has another digest.
 */
export function once<Answer extends Answered>(
  chat: GroupChat,
  key: string,
  digest: string,
  first: () => Promise<Answer>,
  found: (event: MessageEvent, ordinal: number | undefined) => Answer | Promise<Answer>,
): Answer | Promise<Answer> {
  const running = chat.underWay.get(key);
  if (running !== undefined) {
    if (running.digest !== digest) throw new Refusal("idempotency_conflict");
    return (running.done as Promise<Answer>).then((answer) => ({ ...answer, duplicate: true }));
  }
  const ordinal = chat.byKey(key);
  const event =
    ordinal === undefined ? chat.remote?.accepted(chat.group.group_id, key) : chat.message(ordinal);
  let answer: Answer | Promise<Answer>;
  if (event === undefined) answer = first();
  else {
    if (event.data.client_sha256 !== digest) throw new Refusal("idempotency_conflict");
    answer = found(event, ordinal);
    if (!(answer instanceof Promise)) return answer;
  }
  const done = answer.finally(() => chat.underWay.delete(key));
  chat.underWay.set(key, { digest, done });
  return done;
}
