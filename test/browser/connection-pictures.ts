/**
 * The pictures of two instances that connect and write to each other: their own Homes and
 * conversation, in the same browser.
 */

import type { Browser, Page } from "playwright-core";
import { freePort } from "../../demo/free-port.ts";
import { textOf } from "../support/events.ts";
import { until } from "../support/until.ts";
import { openConnections } from "./connections-dialog.ts";
import { Setting, type WindowOptions } from "./setting.ts";

const PATIENCE_MS = 60_000;

interface Side {
  setting: Setting;
  group_id: string;
  instance_id: string;
  actors: Awaited<ReturnType<Setting["group"]>>["actors"];
}

async function side(browser: Browser, title: string, actors: readonly string[]): Promise<Side> {
  const setting = await Setting.open(browser);
  const { groupId, actors: clients } = await setting.group(title, actors);
  const { instance_id: instanceId } = await setting.owner.result("daemon_status", {});
  return { setting, group_id: groupId, instance_id: instanceId, actors: clients };
}

function relationAt({ setting, group_id: groupId }: Side, id: string) {
  return setting.owner
    .result("connect_direct_status", { group_id: groupId })
    .then(({ relations }) => relations.find((relation) => relation.id === id));
}

/** Takes the pictures; `take` writes one under its name. */
export async function connectionPictures(
  browser: Browser,
  take: (name: string, page: Page) => Promise<void>,
): Promise<void> {
  const office = await side(browser, "Release 2.4", ["lead", "reviewer"]);
  const lab = await side(browser, "Measurements", ["lead"]);
  const look = async (
    of: Side,
    options: WindowOptions & { name: string },
    act: (page: Page) => Promise<void>,
  ) => {
    const { page, context } = await of.setting.window({
      width: 1360,
      height: 860,
      reducedMotion: true,
      ...options,
    });
    await page.locator(".group-title").waitFor();
    await act(page);
    await take(options.name, page);
    await context.close();
  };
  try {
    await lab.setting.owner.result("actor_update", {
      group_id: lab.group_id,
      actor_id: "lead",
      title: "Head of lab",
    });
    const at = `127.0.0.1:${await freePort()}`;
    const listener = { bind: at, address: at };
    await office.setting.owner.result("connect_direct_configure", { listener, display_name: "office" });
    await lab.setting.owner.result("connect_direct_configure", { listener: null, display_name: "lab" });
    const { group_id: groupId } = office;
    const { invitation } = await office.setting.owner.result("connect_direct_invite", { group_id: groupId });
    await look(lab, { name: "connections-invitation", theme: "light" }, async (page) => {
      await openConnections(page);
      await page.locator("dialog[open] vscode-button", { hasText: "Accept an invitation" }).click();
      await page.locator(".invitation-field").fill(invitation);
      await page.locator(".fingerprint").waitFor();
    });
    const joined = { group_id: lab.group_id, invitation };
    const { id } = await lab.setting.owner.result("connect_direct_join", joined);
    await until("who came", async () => (await relationAt(office, id))?.state === "pending", PATIENCE_MS);
    await look(office, { name: "connections-approval", theme: "dark" }, async (page) => {
      await openConnections(page);
      await page.locator("dialog[open] .fingerprint").waitFor();
    });
    await office.setting.owner.result("connect_direct_approve", { group_id: groupId, id });
    for (const one of [office, lab])
      await until("the connection", async () => (await relationAt(one, id))?.online === true, PATIENCE_MS);
    await converse(office, lab);
    await look(office, { name: "connections-conversation", theme: "dark" }, async (page) => {
      await page.locator("svc-message .state", { hasText: "delivered" }).first().waitFor();
      await page.locator(".compose-text").click();
      await page.keyboard.type("@he");
      await page.locator(".completion-item", { hasText: "Head of lab" }).waitFor();
    });
  } finally {
    await Promise.all([office.setting.close(), lab.setting.close()]);
  }
}

async function converse(office: Side, lab: Side): Promise<void> {
  const there = { instance_id: lab.instance_id, target_group_id: lab.group_id };
  const { owner } = office.setting;
  const { group_id: groupId } = office;
  const known = () =>
    owner
      .result("connect_catalog", { group_id: groupId, ...there })
      .then((found) => "catalog" in found && found.catalog !== null);
  await until("the other side's Actors", known, PATIENCE_MS);
  const ask = async (clientId: string, text: string) => {
    const asked = {
      group_id: groupId,
      ...there,
      to: ["lead"],
      client_id: clientId,
      text,
      message_mode: "request_reply" as const,
    };
    const { source_event: sourceEvent } = await owner.result("connect_send", asked);
    await until(
      "the receipt",
      async () => {
        const { statuses } = await owner.result("ledger_statuses", {
          group_id: groupId,
          event_ids: [sourceEvent.id],
        });
        return statuses[sourceEvent.id]?.connect_delivery?.state === "sent";
      },
      PATIENCE_MS,
    );
    const lead = lab.actors["lead"]!;
    const { messages } = await lead.result("inbox_read", { group_id: lab.group_id });
    return messages.at(-1)!.event.id;
  };
  const first = await ask("first", "The third run took **twice as long**. Does your rig show the same?");
  const answer = await lab.actors["lead"]!.result("reply", {
    group_id: lab.group_id,
    event_id: first,
    text: "Yes: the fan was off in run 3. With it on, all three agree within 1 %.",
  });
  await until(
    "the answer",
    async () => {
      const { events } = await owner.result("ledger_tail", { group_id: groupId, kinds: ["chat.message"] });
      return events.some((event) => textOf(event) === answer.event.data.text);
    },
    PATIENCE_MS,
  );
  await ask("second", "Please repeat it with the fan on, and send the numbers.");
}
