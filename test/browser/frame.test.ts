/**
 * The Workbench of an instance inside the page of another one: what it tells that page, what it
 * hears from it, and what ends it.
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Request } from "playwright-core";
import { verifies } from "../requirements.ts";
import { textOf } from "../support/events.ts";
import { until } from "../support/until.ts";
import { encoded, useFramedWorkbench } from "./framed-workbench.ts";
import { launchProfile } from "./setting.ts";

describe("Workbench in a frame of another instance's page", function () {
  this.timeout(240_000);
  const target = useFramedWorkbench();

  it("asks for a sign-in of its own, and tells its Groups only after it", async () => {
    verifies("WB-001", "WB-002", "WB-004", "WB-022", "WB-025", "WB-027", "WB-028");
    verifies("WB-057", "WB-058", "WB-060");
    const { entry, groups, lab } = target;
    await entry.open();
    await until("it says that nobody is signed in", () => entry.has("locked"));
    await entry.inside().locator(".sign-in", { hasText: "office.localhost" }).waitFor();
    await entry.picture("frame-sign-in");
    assert.deepEqual(await entry.types(), ["ready", "locked"]);
    assert.deepEqual(await entry.last("ready"), {
      channel: "svc.connect.frame.v1",
      frame_id: entry.frameId,
      type: "ready",
      instance_id: target.instanceId,
      device_id: target.deviceId,
    });
    const dealtWith = await entry.counting();
    const connections = { type: "select", group_id: groups["Bench"], action: "connections" };
    await entry.post({ ...connections, revision: 1 });
    await dealtWith(1);
    const restricted = await lab.owner.result("access_token_create", {
      name: "Some",
      groups: [groups["Bench"]!],
    });
    verifies("WB-072");
    await entry.signIn(restricted.token);
    await entry.inside().locator(".failure", { hasText: "administrator" }).waitFor();
    await entry.post({ ...connections, revision: 2 });
    await dealtWith(2);
    await until("it is locked again", async () => (await entry.types()).length > 2);
    assert.deepEqual(await entry.types(), ["ready", "locked", "locked"]);
    const dialogs = entry.inside().locator("dialog[open]");
    assert.equal(await dialogs.count(), 0);

    const first = await lab.loginLink();
    const link = await lab.loginLink();
    for (const groupId of Object.values(groups))
      await lab.owner.result("group_delete", { group_id: groupId, confirm: groupId });
    await entry.signIn(first);
    await entry.inside().locator("h1", { hasText: "No Group yet" }).waitFor();
    assert.equal(await dialogs.count(), 0, "that Group isn't there any more");
    await entry.inside().getByRole("button", { name: "Settings" }).click();
    await entry.inside().getByRole("menuitem", { name: "Sign out" }).click();
    await entry.inside().locator(".sign-in").waitFor();
    await target.fill();
    await entry.signIn(link);
    await until("the Groups", async () => {
      const told = ((await entry.last("groups"))?.["groups"] ?? []) as { title: string }[];
      return JSON.stringify(told.map(({ title }) => title)) === '["Bench","Kiln"]';
    });
    await entry.inside().locator("svc-workbench .group-title").waitFor();
    await entry.picture("frame-signed-in");
    assert.equal(await entry.inside().locator("svc-groups").count(), 0, "the list is the entry's");
    for (const { ours, origin: from } of await entry.heard())
      assert.deepEqual([ours, from], [true, target.origin]);
    const cookies = await target.context.cookies(target.origin);
    const access = cookies.find(({ name }) => name.startsWith("__Host-svc_access_"));
    assert.equal(access?.partitionKey, "https://office.localhost");

    const other = await target.visit(target.otherOrigin);
    await other.open();
    await until("nobody is signed in there", () => other.has("locked"));
    await other.page.close();
    const secrets = [restricted.token, new URL(link).hash.slice(7)];
    for (const url of target.requested)
      assert.ok(!secrets.some((secret) => url.includes(secret)) && !url.includes("proof="), url);
  });

  for (const [what, profile, kept] of [
    ["third-party cookies", { cookie_controls_mode: 1, block_third_party_cookies: true }, true],
    ["all cookies", { default_content_setting_values: { cookies: 2 } }, false],
  ] as const) {
    it(`${kept ? "keeps its sign-in" : "says that nobody stays signed in"} where the browser blocks ${what}`, async () => {
      verifies("WB-052");
      const folder = mkdtempSync(join(tmpdir(), "svc-profile-"));
      mkdirSync(join(folder, "Default"));
      writeFileSync(join(folder, "Default", "Preferences"), JSON.stringify({ profile }));
      const strict = await launchProfile(folder);
      try {
        const entry = await target.visit(target.entry.origin, strict);
        await entry.open();
        await until("it is locked", () => entry.has("locked"));
        const probe = await entry.inside().evaluate(() => {
          document.cookie = "probe=1; Secure; SameSite=None";
          return document.cookie;
        });
        assert.equal(probe, "", "an ordinary cookie is blocked");
        await entry.signIn(await target.lab.loginLink());
        if (!kept) {
          await entry.inside().locator(".failure", { hasText: "in its own tab" }).waitFor();
          assert.ok(!(await entry.has("groups")));
          return;
        }
        await until("the Groups", () => entry.has("groups"));
        await entry.open();
        await until("the Groups again", () => entry.has("groups"));
      } finally {
        await strict.close();
        rmSync(folder, { recursive: true, force: true });
      }
    });
  }

  it("goes where the entry says, by growing revisions, and opens the connections once", async () => {
    verifies("WB-023", "WB-024", "WB-025", "WB-026", "WB-027", "WB-033");
    const { entry, groups, lab } = target;
    await entry.admit();
    const title = () => entry.inside().locator(".group-title").textContent();
    const at = async (revision: number, groupId: string) =>
      until(`revision ${revision}`, async () => {
        const selected = await entry.last("selected");
        return selected?.["revision"] === revision && selected["group_id"] === groupId;
      });
    const dialog = entry.inside().locator("svc-connections-dialog dialog[open]");
    await entry.post({ type: "select", group_id: groups["Kiln"], revision: 3 });
    await at(3, groups["Kiln"]!);
    await until("it is shown", async () => (await title()) === "Kiln");
    await entry.post({ type: "select", group_id: groups["Bench"], revision: 2 });
    await entry.post({ type: "select", group_id: groups["Bench"], revision: 3 });
    const connections = { type: "select", group_id: groups["Kiln"], revision: 4, action: "connections" };
    await entry.post(connections);
    await dialog.waitFor();
    await at(4, groups["Kiln"]!);
    const followed = (await entry.heard()).filter(
      ({ data }) => data.type === "selected" && data["revision"] !== 0,
    );
    const places = new Set(followed.map(({ data }) => data["group_id"]));
    assert.deepEqual([...places], [groups["Kiln"]], "earlier revisions are ignored");
    assert.equal(await title(), "Kiln");
    await entry.page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await entry.post(connections);
    await entry.post({ ...connections, group_id: "g_ffffffffffff", revision: 5 });
    await at(5, groups["Kiln"]!);
    assert.equal(await dialog.count(), 0, "neither a second time nor for a Group that isn't there");
    await entry.post({ ...connections, revision: 6 });
    await dialog.waitFor();
    await entry.page.keyboard.press("Escape");
    assert.deepEqual((await lab.owner.result("connection_list", {})).connections.length, 1);
  });

  it("says while something would be lost with the page: a message, or what a dialog holds", async () => {
    const { entry } = target;
    await entry.admit();
    const dirty = (expected: boolean) =>
      until(`dirty: ${expected}`, async () => (await entry.last("workspace_dirty"))?.["dirty"] === expected);
    await dirty(false);
    let save: () => void = () => {};
    const saving = new Promise<void>((resolve) => (save = resolve));
    await target.context.route("**/draft*", async (route) => {
      if (route.request().method() !== "GET") await saving;
      await route.continue();
    });
    await entry.inside().locator("svc-composer textarea").fill("Not saved yet");
    await dirty(true);
    save();
    await dirty(false);
    await target.context.unroute("**/draft*");
    await entry.inside().getByRole("button", { name: "Group actions" }).click();
    await entry.inside().getByRole("menuitem", { name: "Group settings" }).click();
    const dialog = entry.inside().locator("svc-group-settings-dialog");
    await dialog.locator("vscode-text-field input").first().fill("Bench of wood");
    await dirty(true);
    await entry.page.keyboard.press("Escape");
    await dirty(false);
    await entry.inside().locator("svc-composer textarea").fill("");
  });

  it("shows slots and saves files with the frame's id in their addresses, and no credential", async () => {
    verifies("WB-018", "WB-020", "WB-021", "WB-022");
    const { entry, groups, lab } = target;
    await entry.admit();
    await entry.post({ type: "select", group_id: groups["Bench"], revision: 1 });
    await entry.inside().locator(".group-title", { hasText: "Bench" }).waitFor();
    const asked: { url: string; type: string; headers: Record<string, string> }[] = [];
    const note = (request: Request) =>
      asked.push({ url: request.url(), type: request.resourceType(), headers: request.headers() });
    entry.page.on("request", note);
    const group_id = groups["Bench"]!;
    const published = { kind: "html", title: "A page", text: "<h1>Nested</h1>" } as const;
    await lab.owner.result("presentation_publish", { group_id, slot: 1, ...published });
    await entry
      .inside()
      .getByRole("button", { name: /^Presentations/ })
      .click();
    const nested = entry.inside().frameLocator("iframe.presentation-frame");
    await nested.locator("h1", { hasText: "Nested" }).waitFor();
    await entry.inside().getByRole("button", { name: "Close the presentations" }).click();

    const file = { name: "facts.bin", mimeType: "application/octet-stream", buffer: Buffer.from("\0facts") };
    await entry.inside().locator("svc-composer input[type=file]").setInputFiles(file);
    await entry.inside().locator("svc-composer .upload", { hasText: "facts.bin" }).waitFor();
    await entry.inside().locator("svc-composer textarea").fill("With a file");
    await entry.inside().locator("svc-composer textarea").press("Control+Enter");
    const message = entry.inside().locator("svc-message", { hasText: "With a file" });
    const [download] = await Promise.all([
      entry.page.waitForEvent("download"),
      message.locator("button.file", { hasText: "facts.bin" }).click(),
    ]);
    assert.ok(download.url().startsWith(`blob:${target.origin}/`), download.url());
    assert.deepEqual(readFileSync(await download.path()), file.buffer);
    entry.page.off("request", note);

    const content = asked.find(({ url }) => url.includes("/presentations/1/content"))!;
    const fetched = asked.find(({ url }) => url.includes("/blobs/"))!;
    for (const [request, type, names] of [
      [content, "document", ["connect_frame", "event"]],
      [fetched, "fetch", ["connect_frame"]],
    ] as const) {
      const { searchParams } = new URL(request.url);
      assert.equal(request.type, type);
      assert.deepEqual([...searchParams.keys()].sort(), names);
      assert.equal(searchParams.get("connect_frame"), entry.frameId);
      assert.equal(request.headers["authorization"], undefined);
    }
  });

  it("hears nobody but the page that was named, and nothing that isn't a message", async () => {
    verifies("WB-031", "WB-032", "WB-033");
    const { entry, groups } = target;
    await entry.admit();
    const dealtWith = await entry.counting();
    await entry.post({ type: "select", group_id: groups["Kiln"], revision: 1 });
    await until("it is selected", async () => (await entry.last("selected"))?.["revision"] === 1);
    const forged = {
      channel: "svc.connect.frame.v1",
      frame_id: entry.frameId,
      type: "select",
      group_id: groups["Bench"],
      revision: 99,
    };
    // Another window of the entry's origin, and a page of another origin, both beside it.
    for (const [at, beside] of [`${entry.origin}/beside`, target.evilOrigin].entries()) {
      await entry.page.evaluate((address) => {
        const frame = document.createElement("iframe");
        frame.id = "beside";
        frame.src = address;
        document.body.append(frame);
      }, beside);
      const other = await until(
        "the page beside it",
        () => entry.page.frames().find((frame) => frame.url().startsWith(beside)) ?? null,
      );
      await other.waitForLoadState();
      await other.evaluate((message) => parent.frames[0]!.postMessage(message, "*"), forged);
      // A window that is gone by then would be nobody's.
      await dealtWith(at + 2);
      await entry.page.evaluate(() => document.querySelector("#beside")!.remove());
    }
    for (const wrong of [null, 1, "x", [], { ...forged, frame_id: randomUUID() }, { ...forged, token: 1 }]) {
      await entry.page.evaluate(
        ([message, to]) =>
          document.querySelector("iframe")!.contentWindow!.postMessage(message, to as string),
        [wrong, target.origin],
      );
    }
    // A forged selection that had counted would be a later one.
    await entry.post({ type: "select", group_id: groups["Kiln"], revision: 2 });
    const next = await until("the next selection", async () => {
      const selected = await entry.last("selected");
      return selected?.["revision"] === 1 ? null : selected;
    });
    assert.deepEqual([next["revision"], next["group_id"]], [2, groups["Kiln"]]);
    assert.equal(await entry.inside().locator(".group-title").textContent(), "Kiln");
  });

  it("reads the last message of a flood, and not each of them", async () => {
    const { entry, groups } = target;
    await entry.admit();
    const most = 3000;
    await entry.page.evaluate(
      ([message, to, last]) => {
        const target = document.querySelector("iframe")!.contentWindow!;
        for (let revision = 1; revision <= last; revision += 1)
          target.postMessage({ ...message, revision }, to);
      },
      [
        {
          channel: "svc.connect.frame.v1",
          frame_id: entry.frameId,
          type: "select",
          group_id: groups["Kiln"],
        },
        target.origin,
        most,
      ] as const,
    );
    await until("the last one", async () => (await entry.last("selected"))?.["revision"] === most);
    const reports = (await entry.types()).filter((type) => type === "selected");
    assert.ok(reports.length < most / 10, `${reports.length} reports`);
  });

  it("is shown by no other page than the one named, nor twice", async () => {
    verifies("WB-034", "WB-035");
    const { entry } = target;
    const addressed = () =>
      `${target.origin}/ui/connect/?proof=${encoded(target.proofFor(randomUUID(), entry.origin))}`;
    const byAddress = addressed();
    await entry.go(byAddress, null);
    await until("it opens by an address, too", () => entry.has("ready"));
    assert.doesNotMatch(entry.inside().url(), /proof/u);
    for (const [parent, proof] of [
      [entry.origin, byAddress],
      [target.evilOrigin, addressed()],
    ] as const) {
      const hostile = await target.visit(parent);
      const answered = hostile.page.waitForResponse((response) => response.url() === proof);
      await hostile.go(proof, null);
      await answered.catch(() => null);
      await until("the browser shows its own page instead", () =>
        hostile.page.frames().some((frame) => frame.url().startsWith("chrome-error:")),
      );
      assert.deepEqual(await hostile.types(), []);
      await hostile.page.close();
    }
  });

  it("asks every 15 seconds whether the person may still see it", async () => {
    verifies("WB-063");
    // The clock would be that of all pages.
    const own = await target.browser.newContext({ ignoreHTTPSErrors: true });
    try {
      await own.clock.install();
      const late = await target.visit(target.entry.origin, own);
      await late.open();
      await until("it is locked", () => late.has("locked"));
      await late.signIn(await target.lab.loginLink());
      await until("the Groups", () => late.has("groups"));
      const error = { code: "connect_frame_expired", message: "It has ended.", details: {} };
      await late.page.route(/\/connect\/frame\?frame_id=/u, (route) =>
        route.fulfill({ status: 403, json: { ok: false, error } }),
      );
      // What asks may have begun only after the Groups were told.
      for (let asks = 0; asks < 2; asks += 1) await own.clock.fastForward(15_000);
      await until("it has ended", () => late.has("expired"));
    } finally {
      await own.close();
    }
  });

  it("lives as long as it is renewed, and no token's end outlives it", async () => {
    verifies("WB-042", "WB-063", "WB-071", "WB-073", "LIM-014");
    const { entry, groups, lab } = target;
    await lab.owner.result("send", { group_id: groups["Bench"]!, text: "Accepted before", to: ["lead"] });
    await entry.admit(60);
    const expires = () =>
      entry.inside().evaluate(async (id) => {
        const answer = await fetch(`/api/v1/connect/frame?frame_id=${id}`);
        return ((await answer.json()) as { result?: { frame: { expires_at: string } } }).result?.frame
          .expires_at;
      }, entry.frameId);
    const renewal = target.proofFor(entry.frameId, entry.origin, 100);
    await entry.post({ type: "renew", proof: { ...renewal, parent_origin: target.evilOrigin } });
    await entry.post({ type: "renew", proof: renewal });
    await until("it is renewed", async () => (await expires()) === renewal.expires_at);

    // The next window's token ends, and this frame with it.
    const { tokens } = await lab.owner.result("access_token_list", {});
    for (const { id, kind } of tokens)
      if (kind === "administrator") await lab.owner.result("access_token_revoke", { token_id: id });
    await until("it is locked", () => entry.has("locked"));
    await entry.inside().locator(".sign-in").waitFor();
    assert.equal(await entry.inside().locator("svc-workbench").count(), 0);
    // Only the browser was shut out: the Actor gets what waits for it, and answers.
    const { messages } = await target.lead.result("inbox_read", { group_id: groups["Bench"]! });
    assert.ok(messages.some(({ event }) => textOf(event) === "Accepted before"));
    await target.lead.result("send", { group_id: groups["Bench"]!, text: "Sent after", to: ["user"] });

    // Nobody has an access token: there is nothing to see, as on a target that was just set up.
    const left = await lab.owner.result("access_token_list", {});
    for (const { id } of left.tokens) await lab.owner.result("access_token_revoke", { token_id: id });
    await entry.open();
    await until("it is locked", () => entry.has("locked"));
    await entry.inside().locator(".sign-in").waitFor();
    assert.deepEqual(await entry.types(), ["ready", "locked"]);
    await entry.signIn(await lab.loginLink());
    await entry.inside().locator("svc-workbench .group-title").waitFor();

    await entry.page.setViewportSize({ width: 360, height: 740 });
    await entry.inside().locator(".bottom-tab", { hasText: "Groups" }).click();
    await until("the entry shows its list", () => entry.has("sidebar"));
    await entry.picture("frame-360");
    await entry.page.setViewportSize({ width: 1280, height: 800 });

    await lab.daemon.kill();
    await lab.daemon.start();
    await entry.post({ type: "select", group_id: groups["Bench"], revision: 1 });
    await entry.post({ type: "select", group_id: groups["Kiln"], revision: 2 });
    await until("a restart ends it", () => entry.has("expired"));
    await entry.inside().locator("h1", { hasText: "This view has ended" }).waitFor();
    await entry.picture("frame-ended");
  });
});
