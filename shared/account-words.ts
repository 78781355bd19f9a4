/** Words for the states of a link to an account, the same in every port. */

import type { ResultOf } from "./operations/registry.ts";
import { quoted } from "./voice.ts";

const STATES = {
  not_linked: "not linked",
  waiting: "waiting for the confirmation",
  linked: "linked",
  logged_out: "linked, but the account service no longer knows this instance",
  disabled: "linked, but retired in the account",
} satisfies Record<ResultOf<"account_show">["state"], string>;

export function accountStateWords(state: ResultOf<"account_show">["state"]): string {
  return STATES[state];
}

type Joined = ResultOf<"account_show">["joined"][number];

/** That an instance joined the account. Someone may have been tricked into letting it in. */
export function joinedSentence({ name, retired }: Pick<Joined, "name" | "retired">): string {
  const who = quoted(name);
  return retired ? `${who} joined your account and has been retired since.` : `${who} joined your account.`;
}

/** What helps when a change of the link was refused; null if the daemon's own sentence says it. */
export function remedyForLink({
  code,
  details,
}: {
  code: string;
  details: Record<string, unknown>;
}): string | null {
  if (code === "invalid_args" && details["field"] === "account_origin")
    return "This isn’t the address of an account service. Enter one such as https://account.example.org, without a path.";
  if (code === "conflict") return "It has been linked since you looked. You now see its current state.";
  return null;
}
