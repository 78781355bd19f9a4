/** What a screen reader says of a message before it reads it. */

import type { MessageEvent as Message } from "../../shared/events.ts";
import { shownText } from "../../shared/foreign-text.ts";
import { addressOf, partiesOf } from "../../shared/message-parties.ts";
import { flatten } from "./excerpt.ts";

export function messageLabel(message: Message, name: (id: string) => string): string {
  const parties = partiesOf(message, name);
  const place = [parties.mark, parties.from].filter((part) => part !== null).join(": ");
  const from = place === "" ? "" : ` from ${place}`;
  const text = flatten(shownText(message.data.text.slice(0, 480))).slice(0, 120);
  return `${parties.sender}${from} to ${addressOf(parties) || "the Group"}: ${text}`;
}
