/** What every page has: the frame, its forms, and how it says times. */
import { shownName } from "../../shared/foreign-text.ts";
import type { Browser } from "../members/sessions.ts";
import { Html, html } from "./html.ts";

/** A whole page. */
export function page(title: string, browser: Browser | null, body: Html): string {
  const session = browser?.session ?? null;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Svc account</title>
<link rel="icon" href="/icon.svg">
<link rel="stylesheet" href="/style.css">
<script src="/passkeys.js" defer></script>
</head>
<body>
<header>
<a href="/">Svc account</a>
${session !== null && html`<div><span class="quiet">Signed in as <bdi>${shownName(session.member.name)}</bdi></span> ${form(browser!, "/logout", html`<button>Sign out</button>`, "inline")}</div>`}
</header>
<main>
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`.text;
}

/** A form that changes something. Its token proves that it comes from one of these pages. */
export function form(browser: Browser, action: string, body: Html, style = ""): Html {
  return html`<form method="post" action="${action}" class="${style}"><input type="hidden" name="csrf" value="${browser.csrf}">${body}</form>`;
}

/**
 * A form that brings a passkey: one that the browser makes, or one that it uses. `options` is JSON
 * for the browser.
 */
export function passkeyForm(
  browser: Browser,
  action: string,
  { kind, options }: { kind: "create" | "use"; options: string },
  body: Html,
): Html {
  return html`<form method="post" action="${action}" data-passkey="${kind}" data-options="${options}"><input type="hidden" name="csrf" value="${browser.csrf}"><input type="hidden" name="passkey" value=""><noscript><p class="notice">A passkey needs JavaScript.</p></noscript><p class="notice" role="alert"></p>${body}</form>`;
}

/** A hidden field. */
export function hidden(name: string, value: string): Html {
  return html`<input type="hidden" name="${name}" value="${value}">`;
}

/** How long ago something was, as one says it. */
export function ago(at: number, now: number): string {
  const seconds = Math.max(0, Math.round((now - at) / 1000));
  if (seconds < 60) return count(seconds, "second");
  if (seconds < 3600) return count(Math.floor(seconds / 60), "minute");
  if (seconds < 48 * 3600) return count(Math.floor(seconds / 3600), "hour");
  return count(Math.floor(seconds / (24 * 3600)), "day");
}

function count(number: number, unit: string): string {
  return `${number} ${unit}${number === 1 ? "" : "s"} ago`;
}

/** An instant for the table of events. */
export function moment(at: number): Html {
  const text = new Date(at).toISOString();
  return html`<time datetime="${text}">${text.slice(0, 16).replace("T", " ")} UTC</time>`;
}
