/** A person's way from the VSIX to the first agent that works, as a script does it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DaemonClient } from "../../client/client.ts";
import { launchBrowser } from "../../test/browser/setting.ts";
import { agentFolder } from "../../test/editor/agent-folder.ts";
import { Editor } from "../../test/editor/editor.ts";
import { absolute, type Measurement } from "../figure.ts";
import { pack } from "./packages.ts";

const WALK = "editor: from the VSIX to the first agent that works";

export const walk: Measurement = {
  figures: [WALK],
  needsBrowser: true,
  async run() {
    pack();
    const place = mkdtempSync(join(tmpdir(), "svc-walk-"));
    const browser = await launchBrowser({ whole: true });
    const begin = performance.now();
    const editor = await Editor.open(browser, { path: [agentFolder(join(place, "log"))] });
    try {
      const window = await editor.window(editor.workspace("shop"));
      await window.openSideBar();
      await window.button("Groups", "Start the daemon").click();
      await window.button("Groups", "Attach this folder").click();
      await window.row("Groups", "shop").waitFor();
      await window.inline("Groups", "shop", "Add an Actor");
      await window.choose("Claude");
      await window.enter("Its name in the conversation", "coder");
      await window.row("Groups", /coder.*idle/).waitFor();
      await window.inline("Groups", "coder", "Send a Message");
      await window.enter("Enter sends it", "Please use a TOOL");
      await window.row("Groups", /coder.*working/).waitFor();
      const value = (performance.now() - begin) / 1000;
      return [
        absolute({ name: WALK, unit: "s", value, against: "s", goal: 60, floor: 120, better: "lower" }),
      ];
    } finally {
      const owner = new DaemonClient(editor.home, null);
      await owner.result("daemon_stop", {}).catch(() => {});
      owner.close();
      await editor.close();
      await browser.close();
      rmSync(place, { recursive: true, force: true });
    }
  },
};
