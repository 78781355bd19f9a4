/**
 * The derived tools. The build inserts them into the stdio server (build/contracts.ts), which
 * therefore loads no schemas.
 */
import type { DerivedTool } from "./derive.ts";

declare const SVC_MCP_TOOLS: readonly DerivedTool[];

export function builtTools(): readonly DerivedTool[] {
  return SVC_MCP_TOOLS;
}
