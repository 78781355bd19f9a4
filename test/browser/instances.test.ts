/**
 * Other instances of the account in one page: the list, the frame, what both pages tell each other,
 * and a page in the frame that lies.
 */
import assert from "node:assert/strict";
import { text as textIn } from "node:stream/consumers";
import { API_PREFIX } from "../../shared/names.ts";
import { verifies } from "../requirements.ts";
import { textOf } from "../support/events.ts";
import { until } from "../support/until.ts";
import { violations } from "./axe.ts";
import { answerPuppet, groupId, useFramedLab } from "./framed-lab.ts";
import { underName } from "./instances-window.ts";

describe("Workbench: the account's other instances", function () {
  this.timeout(240_000);
  const lab = useFramedLab();
  const current = () => lab.list().locator("[aria-current]").allInnerTexts();
  /** The selections that the page in the frame was told. */
  const heard = async () => {
    const all = await (await lab.frame()).evaluate(
      () => (window as unknown as { heard: { data: Record<string, unknown>; origin: string }[] }).heard,
    );
    // On a slow machine, renewals come between them.
    return all.filter(({ data }) => data["type"] === "select");
  };
  /** How many streams of the lab are open. */
  const streams = async () => {
    const metrics = await textIn(await lab.side.client.open("/metrics", {}));
    return Number(/^svc_streams (\d+)$/mu.exec(metrics)?.[1]);
  };

  it("opens one at its own origin, by a form, in a frame that may do no more than it needs", async () => {
    verifies("WB-001", "WB-028");
    await lab.show();
    const element = lab.remote().locator("iframe");
    assert.equal(
      await element.getAttribute("sandbox"),
      "allow-scripts allow-same-origin allow-forms allow-downloads allow-popups allow-popups-to-escape-sandbox",
    );
    assert.equal(
      await element.getAttribute("allow"),
      `clipboard-write ${lab.origin}; fullscreen ${lab.origin}`,
    );
    assert.equal((await lab.frame()).url(), `${lab.origin}/ui/connect/`);
    assert.equal(await lab.remote().locator("a.own-tab").getAttribute("href"), lab.origin);
    await lab.settled(["Rig", "Samples"]);
    await lab.groupRows().nth(1).click();
    await lab.groupRows().first().click();
    const selections = await until("the selections", async () => {
      const all = await heard();
      return all.length === 2 ? all : null;
    });
    const revisions = selections.map(({ data, origin }): Record<string, unknown> => ({ ...data, origin }));
    assert.deepEqual(
      revisions.map(({ type, group_id: group, revision, origin }) => [type, group, revision, origin]),
      [
        ["select", groupId(2), 1, lab.officeOrigin],
        ["select", groupId(1), 2, lab.officeOrigin],
      ],
    );
  });

  it("says with how many Groups of other accounts one is connected, and opens its connections", async () => {
    verifies("WB-023");
    await lab.show();
    const counts: [number | null, seconds: number][] = [
      [2, 120],
      [null, 120],
      [0, 120],
      [5, -1],
    ];
    await lab.post({
      type: "groups",
      groups: counts.map(([count, seconds], at) => {
        const connection = { count, expires_at: new Date(Date.now() + seconds * 1000).toISOString() };
        return { group_id: groupId(at + 1), title: `Group ${at + 1}`, running: false, connection };
      }),
    });
    await lab.settled(["Group 1", "Group 2", "Group 3", "Group 4"]);
    const marks = lab.list().locator(".remote-connections");
    assert.deepEqual(await marks.evaluateAll((all) => all.map((one) => one.ariaLabel)), [
      "Connections of Group 1: connected with 2 Groups of other accounts",
      "Connections of Group 2: connections to other accounts aren’t confirmed now",
    ]);
    await lab.groupRows().nth(1).click();
    await marks.first().click();
    const selections = await until("the selections", async () => {
      const all = (await heard()).map(({ data }) => [data["group_id"], data["revision"], data["action"]]);
      return all.length === 2 ? all : null;
    });
    assert.deepEqual(selections, [
      [groupId(2), 1, undefined],
      [groupId(1), 2, "connections"],
    ]);
    await until("the frame has the focus", () =>
      lab.page.evaluate(() => document.activeElement?.tagName === "IFRAME"),
    );
  });

  it("takes reports of the latest revision alone, and never mounts the frame anew for others", async () => {
    verifies("WB-029", "WB-030");
    await lab.show();
    await lab.groupRows().nth(1).click();
    await lab.groupRows().first().click();
    const element = await lab.remote().locator("iframe").elementHandle();
    await (await lab.frame()).evaluate(() => Object.assign(window, { mark: 7 }));
    await lab.post({ type: "selected", group_id: groupId(2), revision: 1 });
    await lab.post({ type: "selected", group_id: groupId(2), revision: 99 });
    await lab.groups("Rig", "Samples", "Third");
    await lab.settled(["Rig", "Samples", "Third"]);
    assert.deepEqual(
      (await current()).map((text) => text.trim().split("\n").at(-1)),
      ["Rig"],
    );
    await lab.post({ type: "selected", group_id: groupId(2), revision: 2 });
    await until("the selection", async () => (await current()).some((text) => text.includes("Samples")));
    assert.ok(await element?.evaluate((one) => one.isConnected));
    assert.equal(await (await lab.frame()).evaluate(() => (window as unknown as { mark: number }).mark), 7);
  });

  it("ignores what another origin, window or frame says, and what isn't a message", async () => {
    verifies("WB-031", "WB-032", "WB-033");
    await lab.show();
    const forged = { type: "groups", groups: [{ group_id: groupId(9), title: "Forged", running: false }] };
    const whole = { channel: "svc.connect.frame.v1", frame_id: lab.asked.at(-1)!, ...forged };
    // The page around it, which has another origin, and the same window with another id.
    await lab.page.evaluate((sent) => postMessage(sent, "*"), whole);
    await lab.post(forged, "6c1f6ad3-6b2b-4c50-8f0a-0c6a3a3a9a01");
    // A window below the frame has its origin.
    await (await lab.frame()).evaluate(async (sent) => {
      const child = document.createElement("iframe");
      child.srcdoc = `<script>top.postMessage(${JSON.stringify(sent)}, "*")</script>`;
      const loaded = new Promise((resolve) => child.addEventListener("load", resolve));
      document.body.append(child);
      await loaded;
    }, whole);
    for (const wrong of [
      { ...forged, more: 1 },
      { type: "groups", groups: "all" },
      { type: "groups", groups: Array.from({ length: 4097 }, () => forged.groups[0]) },
      { type: "groups", groups: [{ ...forged.groups[0], secret: "x" }] },
      { type: "groups", groups: [{ ...forged.groups[0], title: "x".repeat(100_000) }] },
      { type: "select", group_id: groupId(9), revision: 3 },
      { type: "unheard" },
    ])
      await lab.post(wrong);
    await (await lab.frame()).evaluate(() => {
      for (const sent of [null, 1, "ready", [], { channel: "svc.connect.frame.v1" }])
        parent.postMessage(sent, "*");
    });
    // What was sent before this one has been heard.
    await lab.post({ type: "selected", group_id: groupId(2), revision: 0 });
    await until("the selection", async () => (await current()).some((text) => text.includes("Samples")));
    assert.deepEqual(await lab.titles(), ["Rig", "Samples"]);

    // The frame's own window and the right id, but a page of another origin.
    const elsewhere = `${lab.officeOrigin}/elsewhere`;
    await lab.page.route(elsewhere, answerPuppet);
    await lab
      .remote()
      .locator("iframe")
      .evaluate((element, address) => element.setAttribute("src", address), elsewhere);
    const moved = await until(
      "the other page",
      () => lab.page.frames().find((one) => one.url() === elsewhere) ?? null,
    );
    // The page hears it before this listener does.
    await lab.page.evaluate(
      "globalThis.origins = []; addEventListener('message', ({ origin }) => origins.push(origin))",
    );
    await moved.evaluate((sent) => parent.postMessage(sent, "*"), whole);
    await until("it was heard", () => lab.page.evaluate<boolean>("origins.length > 0"));
    assert.deepEqual(await lab.page.evaluate("origins"), [lab.officeOrigin]);
    assert.deepEqual(await lab.titles(), ["Rig", "Samples"]);
  });

  it("stays usable while the page in the frame floods it", async () => {
    await lab.show();
    await (await lab.frame()).evaluate(
      (sent) => {
        for (let sends = 0; sends < 20_000; sends += 1) parent.postMessage(sent, "*");
      },
      { channel: "svc.connect.frame.v1", frame_id: lab.asked.at(-1)!, type: "sidebar" },
    );
    await lab.list().locator(".remote-group-row", { hasText: "Samples" }).click();
    await until("the selection", async () => (await heard()).some(({ data }) => data["revision"] === 1));
  });

  it("clears its Groups when it is locked there", async () => {
    verifies("WB-042");
    await lab.show();
    await lab.post({ type: "locked" });
    await lab.groupRows().first().waitFor({ state: "detached" });
    await lab.row().locator(".instance-state", { hasText: "not signed in" }).waitFor();
    await lab.remote().locator(".remote-note").waitFor();
    assert.equal(await lab.saved().count(), 0);
    await lab.groups("Rig");
    await lab.settled(["Rig"]);
  });

  it("has the list and the instance on pages of their own on a phone, and keeps the frame", async () => {
    await lab.show();
    await (await lab.frame()).evaluate(() => Object.assign(window, { mark: 7 }));
    await lab.page.setViewportSize({ width: 360, height: 740 });
    const back = lab.remote().getByRole("button", { name: "Show Groups" });
    const listed = async () => {
      await lab.groupRows().first().waitFor();
      await lab.remote().waitFor({ state: "hidden" });
    };
    const shown = async () => {
      await back.waitFor();
      await lab.list().waitFor({ state: "hidden" });
    };
    const checkPage = async () => {
      assert.deepEqual(await violations(lab.page), []);
      assert.equal(await lab.page.evaluate("document.documentElement.scrollWidth"), 360);
    };
    await shown();
    await checkPage();
    await back.click();
    await listed();
    await checkPage();
    await lab.groupRows().nth(1).click();
    await shown();
    await lab.post({ type: "sidebar" });
    await listed();
    // The browser may still send a click to the frame that was here until now.
    await lab.row().press("Enter");
    await shown();
    assert.equal(await (await lab.frame()).evaluate(() => (window as unknown as { mark: number }).mark), 7);
  });

  it("asks before a frame with unsaved input is left, and leaves it alone if told to stay", async () => {
    await lab.show();
    const element = await lab.remote().locator("iframe").elementHandle();
    await lab.post({ type: "workspace_dirty", dirty: true });
    // It is said after everything before it has been heard.
    await lab.groups("Rig");
    await lab.settled(["Rig"]);
    const dialog = lab.page.getByRole("dialog", { name: "Leave Lab?" });
    await lab.chooseOffice();
    await dialog.getByText("isn’t saved yet").waitFor();
    await dialog.getByRole("button", { name: "Stay" }).click();
    await dialog.waitFor({ state: "detached" });
    assert.ok(await element?.evaluate((one) => one.isConnected));
    await lab.remote().getByRole("button", { name: "Close Lab" }).click();
    await dialog.waitFor();
    await lab.page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await lab.remote().getByRole("button", { name: "Close Lab" }).click();
    await dialog.waitFor();
    await lab.post({ type: "workspace_dirty", dirty: false });
    await dialog.getByText("Nothing on Lab is unsaved any more.").waitFor();
    await dialog.getByRole("button", { name: "Leave" }).click();
    await lab.alone();
    await lab.show();
    await lab.chooseOffice();
    await lab.alone();
    await lab.page.locator(".group-title", { hasText: "Office work" }).waitFor();
    assert.equal(await dialog.count(), 0);
  });

  it("asks before a sign-out that ends a frame with unsaved input", async () => {
    await lab.show();
    await lab.post({ type: "workspace_dirty", dirty: true });
    await lab.groups("Rig");
    await lab.settled(["Rig"]);
    // The other tests need the session.
    await lab.page.route(`${lab.officeOrigin}${API_PREFIX}/web-access/logout`, (route) => route.abort());
    const dialog = lab.page.getByRole("dialog", { name: "Leave Lab?" });
    const signOut = async () => {
      await lab.page.getByRole("button", { name: "Settings" }).click();
      await lab.page.getByRole("menuitem", { name: "Sign out" }).click();
      await dialog.waitFor();
    };
    await signOut();
    await dialog.getByRole("button", { name: "Stay" }).click();
    await dialog.waitFor({ state: "detached" });
    await signOut();
    await dialog.getByRole("button", { name: "Leave" }).click();
    await lab.page.locator("svc-sign-in").waitFor();
    await lab.alone();
  });

  it("goes where it was opened if that is confirmed soon, and not while the person works", async () => {
    await lab.lie();
    await lab.page.clock.install();
    const openAt = async () => {
      lab.told = ({ connect }) => ({ connect: { ...connect, directory: null } });
      await lab.page.goto(`${lab.officeOrigin}/?instance=${lab.side.instance_id}`);
      await lab.list().waitFor({ state: "attached" });
      await lab.page.locator(".group-title", { hasText: "Office work" }).waitFor();
      await lab.stopClock();
    };
    const listed = async () => {
      lab.told = null;
      await lab.check();
      await lab.row().waitFor();
    };
    await openAt();
    await lab.pass(30);
    await listed();
    assert.equal(await lab.remote().count(), 0, "it is late");
    await openAt();
    await lab.page.keyboard.press("Shift");
    await listed();
    assert.equal(await lab.remote().count(), 0, "the person does something");
    await openAt();
    await listed();
    await lab.remote().waitFor();
  });

  it("keeps the Groups of one that isn't shown, marked as saved", async () => {
    verifies("WB-036", "WB-037");
    await lab.show();
    await lab.chooseOffice();
    await lab.remote().waitFor({ state: "detached" });
    await lab.alone();
    await lab.saved().click();
    await lab.list().locator(".saved-note", { hasText: "Saved" }).waitFor();
    await lab.settled(["Rig", "Samples"]);
    // What isn't a list of Groups counts as nothing, whoever wrote it.
    await lab.page.addInitScript(() => {
      if (top !== self) return;
      const kept = sessionStorage.getItem("svc/instances") ?? "";
      const damaged = kept.replace('"title":"Rig"', '"title":[]');
      sessionStorage.setItem("svc/instances", damaged);
      Object.assign(self, { isDamaged: damaged !== kept });
    });
    await lab.page.reload();
    await lab.row().waitFor();
    assert.equal(await lab.saved().count(), 0);
    assert.equal(await lab.page.evaluate("self.isDamaged"), true);
  });

  it("shows the other one's own Workbench: sign-in there, its Groups, and a message", async () => {
    verifies("WB-001", "WB-036", "WB-059", "WB-060");
    const inside = lab.page.frameLocator("svc-remote iframe");
    await lab.row().click();
    const { url } = await lab.side.client.result("login_link_create", {});
    await inside.locator("vscode-text-field input").fill(underName(url, lab.origin));
    assert.equal(await lab.groupRows().count(), 0);
    await inside.locator("vscode-button", { hasText: "Sign in" }).click();
    const lead = lab.groupRows().filter({ hasText: "Lab work" });
    await lead.click();
    await inside.locator(".group-title", { hasText: "Lab work" }).waitFor();
    await inside.locator("svc-composer textarea").fill("Written in the office’s window");
    await inside.locator("svc-composer textarea").press("Control+Enter");
    await inside.locator("svc-message", { hasText: "Written in the office’s window" }).waitFor();
    const { events } = await lab.side.client.result("ledger_tail", { group_id: lab.side.group_id });
    const sent = events.find((event) => textOf(event) === "Written in the office’s window");
    assert.equal(sent?.by, "user");
    const cookies = (await lab.context.cookies(lab.origin)).map(({ value }) => value);
    assert.notDeepEqual(cookies, []);
    await lab.rename();
    for (const passed of lab.proxy.passed)
      for (const secret of [...cookies, new URL(url).hash.slice("#login=".length)])
        assert.ok(!JSON.stringify(passed).includes(secret), passed.path);
    await until("it has a stream", async () => (await streams()) > 0);
    await lab.chooseOffice();
    await lab.alone();
    await until("its streams have ended", async () => (await streams()) === 0);
    await lab.row().click();
    await lead.waitFor();
    await inside.locator("svc-message", { hasText: "Written in the office’s window" }).waitFor();
    await lab.chooseOffice();
    await lab.alone();
  });
});
