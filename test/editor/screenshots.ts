/**
 * Part of `npm run screenshots`: the pictures in extension/media, of the real extension in a real
 * editor, with the conversation of the Workbench's pictures. Needs the VSIX without a daemon
 * (`npm run package:vsix -- --only-universal`).
 */

import { join } from "node:path";
import { atRest, takePicture } from "../browser/at-rest.ts";
import { converse } from "../browser/conversation.ts";
import { launchBrowser, Setting } from "../browser/setting.ts";
import { Editor } from "./editor.ts";

const IMAGES = join(import.meta.dirname, "../../extension/media");

const browser = await launchBrowser({ whole: true });
const editor = await Editor.open(browser, {
  universal: true,
  settings: { "workbench.secondarySideBar.defaultVisibility": "hidden" },
});
try {
  const setting = await Setting.open(browser, { home: editor.home });
  try {
    const project = editor.workspace("api-server", {
      "src/login.ts":
        "export async function login(user: User): Promise<Session> {\n  return begin(user);\n}\n",
    });
    await converse(setting, project);
    for (const theme of ["dark", "light"] as const) {
      const window = await editor.window(project, { theme });
      const { page } = window;
      await window.openSideBar();
      await window.row("Groups", "reviewer").waitFor();
      await window.inline("Groups", "api-server", "Open the Workbench");
      const workbench = await window.documentWith("svc-workbench svc-message .state");
      await page.locator(".statusbar").hover();
      await atRest(workbench);
      await takePicture(page, join(IMAGES, `editor-${theme}.png`));
      console.log(`editor-${theme}.png`);
      await page.context().close();
    }
  } finally {
    await setting.close();
  }
} finally {
  await editor.close();
  await browser.close();
}
