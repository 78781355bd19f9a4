/** Words for the states of a link to an account, the same in every port. */
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
