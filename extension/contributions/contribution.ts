/**
 * What the tables of contributions consist of. The manifest is generated from them
 * (build/extension-manifest.ts), so that commands, menus and code can't drift.
 */

/** Context keys that `when` clauses may use. The extension sets each of them. */
export const CONTEXT = {
  /** `unknown`, `connecting`, `online` or `absent` (extension/daemon/link.ts). */
  connection: "svc.connection",
  /** The account has other instances, or doesn't say now whether it has. */
  hasInstances: "svc.hasInstances",
  /** An open folder has a Group. */
  hasFolderGroup: "svc.hasFolderGroup",
  /** A Group has an Actor. */
  hasActors: "svc.hasActors",
} as const;

export const ONLINE = `${CONTEXT.connection} == online`;

/** What the settings that turn one kind of notification off begin with. */
export const NOTIFY = "notify";
