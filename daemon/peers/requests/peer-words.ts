/**
 * A peer's words as shown to people here: marked as its own words, short, without characters that
 * hide text or change its direction.
 */

import { LIMITS } from "../../../shared/limits.ts";
import { labelled, quoted } from "../../../shared/voice.ts";
import type { Grant } from "../authority.ts";

const { saidCharacters, saidNameCharacters } = LIMITS.connect;

/** A sentence that quotes the peer. It can't end the quotation from inside. */
export function said({ remote, pair }: Pick<Grant, "remote" | "pair">, words: string): string {
  const name = remote.name ?? pair?.remote_title ?? "";
  return `${name.trim() === "" ? "The other instance" : labelled(name, saidNameCharacters)} said: ${quoted(words, saidCharacters)}`;
}
