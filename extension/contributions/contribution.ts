/**
 * What the tables of contributions consist of. The manifest is generated from them
 * (build/extension-manifest.ts), so that commands, menus and code can't drift.
 */

/** Context keys that `when` clauses may use. The extension sets each of them. */
export const CONTEXT = {
  /** `unknown`, `connecting`, `online` or `absent` (extension/daemon/link.ts). */
  connection: "svc.connection",
  /** The Home has at least one Group. */
  hasGroups: "svc.hasGroups",
  /** An open folder has a Group. */
  folderAttached: "svc.folderAttached",
  /** This VSIX brings a daemon, or `svc` was found. */
  canStart: "svc.canStart",
} as const;

export const ONLINE = `${CONTEXT.connection} == online`;
