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
 * Runs `first` unless the message's key is recorded or in use. `found` turns the recorded event
 * into an answer; it has no ordinal while it waits in the outbox for a disk that failed. Throws
 * idempotency_conflict when the recorded or running content has another digest.
 */
export function once<Answer extends Answered>(
  chat: GroupChat,
  key: string,
  digest: string,
  first: () => Promise<Answer>,
  found: (event: MessageEvent, ordinal: number | undefined) => Answer | Promise<Answer>,
): Answer | Promise<Answer> {
  return onceFor(chat, { key, digest }, first, () => {
    const ordinal = chat.byKey(key);
    const event =
      ordinal === undefined ? chat.remote?.accepted(chat.group.group_id, key) : chat.message(ordinal);
    if (event === undefined) return undefined;
    return { digest: event.data.client_sha256, answer: () => found(event, ordinal) };
  });
}

/**
 * The same for any kind of event. `recorded` looks it up by its key: its digest, and the answer to
 * a retry.
 */
export function onceFor<Answer extends Answered>(
  chat: GroupChat,
  { key, digest }: { key: string; digest: string },
  first: () => Promise<Answer>,
  recorded: () => { digest: string | undefined; answer: () => Answer | Promise<Answer> } | undefined,
): Answer | Promise<Answer> {
  const running = chat.underWay.get(key);
  if (running !== undefined) {
    if (running.digest !== digest) throw new Refusal("idempotency_conflict");
    return (running.done as Promise<Answer>).then((answer) => ({ ...answer, duplicate: true }));
  }
  const earlier = recorded();
  let answer: Answer | Promise<Answer>;
  if (earlier === undefined) answer = first();
  else {
    if (earlier.digest !== digest) throw new Refusal("idempotency_conflict");
    answer = earlier.answer();
    if (!(answer instanceof Promise)) return answer;
  }
  const done = answer.finally(() => chat.underWay.delete(key));
  chat.underWay.set(key, { digest, done });
  return done;
}
