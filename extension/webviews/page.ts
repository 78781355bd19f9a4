/**
 * The document of a webview. Its policy allows our own scripts, styles and fonts, and pictures made
 * from bytes that came through the extension host. It may connect to nothing.
 */
import { randomBytes } from "node:crypto";

/** How the editor serves a file of the extension to a webview. */
export interface PageSource {
  /** The origin of such files, as a policy names it. */
  cspSource: string;
  addressOf: (file: string) => string;
}

/** The page whose script and style are `name.js` and `name.css`. */
export function webviewPage({ cspSource, addressOf }: PageSource, name: string, title: string): string {
  const nonce = randomBytes(24).toString("base64url");
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src ${cspSource}`,
    `font-src ${cspSource}`,
    "img-src blob:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta http-equiv="Content-Security-Policy" content="${policy}" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>${title}</title>
    <link rel="stylesheet" href="${addressOf(`${name}.css`)}" />
    <script type="module" nonce="${nonce}" src="${addressOf(`${name}.js`)}"></script>
  </head>
  <body>
    <div id="root"></div>
  </body>
</html>
`;
}
