import { join } from "node:path";
import type { ExtensionContext } from "vscode";

/** Where a VSIX with a daemon has the program that starts it. */
export function bundledProgram(context: Pick<ExtensionContext, "extensionPath">): string {
  return join(context.extensionPath, "daemon", "dist", "svc.cjs");
}
