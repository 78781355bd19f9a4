/**
 * A peer's words as shown to people here: marked as its own words, short, without characters that
 * hide text or change its direction.
 */
import { shownName } from "../../../shared/foreign-text.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { Grant } from "../authority.ts";

const { saidCharacters, saidNameCharacters } = LIMITS.connect;

/** A sentence that quotes the peer. It can't end the quotation from inside. */
export function said({ remote, pair }: Pick<Grant, "remote" | "pair">, words: string): string {
  const name = shown(remote.name ?? pair?.remote_title ?? "", saidNameCharacters);
  return `${name === "" ? "The other instance" : name} said: “${shown(words, saidCharacters)}”`;
}

function shown(text: string, characters: number): string {
  const whole = Array.from(
    shownName(text)
      .trim()
      .replaceAll(/["\u201c-\u201f\u2033]/gu, "'"),
  );
  return whole.length <= characters ? whole.join("") : `${whole.slice(0, characters - 1).join("")}…`;
}
