/**
 * The pictures of three instances in one window, and of a result that an agent shows: their own
 * Homes and an account of the real service, in the same browser.
 */
import type { Browser, Page } from "playwright-core";
import { type TestBrowser, TestService } from "../account/service.ts";
import { link, renamed, secured } from "../peers/account/linked-side.ts";
import type { Side } from "../peers/direct/two-homes.ts";
import { TestAuthority } from "../support/certificates.ts";
import { askLead } from "./conversation.ts";
import { InstancesWindow, underName } from "./instances-window.ts";

const RESULT = "Five runs of the rig";
const RUNS = [
  { run: 1, seconds: 4.21 },
  { run: 2, seconds: 4.19 },
  { run: 3, seconds: 9.87 },
  { run: 4, seconds: 4.24 },
  { run: 5, seconds: 4.2 },
];

/** A page as an agent would make it: a chart and what it means. */
const CHART = `<!doctype html><meta name="color-scheme" content="light dark">
<style>
  body { font: 14px/1.5 system-ui, sans-serif; margin: 20px; }
  h1 { font-size: 17px; margin: 0 0 4px; }
  p { margin: 0 0 20px; opacity: 0.8; }
  .bar { display: grid; grid-template-columns: 52px 1fr 60px; align-items: center; gap: 10px; margin: 8px 0; }
  .bar i { display: block; height: 22px; border-radius: 3px; background: #4c8dd6; }
  .bar.slow i { background: #d9822b; }
</style>
<h1>Run 3 took twice as long</h1>
<p>Five runs of the rig, in seconds. The fan was off in run 3.</p>
${RUNS.map(
  ({ run, seconds }) =>
    `<div class="bar${seconds > 5 ? " slow" : ""}"><span>Run ${run}</span><i style="width:${seconds * 10}%"></i><b>${seconds.toFixed(2)}</b></div>`,
).join("\n")}`;

/** The instance's Groups are those of `titles`; the first one has a folder. */
async function machine(
  authority: TestAuthority,
  ann: TestBrowser,
  name: string,
  titles: readonly [string, ...string[]],
): Promise<Side> {
  const side = await secured(titles[0], `${name.toLowerCase()}.localhost`, authority);
  for (const title of titles.slice(1)) await side.client.result("group_create", { title });
  await link(side, ann);
  return side;
}

/** Each knows the names of the others, and its person has seen who joined. */
async function settle(sides: ReadonlyMap<string, Side>): Promise<void> {
  for (const [name, side] of sides) await renamed(side, name);
  for (const [name, side] of sides) {
    const { client } = side;
    await renamed(side, name);
    const { joined } = await client.result("account_show", {});
    const deviceIds = joined.map(({ device_id: id }) => id);
    await client.result("account_joined_seen", { by: "user", device_ids: deviceIds });
  }
}

async function originOf({ client }: Side): Promise<string> {
  return (await client.result("remote_access_show", {})).remote_access.origin!;
}

async function linkTo(side: Side): Promise<string> {
  const { url } = await side.client.result("login_link_create", {});
  return underName(url, await originOf(side));
}

/** A person and the lead talk in a new Group, and the lead shows the chart. */
async function converse({ client, daemon }: Side, title: string): Promise<void> {
  const { group_id } = await client.result("group_create", { title });
  const added = { group_id, actor_id: "lead", runtime: "claude", runner: "external" } as const;
  const lead = daemon.actorClient((await client.result("actor_add", added)).token_file);
  lead.session = "lead";
  const asked = await askLead(
    client,
    lead,
    group_id,
    "The third run took **twice as long**. Can you find out why?",
  );
  const shown = { slot: 1, title: RESULT };
  await lead.result("presentation_publish", { group_id, ...shown, kind: "html", text: CHART });
  await lead.result("reply", {
    group_id,
    event_id: asked,
    text: "The fan was off. With it on, all runs agree within 1 %. I put the numbers beside this.",
    refs: [{ kind: "presentation_ref", ...shown }],
  });
  await client.result("send", { group_id, text: "Thanks! Please repeat it tonight.", to: ["lead"] });
}

/** Takes the pictures; `take` writes one under its name. */
export async function instancePictures(
  browser: Browser,
  take: (name: string, page: Page) => Promise<void>,
): Promise<void> {
  const authority = new TestAuthority();
  const service = await TestService.started();
  const sides = new Map<string, Side>();
  try {
    const ann = await service.member("Ann");
    const add = async (name: string, ...titles: [string, ...string[]]): Promise<Side> => {
      const side = await machine(authority, ann, name, titles);
      sides.set(name, side);
      return side;
    };
    const office = await add("Office", "docs site", "Release 2.4");
    const lab = await add("Lab", "Rig", "Samples");
    const studio = await add("Studio", "Pictures", "Website");
    await converse(lab, "Measurements");
    await settle(sides);
    const opened = (colorScheme: "light" | "dark", width: number) =>
      browser.newContext({
        ignoreHTTPSErrors: true,
        viewport: { width, height: 860 },
        colorScheme,
        reducedMotion: "reduce",
      });
    const context = await opened("dark", 1360);
    const window = new InstancesWindow(await context.newPage());
    await window.open(await linkTo(office), ["Lab", "Studio"]);
    await window.signIn("Studio", await linkTo(studio), "Website");
    await window.signIn("Lab", await linkTo(lab), "Measurements");
    await window.showSaved("Studio");
    await window.read("inside", "Please repeat it tonight.");
    await window.page.mouse.move(0, 0);
    await take("instances", window.page);
    await context.close();
    for (const theme of ["light", "dark"] as const) {
      // Wide enough to have it beside the conversation.
      const own = await opened(theme, 1480);
      const page = await own.newPage();
      await page.goto(await linkTo(lab));
      await page.getByRole("button", { name: RESULT }).click();
      await page.frameLocator("svc-presentations iframe").locator("h1").waitFor();
      await take(`presentations-${theme}`, page);
      await own.close();
    }
  } finally {
    await Promise.all([...sides.values()].map((side) => side.dispose()));
    await service.dispose();
    authority.remove();
  }
}
