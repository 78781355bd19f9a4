/** Everything in a ledger that isn't a message, as one calm sentence. */

import type { EventOf, LedgerEvent, UnknownEvent } from "../../shared/events.ts";
import { placeOf, remoteName } from "../../shared/message-parties.ts";
import { labelled, noticeWords, quoted } from "../../shared/voice.ts";
import type { IconName } from "../controls/icons.ts";

export interface EventWords {
  icon: IconName;
  text: string;
  /** The part of the text that leads to what it names. */
  leads?: string;
}

/** What is quoted of a notice or a reason. */
const WHY_CHARACTERS = 400;

/** Who withdrew it at another instance, by the names of that time; null for someone here. */
function withdrawnBy({ by, data: { connect_cancel: control } }: EventOf<"chat.reply_request.cancelled">) {
  if (!by.startsWith("connect:") || control === undefined) return null;
  const { id, title } = control.sender;
  const where = placeOf(control.source.title, undefined);
  return `${remoteName(id, { [id]: title })}${where === "" ? "" : ` of ${where}`}, outside,`;
}

/** `name` gives the shown name of an Actor id, `user` or `system`. */
export function eventWords(event: LedgerEvent, name: (id: string) => string): EventWords {
  const by = name(event.by);
  // It begins the sentence. An Actor's name is written as it is.
  const who = event.by === "user" ? by.charAt(0).toUpperCase() + by.slice(1) : by;
  // The rule can't name an unknown kind. The compiler checks below that nothing else is left.
  // oxlint-disable-next-line typescript/switch-exhaustiveness-check
  switch (event.kind) {
    case "group.create":
      return { icon: "organization", text: `${who} created the Group` };
    case "group.attach": {
      const { label, scope_key: scopeKey } = event.data;
      return { icon: "folder", text: `${who} attached ${label === "" ? scopeKey : quoted(label)}` };
    }
    case "group.update":
      return { icon: "settings-gear", text: `${who} changed the Group's settings` };
    case "group.reset":
      return { icon: "history", text: `${who} cleared the history` };
    case "group.continue": {
      const { missing_events: missing } = event.data;
      const what = missing === 1 ? "1 event" : `${missing} events`;
      return { icon: "warning", text: `${who} went on without at least ${what} that a damaged history lost` };
    }
    case "group.set_state": {
      const { state } = event.data;
      return {
        icon: "pulse",
        text: event.by === "system" ? `The Group is ${state}` : `${who} set the Group ${state}`,
      };
    }
    case "actor.add":
      return { icon: "person-add", text: `${who} added ${name(event.data.actor_id)}` };
    case "actor.update":
      return { icon: "edit", text: `${who} changed ${name(event.data.actor_id)}` };
    case "actor.remove":
      return { icon: "trash", text: `${who} removed ${name(event.data.actor_id)}` };
    case "actor.start": {
      const actor = name(event.data.actor_id);
      if (event.data.reason !== "new_conversation") return { icon: "play", text: `${actor} was enabled` };
      const why = event.data.detail ?? "";
      const text = `${actor} started a new conversation: its last one can't be continued because ${labelled(why)}`;
      return { icon: "info", text };
    }
    case "actor.stop": {
      const actor = name(event.data.actor_id);
      const { reason = "" } = event.data;
      if (reason === "requested")
        return { icon: "debug-stop", text: `${who} stopped ${actor === who ? "itself" : actor}` };
      return {
        icon: "debug-stop",
        text: `${actor} stopped${reason === "" ? "" : `: ${labelled(reason.replaceAll("_", " "))}`}`,
      };
    }
    case "actor.restart":
      return { icon: "debug-restart", text: `${name(event.data.actor_id)} was restarted with a new token` };
    case "actor.answer": {
      const { actor_id: actorId, tool_name: tool, decision, late } = event.data;
      const actor = name(actorId);
      const what = {
        allow: `${who} allowed ${actor} to use ${labelled(tool)} once`,
        deny: `${who} refused ${actor} the use of ${labelled(tool)}`,
        answer: `${who} answered a question of ${actor}`,
      }[decision];
      const text = late === true ? `${what}: too late, it was no longer open` : what;
      return { icon: decision === "deny" ? "circle-slash" : "check", text };
    }
    case "chat.reply_request.cancelled": {
      const names = event.data.recipients.map((id) => name(id));
      return {
        icon: "circle-slash",
        text: `${withdrawnBy(event) ?? who} cancelled the reply request${names.length === 0 ? "" : ` to ${names.join(", ")}`}`,
      };
    }
    case "system.notify": {
      const { target_actor_id: told, title, message } = event.data;
      // Its text addresses the Actor that it was written to.
      if (told !== null && told !== "" && told !== "user")
        return { icon: "info", text: `${name(told)} was reminded: ${noticeWords(title, WHY_CHARACTERS)}` };
      const words = [title, message].filter((part) => part !== "");
      return { icon: "info", text: words.map((part) => noticeWords(part, WHY_CHARACTERS)).join(": ") };
    }
    case "presentation.publish": {
      const { slot, title } = event.data;
      const leads = quoted(title);
      return { icon: "eye", text: `${who} showed ${leads} in slot ${slot}`, leads };
    }
    case "presentation.clear":
      return { icon: "eye", text: `${who} emptied slot ${event.data.slot}` };
    case "chat.cross_group_receipt":
      return { icon: "references", text: "A message to another Group was accepted" };
    case "chat.message":
    case "mail.read":
    case "mail.unread":
    case "runtime.delivery":
    case "runtime.delivery_request":
    case "actor.activity":
    case "actor.secrets":
      return inItsOwnWords(who, event.kind);
    default: {
      const { kind }: UnknownEvent = event;
      return inItsOwnWords(who, kind);
    }
  }
}

/** What no one is shown as a sentence, or what only a newer version knows. */
function inItsOwnWords(who: string, kind: LedgerEvent["kind"]): EventWords {
  return { icon: "info", text: `${who}: ${labelled(kind.replaceAll(/[._]/g, " "))}` };
}
