/** What tests of one Actor's Inbox do to it and ask of it. */

import type { ResultOf } from "../../shared/operations/registry.ts";
import { until } from "../support/until.ts";
import { type TestHome, textsOf } from "./setting.ts";

/**
 * `current` gives the Home of the moment and its Group with the Actors lead and dev; the Inbox is
 * dev's.
 */
export function inboxOfDev(current: () => { home: TestHome; group: string }) {
  const send = (text: string, to: string, messageMode: "mail" | "send") => {
    const { home, group } = current();
    return home.send(group, text, { to: [to], message_mode: messageMode });
  };
  const mail = (text: string, to = "dev") => send(text, to, "mail");
  const direct = (text: string, to = "dev") => send(text, to, "send");
  const deliveryOf = async (eventId: string, actorId = "dev") => {
    const { home, group } = current();
    return (await home.status(group, eventId)).delivery_status[actorId];
  };
  const presence = () => {
    const { home, group } = current();
    return home.messaging.presence(group, "dev");
  };
  const pending = () => presence().pending;
  /** A read that waits; its answer, and the way to cancel it. */
  const waiting = (session = "s1", waitSeconds = 25) => {
    const { home, group } = current();
    const abort = new AbortController();
    const said: string[] = [];
    const answer = home.call(
      "inbox_read",
      { group_id: group, wait_seconds: waitSeconds },
      { as: home.actor(group, "dev", session), signal: abort.signal, progress: (text) => said.push(text) },
    );
    return { answer, abort, said };
  };
  const isWaiting = () => until(() => presence().reason === "waits for messages");
  const texts = ({ messages }: ResultOf<"inbox_read">) => textsOf(messages.map(({ event }) => event));
  return { mail, direct, deliveryOf, pending, waiting, isWaiting, texts };
}
