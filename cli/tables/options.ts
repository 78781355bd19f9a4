/** Options that several commands share. */
import { LIMITS } from "../../shared/limits.ts";
import type { Option } from "../command.ts";

export const GROUP: Option = {
  name: "group",
  short: "g",
  value: "GROUP",
  text: "The Group's id or title (default: SVC_GROUP_ID, then the one bound to this directory, then the only one)",
};
export const LIMIT: Option = {
  name: "limit",
  value: "N",
  integer: [1, LIMITS.page.max],
  text: `At most N (1-${LIMITS.page.max}, default: ${LIMITS.page.default})`,
};
export const CONFIRM: Option = {
  name: "confirm",
  value: "GROUP",
  text: "The Group's id or title again, because this destroys data",
};
export const YES: Option = { name: "yes", text: "Don't ask" };
export const TITLE: Option = { name: "title", value: "TITLE", text: "Its title" };

/** Taken by every command. */
export const GLOBAL_OPTIONS: readonly Option[] = [
  { name: "home", value: "DIR", text: "The Home (default: SVC_HOME, then ~/.svc)" },
  { name: "json", text: "Print the operation's envelope as one JSON document" },
];

/** What the command groups are for. */
export const GROUPS: Readonly<Record<string, string>> = {
  daemon: "The background process that owns the Home",
  group: "Groups: conversations of agents and people",
  actor: "Actors: the agents of a Group",
  runtime: "The agents that svc can run",
  presentation: "What is shown beside the conversation, in four slots a Group",
  home: "Needed files of the Home",
  ledger: "Maintain a Group's ledger",
  direct: "Direct connections to Groups of other instances",
  token: "Access tokens for browsers and scripts",
  origin: "The address where others reach this instance",
  exhibit: "The read-only listener for named Groups",
};
