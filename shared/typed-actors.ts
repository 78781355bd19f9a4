/**
 * Which terminals messages are typed into, and who is left out of @all. Pure: it depends only on
 * the record.
 */
import type { Runtime, StoredActor } from "./model.ts";

type Asked = Partial<Pick<StoredActor, "runner" | "runtime" | "prompts">>;

/**
 * svc knows nothing about their screens, so nothing is typed into them unless their owner says that
 * they read prompts.
 */
const UNKNOWN_SCREENS: ReadonlySet<Runtime> = new Set<Runtime>(["cursor", "custom"]);

/** Its owner may say that it reads prompts. Only then is anything typed into it. */
export function needsMark({ runner, runtime }: Asked): boolean {
  return runner === "pty" && runtime !== undefined && UNKNOWN_SCREENS.has(runtime);
}

/** Nothing is typed into it. Its messages wait in its Inbox until it reads them itself. */
export function isInboxOnly(actor: Asked): boolean {
  return needsMark(actor) && actor.prompts !== true;
}

/**
 * Its command may be anything, even a shell, and no one has said that it reads prompts. Only
 * messages that name it in its own Group reach its Inbox.
 */
export function isOnlyNamed(actor: Asked): boolean {
  return actor.runtime === "custom" && isInboxOnly(actor);
}
