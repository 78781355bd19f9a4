/** Where a figure of an editor with a daemon is taken. */
import type { Browser } from "playwright-core";
import type { DaemonClient } from "../../client/client.ts";
import { launchBrowser } from "../../test/browser/setting.ts";
import { Editor } from "../../test/editor/editor.ts";
import { DaemonProcess } from "../../test/support/daemon-process.ts";
import { pack } from "./packages.ts";

/** An editor with the extension as it is built, and a daemon that runs in its Home. */
export interface Place {
  browser: Browser;
  editor: Editor;
  daemon: DaemonProcess;
  /** The daemon's owner. */
  owner: DaemonClient;
}

/** Runs `work` in a place of its own, which ends with it. */
export async function inPlace<Result>(work: (place: Place) => Promise<Result>): Promise<Result> {
  pack();
  const browser = await launchBrowser({ whole: true });
  const editor = await Editor.open(browser, { universal: true });
  const daemon = await DaemonProcess.started({ home: editor.home });
  try {
    return await work({ browser, editor, daemon, owner: daemon.client() });
  } finally {
    await editor.close();
    await browser.close();
    await daemon.dispose();
  }
}

/** Adds the Actor "lead", which somebody else runs. Answers the path of its token. */
export async function addLead(owner: DaemonClient, groupId: string): Promise<string> {
  const added = { group_id: groupId, actor_id: "lead", runtime: "claude", runner: "external" } as const;
  return (await owner.result("actor_add", added)).token_file;
}
