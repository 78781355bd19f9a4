/** Six words that two people compare, each with its number so that they can be read aloud. */
import { sha256 } from "@noble/hashes/sha2.js";
import { html, type TemplateResult } from "lit";
import { type InvitationClaims, invitationWords, relationWords } from "../../shared/direct-invitation.ts";
import type { DirectRelation } from "../../shared/operations/direct.ts";

function list(words: readonly string[]): TemplateResult {
  return html`<ol class="fingerprint" aria-label="Words to compare">
    ${words.map((word) => html`<li>${word}</li>`)}
  </ol>`;
}

/** Null until the other side has joined the connection. */
export function relationFingerprint(relation: DirectRelation): TemplateResult | null {
  const words = relationWords(sha256, relation);
  return words === null ? null : list(words);
}

/** The words that both sides will see when the instance `joiner` accepts the invitation. */
export function invitationFingerprint(claims: InvitationClaims, joiner: string): TemplateResult {
  return list(invitationWords(sha256, claims, joiner));
}
