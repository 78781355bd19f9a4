/** What a person sees who opens an address that has nothing for them. Programs get an envelope. */
import type { IncomingMessage } from "node:http";
import { API_PREFIX } from "../../../shared/names.ts";

/** A browser that opens a page says so. What scripts fetch isn't one, and nothing below the API. */
export function isPageWanted({ url, headers }: IncomingMessage): boolean {
  return !url?.startsWith(API_PREFIX) && (headers.accept ?? "").includes("text/html");
}

/** Without styles, which the page of a listener without the Workbench couldn't load. */
export function plainPage(
  title: string,
  sentence: string,
  link: { href: string; text: string } | null,
): string {
  const where = link === null ? "" : `<p><a href="${link.href}">${link.text}</a></p>\n`;
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<main>
<h1>${title}</h1>
<p>${sentence}</p>
${where}</main>
</html>
`;
}
