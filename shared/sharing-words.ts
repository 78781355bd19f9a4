/** What a Group's connections to other accounts say to people where they are listed. Pure. */
import { shownName } from "./foreign-text.ts";
import type { ResultOf } from "./operations/registry.ts";

type Sharing = ResultOf<"connect_group_status">;

/**
 * What is known of a Group's connections to other accounts. Only a confirmed empty list means that
 * there are none (EXT-017).
 */
export function sharingSentence(sharing: Sharing | null, now: number): string {
  if (sharing === null) return "";
  switch (confirmedOf(sharing, now)) {
    case "not_linked":
      return "This instance isn’t linked to an account. Connecting with another account needs one on both sides.";
    case "syncing":
      return "svc is asking the account service for the connections.";
    case "unavailable":
      return `The account service hasn’t confirmed the connections lately, so they can’t be used now, and there may be others.${sharing.error_message === null ? "" : ` ${shownName(sharing.error_message)}`}`;
    case "ready":
      return sharing.links.length === 0
        ? "No connections to other accounts."
        : `${sharing.links.length === 1 ? "1 connection" : `${sharing.links.length} connections`} to other accounts, confirmed by the account service.`;
  }
}

/** An answer outlives its confirmation where it is shown for a while. */
function confirmedOf({ status, expires_at: expiresAt }: Sharing, now: number): Sharing["status"] {
  return status === "ready" && (expiresAt === null || Date.parse(expiresAt) <= now) ? "unavailable" : status;
}

/** What ending a connection to another account does. */
export const EXTERNAL_ENDING =
  "Either member can end it, on the account’s page. Nothing more is delivered within two minutes, and what arrived stays.";
