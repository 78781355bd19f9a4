/** Options that several commands share. */
import { LIMITS } from "../../shared/limits.ts";
import type { Option } from "../command.ts";

export const GROUP: Option = {
  name: "group",
  short: "g",
  value: "GROUP",
  text: "The Group's id; else SVC_GROUP_ID, the one bound to this directory, or the only one",
};
export const LIMIT: Option = {
  name: "limit",
  value: "N",
  integer: [1, LIMITS.page.max],
  text: `At most N (1-${LIMITS.page.max}, else ${LIMITS.page.default})`,
};
export const CONFIRM: Option = {
  name: "confirm",
  value: "GROUP",
  text: "The Group's id once more: this destroys data",
};
export const TITLE: Option = { name: "title", value: "TITLE", text: "Its title" };
