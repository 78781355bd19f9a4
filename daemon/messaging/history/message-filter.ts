/** Filters of `ledger_search`: messages with or from someone, of a mode, with files, unanswered. */
import { Refusal } from "../../../shared/errors.ts";
import type { LedgerEvent } from "../../../shared/events.ts";
import type { InputOf } from "../../../shared/operations/registry.ts";
import type { SearchRequest } from "../../ledger/types.ts";
import type { GroupChat } from "../group-chat.ts";

type Asked = Pick<InputOf<"ledger_search">, "query" | "actor" | "message_mode" | "files" | "open">;

/**
 * What the ledger needs to know of the filter; nothing without one. Throws invalid_args when
 * neither words nor a filter are given.
 */
export function filterOf(
  asked: Asked,
  { projection }: GroupChat,
): Pick<SearchRequest, "accepts" | "among"> | undefined {
  const { query, actor, message_mode: mode, files, open } = asked;
  if (actor === undefined && mode === undefined && !files && !open) {
    if (query !== "") return undefined;
    throw new Refusal("invalid_args", {
      specifics: "Neither 'query' nor a filter is given.",
      details: { field: "query" },
    });
  }
  return {
    accepts: (event: LedgerEvent): boolean => {
      if (event.kind !== "chat.message") return false;
      const { by, data } = event;
      if (actor !== undefined && by !== actor && !data.to.includes(actor)) return false;
      if (mode !== undefined && data.message_mode !== mode) return false;
      return !files || data.attachments.length > 0;
    },
    ...(open ? { among: [...projection.obligations.all()].map(({ ordinal }) => ordinal) } : {}),
  };
}
