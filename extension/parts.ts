import type { ExtensionContext } from "vscode";
import type { Claims } from "./daemon/claims.ts";
import type { Instance } from "./daemon/instance.ts";
import type { DaemonLink } from "./daemon/link.ts";
import type { GroupsTree } from "./views/groups-tree.ts";
import type { Webviews } from "./webviews/webviews.ts";

/** What commands, views and webviews of one window share. */
export interface Parts {
  context: ExtensionContext;
  link: DaemonLink;
  instance: Instance;
  /** What one of several windows does. */
  claims: Claims;
  groupsTree: GroupsTree;
  webviews: Webviews;
}
