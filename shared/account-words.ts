/** Words for the states of a link to an account, the same in every port. */
import { shownName } from "./foreign-text.ts";
import type { ResultOf } from "./operations/registry.ts";

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
  const who = shownName(name);
  return retired ? `${who} joined your account and has been retired since.` : `${who} joined your account.`;
}
