/** The filters of a search, and the way to a date. */
import { html } from "lit";
import { actorName } from "../../shared/actor-words.ts";
import type { MessageFilter } from "../../shared/address.ts";
import type { ActorWithPresence } from "../../shared/operations/actors.ts";
import { localDate } from "../controls/local-date.ts";
import { select } from "../controls/toolkit.ts";

/** While a year is being typed, its first digits are one before this. */
const EARLIEST = "2000-01-01";

interface SearchFilters {
  filter: MessageFilter;
  actors: readonly ActorWithPresence[];
  onFilter: (filter: MessageFilter) => void;
  /** Gets the beginning of that day here. */
  onDate: (day: Date) => void;
}

export function searchFilters({ filter, actors, onFilter, onDate }: SearchFilters) {
  const { actor } = filter;
  const known = actor === null || actor === "user" || actors.some(({ id }) => id === actor);
  const toggle = (name: "open" | "files", label: string) =>
    html`<button
      type="button"
      class="toggle"
      aria-pressed=${filter[name]}
      @click=${() => onFilter({ ...filter, [name]: !filter[name] })}
    >
      ${label}
    </button>`;
  return html`<div class="search-filters" role="group" aria-label="Filters">
    ${select({
      label: "From or to",
      hideLabel: true,
      value: actor ?? "",
      choices: [
        { value: "", label: "From or to anyone" },
        ...actors.map((one) => ({ value: one.id, label: actorName(one) })),
        { value: "user", label: "You" },
        // It may have been removed since.
        ...(known ? [] : [{ value: actor, label: actor }]),
      ],
      onChange: (value) => onFilter({ ...filter, actor: value === "" ? null : value }),
    })}
    ${select({
      label: "Mode",
      hideLabel: true,
      value: filter.mode ?? "",
      choices: [
        { value: "", label: "Any mode" },
        { value: "send", label: "Send" },
        { value: "request_reply", label: "Asks for a reply" },
        { value: "mail", label: "Mail" },
      ],
      onChange: (value) => onFilter({ ...filter, mode: value === "" ? null : value }),
    })}
    ${toggle("open", "Awaiting reply")}${toggle("files", "With files")}
    <label class="search-date"
      ><span>Go to</span
      ><input
        type="date"
        class="date-field"
        aria-label="Go to a date"
        min=${EARLIEST}
        max=${localDate(new Date())}
        @change=${(event: Event) => {
          const field = event.target as HTMLInputElement;
          if (field.value !== "" && field.validity.valid) onDate(new Date(`${field.value}T00:00`));
        }}
    /></label>
  </div>`;
}
