/**
 * What the bundles need of the contracts without loading the schemas: run at build time by
 * esbuild.mjs.
 */
import { deriveTools } from "../mcp-server/derive.ts";
import { OPERATIONS } from "../shared/operations/registry.ts";

export { deriveTools };

/** Title and summary by operation, for the help of the command line. */
export function operationTexts(): Record<string, { title: string; summary: string }> {
  const texts: Record<string, { title: string; summary: string }> = {};
  for (const [name, { title, summary }] of OPERATIONS) texts[name] = { title, summary };
  return texts;
}
