/** Everything in a ledger that isn't a message, as one calm sentence. */
import type { LedgerEvent } from "../../shared/events.ts";
import { shownText } from "../../shared/foreign-text.ts";
import { placeOf, remoteName } from "../../shared/message-parties.ts";
import type { IconName } from "../controls/icons.ts";

export interface EventWords {
  icon: IconName;
  text: string;
}

function field(event: LedgerEvent, ...names: string[]): string {
  for (const name of names) {
    const value = event.data[name];
    if (typeof value === "string" && value !== "") return value;
  }
  return "";
}

function list(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === "string") : [];
}

/** Who withdrew it at another instance, by the names of that time; null for someone here. */
function withdrawnBy({ by, data }: LedgerEvent): string | null {
  if (!by.startsWith("connect:")) return null;
  const control = data["connect_cancel"] as { sender?: ConnectEnd; source?: ConnectEnd } | undefined;
  const { id = "", title = "" } = control?.sender ?? {};
  const where = placeOf(control?.source?.title, undefined);
  return `${remoteName(id, { [id]: title })}${where === "" ? "" : ` of ${where}`}`;
}

interface ConnectEnd {
  id?: string;
  title?: string;
}

/** `name` gives the shown name of an Actor id, `user` or `system`. */
export function eventWords(event: LedgerEvent, name: (id: string) => string): EventWords {
  const actor = name(field(event, "actor_id", "id") || event.by);
  const by = name(event.by);
  // It begins the sentence. An Actor's name is written as it is.
  const who = event.by === "user" ? by.charAt(0).toUpperCase() + by.slice(1) : by;
  switch (event.kind) {
    case "group.create":
      return { icon: "organization", text: `${who} created the Group` };
    case "group.attach":
      return {
        icon: "folder",
        text: `${who} attached ${field(event, "path", "label", "scope_key") || "a folder"}`,
      };
    case "group.update":
      return { icon: "settings-gear", text: `${who} changed the Group's settings` };
    case "group.reset":
      return { icon: "history", text: `${who} cleared the history` };
    case "group.import":
      return { icon: "archive", text: `${who} imported the Group` };
    case "group.set_state":
    case "group.start":
    case "group.stop": {
      const state = field(event, "state", "to");
      if (event.by === "system") return { icon: "pulse", text: `The Group is ${state || "changed"}` };
      return { icon: "pulse", text: `${who} set the Group ${state || event.kind.slice(6)}` };
    }
    case "actor.add":
      return { icon: "person-add", text: `${who} added ${actor}` };
    case "actor.update":
      return { icon: "edit", text: `${who} changed ${actor}` };
    case "actor.remove":
      return { icon: "trash", text: `${who} removed ${actor}` };
    case "actor.start":
      if (field(event, "reason") === "new_conversation") {
        const why = shownText(field(event, "detail"));
        const text = `${actor} started a new conversation: its last one can't be continued because ${why}`;
        return { icon: "info", text };
      }
      return { icon: "play", text: `${actor} was enabled` };
    case "actor.stop": {
      const reason = field(event, "reason");
      if (reason === "requested")
        return { icon: "debug-stop", text: `${who} stopped ${actor === who ? "itself" : actor}` };
      return {
        icon: "debug-stop",
        text: `${actor} stopped${reason === "" ? "" : `: ${reason.replaceAll("_", " ")}`}`,
      };
    }
    case "actor.restart":
      return { icon: "debug-restart", text: `${actor} was restarted with a new token` };
    case "chat.reply_request.cancelled": {
      const names = list(event.data["recipients"]).map(name);
      const by = withdrawnBy(event) ?? who;
      return {
        icon: "circle-slash",
        text: `${by} cancelled the reply request${names.length === 0 ? "" : ` to ${names.join(", ")}`}`,
      };
    }
    case "system.notify": {
      const told = field(event, "target_actor_id");
      const title = field(event, "title");
      // Its text addresses the Actor that it was written to.
      if (told !== "" && told !== "user")
        return { icon: "info", text: `${name(told)} was reminded: ${shownText(title)}` };
      const words = [title, field(event, "message")].filter((part) => part !== "").join(": ");
      return { icon: "info", text: shownText(words) };
    }
    case "chat.cross_group_receipt":
      return { icon: "references", text: "A message to another Group was accepted" };
    default:
      return { icon: "info", text: `${who}: ${event.kind.replaceAll(/[._]/g, " ")}` };
  }
}
