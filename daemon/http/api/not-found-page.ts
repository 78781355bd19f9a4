/** What a person sees who opens an address at which there is nothing. Programs get an envelope. */
import type { IncomingMessage } from "node:http";
import { ERRORS } from "../../../shared/errors.ts";
import { API_PREFIX } from "../../../shared/names.ts";

/** A browser that opens a page says so. What scripts fetch isn't one, and nothing below the API. */
export function isPageWanted({ method, url, headers }: IncomingMessage): boolean {
  const isRead = method === "GET" || method === "HEAD";
  return isRead && !url?.startsWith(API_PREFIX) && (headers.accept ?? "").includes("text/html");
}

/** Without styles, which the page of a listener without the Workbench couldn't load. */
export function notFoundPage(hasWorkbench: boolean): string {
  const { sentence } = ERRORS.not_found;
  const where = hasWorkbench ? `<p><a href="/">Open the Workbench</a></p>\n` : "";
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Not found</title>
<main>
<h1>Not found</h1>
<p>${sentence}</p>
${where}</main>
</html>
`;
}
