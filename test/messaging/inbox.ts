/** What tests of one Actor's Inbox do to it and ask of it. */

import type { ResultOf } from "../../shared/operations/registry.ts";
import { until } from "../support/until.ts";
import { type TestHome, textsOf } from "./setting.ts";

/**
 * `current` gives the Home of the moment and its Group with the Actors lead and dev; the Inbox is
 * dev's.
 */
export function inboxOfDev(current: () => { home: TestHome; group: string }) {
  const send = (text: string, to: string, message_mode: "mail" | "send") => {
    const { home, group } = current();
    return home.send(group, text, { to: [to], message_mode });
  };
  const mail = (text: string, to = "dev") => send(text, to, "mail");
  const direct = (text: string, to = "dev") => send(text, to, "send");
  const deliveryOf = async (event_id: string, actor_id = "dev") => {
    const { home, group } = current();
    return (await home.status(group, event_id)).delivery_status[actor_id];
  };
  const presence = () => {
    const { home, group } = current();
    return home.messaging.presence(group, "dev");
  };
  const pending = () => presence().pending;
  /** A read that waits; its answer, and the way to cancel it. */
  const waiting = (session = "s1", wait_seconds = 25) => {
    const { home, group } = current();
    const abort = new AbortController();
    const said: string[] = [];
    const answer = home.call(
      "inbox_read",
      { group_id: group, wait_seconds },
      { as: home.actor(group, "dev", session), signal: abort.signal, progress: (text) => said.push(text) },
    );
    return { answer, abort, said };
  };
  const isWaiting = () => until(() => presence().reason === "waits for messages");
  const texts = ({ messages }: ResultOf<"inbox_read">) => textsOf(messages.map(({ event }) => event));
  return { mail, direct, deliveryOf, pending, waiting, isWaiting, texts };
}
