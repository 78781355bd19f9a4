/**
 * Script in texts, names, titles and file names stays text: nothing runs, nothing is fetched,
 * nothing violates the policy.
 */
import assert from "node:assert/strict";

import { openGroup, type Setting, useSetting } from "./setting.ts";

const PAYLOADS = [
  `<script>globalThis.pwned = 1</script>`,
  `<img src=x onerror="globalThis.pwned = 1">`,
  `<svg onload="globalThis.pwned = 1"><animate onbegin="globalThis.pwned = 1" attributeName=x dur=1s></svg>`,
  `<iframe srcdoc="<script>parent.pwned = 1</script>"></iframe>`,
  `<math><mtext></form><form><mglyph><style></math><img src onerror="globalThis.pwned = 1">`,
  `<a href="javascript:globalThis.pwned = 1">press</a>`,
  `[press](javascript:globalThis.pwned=1) [press](JaVaScRiPt:globalThis.pwned=1) [press](&#106;avascript:globalThis.pwned=1)`,
  `[press](data:text/html,<script>opener.pwned=1</script>) [press](vbscript:x) [press](file:///etc/passwd)`,
  `![picture](https://tracker.example/pixel.png) ![x](x"onerror="globalThis.pwned=1)`,
  `<https://ok.example/"onclick="globalThis.pwned=1>`,
  '```js"onclick="globalThis.pwned=1\n</code></pre><img src=x onerror=globalThis.pwned=1>\n```',
  "`<img src=x onerror=globalThis.pwned=1>`",
  `<details open ontoggle="globalThis.pwned=1">`,
  `<style>@import "https://tracker.example/x.css"; * { background: url(https://tracker.example/y) }</style>`,
  `<base href="https://tracker.example/"><meta http-equiv="refresh" content="0;url=https://tracker.example/">`,
  `<form action="https://tracker.example/"><input name=q><button>go</button></form>`,
  `| a | b |\n|---|:--|\n| <img src=x onerror=globalThis.pwned=1> | <b onmouseover=globalThis.pwned=1>x</b> |`,
  `{{constructor.constructor('globalThis.pwned=1')()}} \${globalThis.pwned=1}`,
  `<div id="root"><button id="completion">x</button></div><img name="getElementById">`,
  `<noscript><p title="</noscript><img src=x onerror=globalThis.pwned=1>">`,
];

describe("Workbench: hostile input", () => {
  let setting: Setting;

  useSetting((opened) => {
    setting = opened;
  });

  it("shows script in Markdown, names, titles and file names as text", async () => {
    const evil = `<img src=x onerror="globalThis.pwned=1">`;
    const { groupId, actors } = await setting.group(evil);
    const { owner } = setting;
    await owner.result("group_update", { group_id: groupId, topic: evil });
    await owner.result("actor_update", { group_id: groupId, actor_id: "lead", title: evil });
    for (const text of PAYLOADS) {
      await actors["lead"]!.result("send", { group_id: groupId, text, to: ["user"], message_mode: "send" });
    }
    await actors["lead"]!.result("send", {
      group_id: groupId,
      text: PAYLOADS.join("\n\n"),
      insight: evil,
      quote_text: evil,
      to: ["user"],
      message_mode: "send",
    });
    const { page } = await setting.window();
    const requests: string[] = [];
    page.on("request", (request) => requests.push(request.url()));
    await openGroup(page, "<img src=x onerror=");
    await page.locator("svc-message").nth(PAYLOADS.length).waitFor();
    await page.locator("input[type=file]").setInputFiles([
      {
        name: `${evil.replaceAll("/", "")}.png`,
        mimeType: "image/svg+xml",
        buffer: Buffer.from(
          `<svg xmlns="http://www.w3.org/2000/svg" onload="parent.pwned=1"><script>parent.pwned=1</script></svg>`,
        ),
      },
    ]);
    await page.locator(".upload").waitFor();
    await page.locator(".upload progress").waitFor({ state: "detached" });
    await page.locator(".compose-text").fill(evil);
    await page.keyboard.press("Control+Enter");
    await page.locator("svc-message .file").waitFor();
    for (const link of await page.locator(".markdown a").all()) {
      assert.match((await link.getAttribute("href")) ?? "https:", /^(?:https?|mailto):/);
    }
    for (const row of await page.locator("svc-message").all()) await row.hover();
    const inside = await page.evaluate(() => ({
      pwned: (globalThis as { pwned?: number }).pwned,
      foreign: document.querySelectorAll(
        ".markdown :is(script, img, svg, iframe, style, form, input, base, meta, object, embed, math, details), .markdown [onclick], .markdown [onerror], .markdown [style], .markdown [id]",
      ).length,
    }));
    assert.deepEqual(inside, { pwned: undefined, foreign: 0 });
    const origin = await setting.origin();
    assert.deepEqual(
      requests.filter(
        (url) => !url.startsWith(origin) && !url.startsWith("blob:") && !url.startsWith("data:"),
      ),
      [],
    );
  });
});
