/** Which browser, and on what, for the list of access tokens. Pure. */

/** The first that matches: later ones are in the headers of earlier ones too. */
const BROWSERS: readonly (readonly [mark: RegExp, name: string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\b(?:Firefox|FxiOS)\//, "Firefox"],
  [/(?:Chrome|Chromium|CriOS)\//, "Chrome"],
  [/\bSafari\//, "Safari"],
];
const SYSTEMS: readonly (readonly [mark: RegExp, name: string])[] = [
  [/\biPhone\b/, "iPhone"],
  [/\biPad\b/, "iPad"],
  [/\bAndroid\b/, "Android"],
  [/\bCrOS\b/, "ChromeOS"],
  [/\bWindows\b/, "Windows"],
  [/\bMac OS X\b/, "macOS"],
  [/\bLinux\b/, "Linux"],
];

/**
 * "Firefox on Windows"; "Browser" if the User-Agent header says nothing known. It only helps people
 * recognise their own: anyone can send any header.
 */
export function browserName(userAgent: string | undefined): string {
  const first = (list: typeof BROWSERS) => list.find(([mark]) => mark.test(userAgent ?? ""))?.[1];
  const system = first(SYSTEMS);
  return `${first(BROWSERS) ?? "Browser"}${system === undefined ? "" : ` on ${system}`}`;
}
