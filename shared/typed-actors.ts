/** Into whose terminal messages are typed, and who is left out where everybody is meant. Pure: the record decides, nothing else. */
import type { Runtime, StoredActor } from "./model.ts";

type Asked = Partial<Pick<StoredActor, "runner" | "runtime" | "prompts">>;

/** Nothing is known of their screens, so nothing is typed into them unless their owner says that they read prompts. */
const UNKNOWN_SCREENS: ReadonlySet<Runtime> = new Set<Runtime>(["cursor", "custom"]);

/** Its owner may say that it reads prompts, and only then is anything typed into it. */
export function needsMark({ runner, runtime }: Asked): boolean {
  return runner === "pty" && runtime !== undefined && UNKNOWN_SCREENS.has(runtime);
}

/** Nothing is typed into it: its messages wait in its Inbox until it reads them itself. */
export function isInboxOnly(actor: Asked): boolean {
  return needsMark(actor) && actor.prompts !== true;
}

/** Its command may be anything, a shell even: nobody said that it reads prompts. Only who names it in its own Group reaches its Inbox. */
export function isOnlyNamed(actor: Asked): boolean {
  return actor.runtime === "custom" && isInboxOnly(actor);
}
