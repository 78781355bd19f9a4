/** From the daemon's answer to `send` until the message is in an open Workbench tab. */
import type { Frame } from "playwright-core";
import { absolute, type Measurement } from "../figure.ts";
import { addLead, inPlace } from "./place.ts";

const MIDDLE = "editor: message accepted to shown in a tab, p50";
const SLOW = "editor: message accepted to shown in a tab, p95";

/** Notes in the page when each numbered message first appears. */
async function watch(workbench: Frame): Promise<void> {
  await workbench.evaluate(() => {
    const shown: Record<string, number> = {};
    Object.assign(globalThis, { shown });
    new MutationObserver(() => {
      for (const row of document.querySelectorAll("svc-message")) {
        const found = /timed (\d+)\./.exec(row.textContent ?? "")?.[1];
        if (found !== undefined) shown[found] ??= Date.now();
      }
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
}

async function times(workbench: Frame, say: (text: string) => Promise<unknown>, count: number) {
  await watch(workbench);
  const accepted: number[] = [];
  for (let number = 0; number < count; number += 1) {
    await say(`timed ${number}.`);
    accepted.push(Date.now());
    await workbench.locator("svc-message", { hasText: `timed ${number}.` }).waitFor();
  }
  const shown = await workbench.evaluate(
    () => (globalThis as unknown as { shown: Record<string, number> }).shown,
  );
  // Seen before its answer is no time at all.
  return accepted.map((at, number) => Math.max(0, shown[number]! - at)).sort((a, b) => a - b);
}

export const shown: Measurement = {
  figures: [MIDDLE, SLOW],
  needsBrowser: true,
  run: ({ short }) =>
    inPlace(async ({ editor, daemon, owner }) => {
      const { group_id: groupId } = await owner.result("attach", { path: editor.workspace("shop") });
      const lead = daemon.actorClient(await addLead(owner, groupId));
      const window = await editor.window(editor.workspace("shop"));
      await window.openSideBar();
      await window.row("Groups", "lead").waitFor();
      await window.command("svc: Open the Workbench");
      const workbench = await window.documentWith("svc-workbench svc-composer textarea");
      const say = (text: string) => lead.result("send", { group_id: groupId, text, to: ["user"] });
      const took = await times(workbench, say, short ? 20 : 200);
      const at = (share: number) => took[Math.floor(took.length * share)]!;
      const figure = (name: string, value: number, goal: number, floor: number) =>
        absolute({ name, unit: "ms", value, against: "ms", goal, floor, better: "lower" });
      return [figure(MIDDLE, at(0.5), 30, 80), figure(SLOW, at(0.95), 80, 200)];
    }),
};
