/** Operations on Groups, Actors and access tokens. */
import type { ActorWithPresence } from "../../shared/operations/actors.ts";
import type { HandlersOf } from "../../shared/operations/handlers.ts";
import type { Clock } from "../platform/clock.ts";
import type { ProjectFiles } from "../platform/project-files.ts";
import type { AccessTokens } from "./access-tokens.ts";
import type { LaunchTokens } from "./launch-tokens.ts";
import type { GroupRegistry } from "./registry.ts";

type GroupOperation =
  | "group_list"
  | "group_show"
  | "group_create"
  | "group_update"
  | "group_set_state"
  | "group_start"
  | "group_stop"
  | "attach"
  | "group_reset"
  | "group_delete"
  | "actor_list"
  | "actor_show"
  | "actor_add"
  | "actor_update"
  | "actor_remove"
  | "actor_start"
  | "actor_stop"
  | "actor_restart"
  | "actor_secrets"
  | "actor_mcp_config"
  | "access_token_create"
  | "access_token_list"
  | "access_token_revoke";

export interface GroupCounts {
  unread: number;
  attention: number;
  last_event: { id: string; ts: string } | null;
}

export interface GroupHandlerDependencies {
  clock: Clock;
  projects: ProjectFiles;
  registry: GroupRegistry;
  launchTokens: LaunchTokens;
  accessTokens: AccessTokens;
  /** Counted by the messaging room. */
  counts(group_id: string): GroupCounts;
  presence(group_id: string, actor_id: string): ActorWithPresence["presence"];
}

export function groupHandlers(_deps: GroupHandlerDependencies): HandlersOf<GroupOperation> {
  throw new Error("not yet");
}
