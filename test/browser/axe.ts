/** What axe-core finds in a page. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Frame, Page } from "playwright-core";
import { atRest } from "./at-rest.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Violation {
  id: string;
  help: string;
  nodes: { target: unknown; failureSummary?: string }[];
}

/** The rules that depend on a theme's colours. */
export const COLOR_RULES = ["color-contrast", "link-in-text-block"];

/**
 * Rules of WCAG 2.2 A and AA and the best practices, or only those of `rules`, over the whole page
 * or frame at rest, or only over what `within` selects.
 */
export async function violations(
  page: Page | Frame,
  within = "html",
  rules?: readonly string[],
): Promise<string[]> {
  await atRest(page);
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(AXE);
  const options = rules === undefined ? {} : { runOnly: { type: "rule", values: rules } };
  const found = await page.evaluate(
    async ([selector, asked]) => {
      const { axe } = globalThis as unknown as {
        axe: { run(selector: string, options: object): Promise<{ violations: Violation[] }> };
      };
      const { violations } = await axe.run(selector, asked);
      // What scrolls inside a message is reached after Enter on the message, which can't be seen
      // here (reading.test.ts).
      for (const violation of violations)
        if (violation.id === "scrollable-region-focusable")
          violation.nodes = violation.nodes.filter(
            ({ target }) => document.querySelector(String(target))?.closest("svc-message[data-row]") === null,
          );
      return violations;
    },
    [within, options] as const,
  );
  return found.flatMap((violation) =>
    violation.nodes.map(
      (node) => `${violation.id}: ${JSON.stringify(node.target)} ${node.failureSummary ?? violation.help}`,
    ),
  );
}
