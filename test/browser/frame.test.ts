/**
 * The Workbench of an instance inside the page of another one: a real daemon over HTTPS below one
 * name of this machine, a page of the test below another one, and a hostile one below a third.
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContext, Frame, Page, Request } from "playwright-core";
import type { FrameProof } from "../../shared/frame-protocol.ts";
import { freePort, TestInstance, TestService } from "../account/service.ts";
import { verifies } from "../requirements.ts";
import { TestAuthority } from "../support/certificates.ts";
import { textOf } from "../support/events.ts";
import { MachineClock } from "../support/manual-clock.ts";
import { until } from "../support/until.ts";
import { launchBrowser, launchProfile, Setting } from "./setting.ts";

/** A page that can frame, and writes down what it hears from whom. */
const PARENT = `<!doctype html><title>Entry</title><style>html, body { margin: 0; height: 100%; }
iframe { border: 0; width: 100%; height: 100%; }</style><script>
const heard = [];
addEventListener("message", ({ data, origin, source }) =>
  heard.push({ data, origin, ours: source === document.querySelector("iframe")?.contentWindow }));
function open_(action, proof) {
  document.querySelector("iframe")?.remove();
  const frame = document.createElement("iframe");
  frame.name = "target";
  frame.setAttribute("sandbox", "allow-scripts allow-same-origin allow-forms allow-downloads");
  document.body.append(frame);
  if (proof === null) { frame.src = action; return; }
  const form = document.createElement("form");
  form.method = "post"; form.action = action; form.target = "target";
  const field = document.createElement("input");
  field.name = "proof"; field.value = proof;
  form.append(field); document.body.append(form); form.submit(); form.remove();
}
</script><body></body>`;

interface Heard {
  data: { type: string; frame_id: string } & Record<string, unknown>;
  origin: string;
  ours: boolean;
}

describe("Workbench in a frame of another instance's page", function () {
  this.timeout(240_000);
  let authority: TestAuthority;
  let service: TestService;
  let browser: Browser;
  let lab: Setting;
  let source: TestInstance;
  let sourceDevice: string;
  let targetDevice: string;
  let instanceId: string;
  let origin: string;
  let groups: Record<string, string>;
  /** Of "Bench". */
  let lead: ReturnType<Setting["daemon"]["client"]>;
  const servers: Server[] = [];
  let entry: string;
  let otherEntry: string;
  let evil: string;
  let context: BrowserContext;
  let page: Page;
  const requested: string[] = [];

  const serve = async (host: string): Promise<string> => {
    const { cert, key } = authority.issue(host);
    const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (_request, response) =>
      response.setHeader("Content-Type", "text/html").end(PARENT),
    );
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    servers.push(server);
    return `https://${host}:${(server.address() as AddressInfo).port}`;
  };
  const proofFor = (frameId: string, parent: string, seconds = 120): FrameProof => {
    const now = Date.now();
    const fields = {
      account_origin: service.origin,
      source_instance_id: source.instance_id,
      source_device_id: sourceDevice,
      target_instance_id: instanceId,
      target_device_id: targetDevice,
      parent_origin: parent,
      frame_id: frameId,
      nonce: randomUUID(),
      issued_at: new Date(now).toISOString(),
      expires_at: new Date(now + seconds * 1000).toISOString(),
    };
    return { ...fields, signature: source.sign(["svc.connect.frame.v1", ...Object.values(fields)]) };
  };
  const encoded = (proof: object) => Buffer.from(JSON.stringify(proof)).toString("base64url");
  const heard = (on: Page) => on.evaluate<Heard[]>("heard");
  const types = async (on: Page) => (await heard(on)).map(({ data }) => data.type);
  const last = async (on: Page, type: string) =>
    (await heard(on)).findLast(({ data }) => data.type === type)?.data;
  /** Opens the frame anew; answers its id. */
  const open = async (on: Page, parent: string, seconds?: number): Promise<string> => {
    const frameId = randomUUID();
    await on.evaluate("heard.length = 0");
    await on.evaluate(
      ([action, proof]) =>
        (globalThis as unknown as { open_(a: string, p: string): void }).open_(action!, proof!),
      [`${origin}/ui/connect/`, encoded(proofFor(frameId, parent, seconds))],
    );
    await until("the page in the frame works", async () => (await types(on)).includes("ready"));
    return frameId;
  };
  const inside = (on: Page): Frame => on.frames().find((frame) => frame.url().startsWith(origin))!;
  const post = (on: Page, frameId: string, message: object, more: object = {}) =>
    on.evaluate(([posted, to]) => document.querySelector("iframe")!.contentWindow!.postMessage(posted, to), [
      { channel: "svc.connect.frame.v1", frame_id: frameId, ...message, ...more },
      origin,
    ] as const);
  /**
   * Counts what is posted to the page in the frame from now on. Answers how to wait until the page
   * has dealt with so many.
   */
  const counting = async (on: Page) => {
    await inside(on).evaluate("globalThis.posted = 0; addEventListener('message', () => (posted += 1))");
    return (count: number) =>
      until(`${count} messages`, async () => (await inside(on).evaluate<number>("posted")) >= count);
  };
  const signIn = async (on: Page, credential: string) => {
    await inside(on).locator("vscode-text-field").locator("input").fill(credential);
    await inside(on).locator("vscode-button", { hasText: "Sign in" }).click();
  };
  /** As `open`, with an administrator signed in there. */
  const admitted = async (seconds?: number): Promise<string> => {
    const frameId = await open(page, entry, seconds);
    const has = async (type: string) => (await types(page)).includes(type);
    await until("it says who is there", async () => (await has("groups")) || (await has("locked")));
    if (await has("locked")) await signIn(page, await lab.loginLink());
    await until("the Groups", () => has("groups"));
    return frameId;
  };
  const picture = async (name: string): Promise<void> => {
    const folder = process.env["SVC_TEST_PICTURES"];
    if (folder !== undefined) await page.screenshot({ path: join(folder, `${name}.png`) });
  };
  /** A page of that origin, where nobody is signed in yet. */
  const visit = async (parent: string): Promise<Page> => {
    const visited = await context.newPage();
    visited.setDefaultTimeout(60_000);
    visited.on("request", (request) => requested.push(request.url()));
    await visited.goto(parent);
    return visited;
  };

  const fill = async (): Promise<void> => {
    groups = {};
    for (const title of ["Bench", "Kiln"]) {
      const group = await lab.group(title);
      groups[title] = group.groupId;
      if (title === "Bench") lead = group.actors["lead"]!;
    }
  };

  before(async () => {
    authority = new TestAuthority();
    const port = await freePort();
    const { cert, key } = authority.issue("lab.localhost");
    [service, browser] = await Promise.all([
      TestService.started({ clock: new MachineClock() }),
      launchBrowser(),
    ]);
    [entry, otherEntry, evil] = (await Promise.all(
      ["office.localhost", "attic.localhost", "evil.localhost"].map(serve),
    )) as [string, string, string];
    const ann = await service.member("Ann");
    const device = await service.device(ann);
    source = new TestInstance();
    const registered = await device.register(source);
    assert.equal(registered.status, 200, JSON.stringify(registered.body));
    sourceDevice = device.id;
    lab = await Setting.open(browser, { port, environment: { SVC_TLS_CERT: cert, SVC_TLS_KEY: key } });
    origin = `https://lab.localhost:${port}`;
    await lab.owner.result("remote_access_set", { origin });
    const { user_code: code } = await lab.owner.result("account_link", { account_origin: ann.origin });
    await ann.approve(code);
    const connect = await until("the link", async () => {
      const status = await lab.owner.result("connect_status", {});
      const { connect } = status;
      return connect === null || connect.directory === null ? null : connect;
    });
    [instanceId, targetDevice] = [connect.instance_id, connect.device_id];
    await fill();
    context = await browser.newContext({
      ignoreHTTPSErrors: true,
      viewport: { width: 1280, height: 800 },
      colorScheme: "dark",
      reducedMotion: "reduce",
    });
    page = await visit(entry);
  });
  after(async () => {
    await context?.close();
    await lab?.close();
    await Promise.all([browser?.close(), service?.dispose()]);
    for (const server of servers) server.close();
    authority?.remove();
  });

  it("asks for a sign-in of its own, and tells its Groups only after it", async () => {
    verifies("WB-001", "WB-002", "WB-004", "WB-022", "WB-025", "WB-027", "WB-028");
    verifies("WB-057", "WB-058", "WB-060");
    const frameId = await open(page, entry);
    await until("it says that nobody is signed in", async () => (await types(page)).includes("locked"));
    await inside(page).locator(".sign-in", { hasText: "office.localhost" }).waitFor();
    await picture("frame-sign-in");
    assert.deepEqual(await types(page), ["ready", "locked"]);
    assert.deepEqual(await last(page, "ready"), {
      channel: "svc.connect.frame.v1",
      frame_id: frameId,
      type: "ready",
      instance_id: instanceId,
      device_id: targetDevice,
    });
    const dealtWith = await counting(page);
    const connections = { type: "select", group_id: groups["Bench"], action: "connections" };
    await post(page, frameId, connections, { revision: 1 });
    await dealtWith(1);
    const restricted = await lab.owner.result("access_token_create", {
      name: "Some",
      groups: [groups["Bench"]!],
    });
    verifies("WB-072");
    await signIn(page, restricted.token);
    await inside(page).locator(".failure", { hasText: "administrator" }).waitFor();
    await post(page, frameId, connections, { revision: 2 });
    await dealtWith(2);
    await until("it is locked again", async () => (await types(page)).length > 2);
    assert.deepEqual(await types(page), ["ready", "locked", "locked"]);
    const dialogs = inside(page).locator("dialog[open]");
    assert.equal(await dialogs.count(), 0);

    const first = await lab.loginLink();
    const link = await lab.loginLink();
    for (const groupId of Object.values(groups))
      await lab.owner.result("group_delete", { group_id: groupId, confirm: groupId });
    await signIn(page, first);
    await inside(page).locator("h1", { hasText: "No Group yet" }).waitFor();
    assert.equal(await dialogs.count(), 0, "that Group isn't there any more");
    await inside(page).getByRole("button", { name: "Settings" }).click();
    await inside(page).getByRole("menuitem", { name: "Sign out" }).click();
    await inside(page).locator(".sign-in").waitFor();
    await fill();
    await signIn(page, link);
    await until("the Groups", async () => {
      const told = ((await last(page, "groups"))?.["groups"] ?? []) as { title: string }[];
      return JSON.stringify(told.map(({ title }) => title)) === '["Bench","Kiln"]';
    });
    await inside(page).locator("svc-workbench .group-title").waitFor();
    await picture("frame-signed-in");
    assert.equal(await inside(page).locator("svc-groups").count(), 0, "the list is the entry's");
    for (const { ours, origin: from } of await heard(page)) assert.deepEqual([ours, from], [true, origin]);
    const cookies = await context.cookies(origin);
    const access = cookies.find(({ name }) => name.startsWith("__Host-svc_access_"));
    assert.equal(access?.partitionKey, "https://office.localhost");

    const other = await visit(otherEntry);
    await open(other, otherEntry);
    await until("nobody is signed in there", async () => (await types(other)).includes("locked"));
    await other.close();
    const secrets = [restricted.token, new URL(link).hash.slice(7)];
    for (const url of requested)
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
        const strictPage = await strict.newPage();
        strictPage.setDefaultTimeout(60_000);
        await strictPage.goto(entry);
        await open(strictPage, entry);
        await until("it is locked", async () => (await types(strictPage)).includes("locked"));
        const probe = await inside(strictPage).evaluate(() => {
          document.cookie = "probe=1; Secure; SameSite=None";
          return document.cookie;
        });
        assert.equal(probe, "", "an ordinary cookie is blocked");
        await signIn(strictPage, await lab.loginLink());
        if (!kept) {
          await inside(strictPage).locator(".failure", { hasText: "in its own tab" }).waitFor();
          assert.ok(!(await types(strictPage)).includes("groups"));
          return;
        }
        await until("the Groups", async () => (await types(strictPage)).includes("groups"));
        await open(strictPage, entry);
        await until("the Groups again", async () => (await types(strictPage)).includes("groups"));
      } finally {
        await strict.close();
        rmSync(folder, { recursive: true, force: true });
      }
    });
  }

  it("goes where the entry says, by growing revisions, and opens the connections once", async () => {
    verifies("WB-023", "WB-024", "WB-025", "WB-026", "WB-027", "WB-033");
    const frameId = await admitted();
    const title = () => inside(page).locator(".group-title").textContent();
    const at = async (revision: number, groupId: string) =>
      until(`revision ${revision}`, async () => {
        const selected = await last(page, "selected");
        return selected?.["revision"] === revision && selected["group_id"] === groupId;
      });
    const dialog = inside(page).locator("svc-connections-dialog dialog[open]");
    await post(page, frameId, { type: "select", group_id: groups["Kiln"], revision: 3 });
    await at(3, groups["Kiln"]!);
    await until("it is shown", async () => (await title()) === "Kiln");
    await post(page, frameId, { type: "select", group_id: groups["Bench"], revision: 2 });
    await post(page, frameId, { type: "select", group_id: groups["Bench"], revision: 3 });
    const connections = { type: "select", group_id: groups["Kiln"], revision: 4, action: "connections" };
    await post(page, frameId, connections);
    await dialog.waitFor();
    await at(4, groups["Kiln"]!);
    const followed = (await heard(page)).filter(
      ({ data }) => data.type === "selected" && data["revision"] !== 0,
    );
    const places = new Set(followed.map(({ data }) => data["group_id"]));
    assert.deepEqual([...places], [groups["Kiln"]], "earlier revisions are ignored");
    assert.equal(await title(), "Kiln");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await post(page, frameId, connections);
    await post(page, frameId, { ...connections, group_id: "g_ffffffffffff", revision: 5 });
    await at(5, groups["Kiln"]!);
    assert.equal(await dialog.count(), 0, "neither a second time nor for a Group that isn't there");
    await post(page, frameId, { ...connections, revision: 6 });
    await dialog.waitFor();
    await page.keyboard.press("Escape");
    assert.deepEqual((await lab.owner.result("connection_list", {})).connections.length, 1);
  });

  it("says while something would be lost with the page: a message, or what a dialog holds", async () => {
    await admitted();
    const dirty = (expected: boolean) =>
      until(`dirty: ${expected}`, async () => (await last(page, "workspace_dirty"))?.["dirty"] === expected);
    await dirty(false);
    let save: () => void = () => {};
    const saving = new Promise<void>((resolve) => (save = resolve));
    await context.route("**/draft*", async (route) => {
      if (route.request().method() !== "GET") await saving;
      await route.continue();
    });
    await inside(page).locator("svc-composer textarea").fill("Not saved yet");
    await dirty(true);
    save();
    await dirty(false);
    await context.unroute("**/draft*");
    await inside(page).getByRole("button", { name: "Group actions" }).click();
    await inside(page).getByRole("menuitem", { name: "Group settings" }).click();
    const dialog = inside(page).locator("svc-group-settings-dialog");
    await dialog.locator("vscode-text-field input").first().fill("Bench of wood");
    await dirty(true);
    await page.keyboard.press("Escape");
    await dirty(false);
    await inside(page).locator("svc-composer textarea").fill("");
  });

  it("shows slots and saves files with the frame's id in their addresses, and no credential", async () => {
    verifies("WB-018", "WB-020", "WB-021", "WB-022");
    const frameId = await admitted();
    await post(page, frameId, { type: "select", group_id: groups["Bench"], revision: 1 });
    await inside(page).locator(".group-title", { hasText: "Bench" }).waitFor();
    const asked: { url: string; type: string; headers: Record<string, string> }[] = [];
    const note = (request: Request) =>
      asked.push({ url: request.url(), type: request.resourceType(), headers: request.headers() });
    page.on("request", note);
    const group_id = groups["Bench"]!;
    const published = { kind: "html", title: "A page", text: "<h1>Nested</h1>" } as const;
    await lab.owner.result("presentation_publish", { group_id, slot: 1, ...published });
    await inside(page).getByRole("button", { name: "Presentations", exact: true }).click();
    const nested = inside(page).frameLocator("iframe.presentation-frame");
    await nested.locator("h1", { hasText: "Nested" }).waitFor();
    await inside(page).getByRole("button", { name: "Close the presentations" }).click();

    const file = { name: "facts.bin", mimeType: "application/octet-stream", buffer: Buffer.from("\0facts") };
    await inside(page).locator("svc-composer input[type=file]").setInputFiles(file);
    await inside(page).locator("svc-composer .upload", { hasText: "facts.bin" }).waitFor();
    await inside(page).locator("svc-composer textarea").fill("With a file");
    await inside(page).locator("svc-composer textarea").press("Control+Enter");
    const message = inside(page).locator("svc-message", { hasText: "With a file" });
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      message.locator("button.file", { hasText: "facts.bin" }).click(),
    ]);
    assert.ok(download.url().startsWith(`blob:${origin}/`), download.url());
    assert.deepEqual(readFileSync(await download.path()), file.buffer);
    page.off("request", note);

    const content = asked.find(({ url }) => url.includes("/presentations/1/content"))!;
    const fetched = asked.find(({ url }) => url.includes("/blobs/"))!;
    for (const [request, type, names] of [
      [content, "document", ["connect_frame", "event"]],
      [fetched, "fetch", ["connect_frame"]],
    ] as const) {
      const { searchParams } = new URL(request.url);
      assert.equal(request.type, type);
      assert.deepEqual([...searchParams.keys()].sort(), names);
      assert.equal(searchParams.get("connect_frame"), frameId);
      assert.equal(request.headers["authorization"], undefined);
    }
  });

  it("hears nobody but the page that was named, and nothing that isn't a message", async () => {
    verifies("WB-031", "WB-032", "WB-033");
    const frameId = await admitted();
    const dealtWith = await counting(page);
    await post(page, frameId, { type: "select", group_id: groups["Kiln"], revision: 1 });
    await until("it is selected", async () => (await last(page, "selected"))?.["revision"] === 1);
    const forged = {
      channel: "svc.connect.frame.v1",
      frame_id: frameId,
      type: "select",
      group_id: groups["Bench"],
      revision: 99,
    };
    // Another window of the entry's origin, and a page of another origin, both beside it.
    for (const [at, beside] of [`${entry}/beside`, evil].entries()) {
      await page.evaluate((address) => {
        const frame = document.createElement("iframe");
        frame.id = "beside";
        frame.src = address;
        document.body.append(frame);
      }, beside);
      const other = await until(
        "the page beside it",
        () => page.frames().find((frame) => frame.url().startsWith(beside)) ?? null,
      );
      await other.waitForLoadState();
      await other.evaluate((message) => parent.frames[0]!.postMessage(message, "*"), forged);
      // A window that is gone by then would be nobody's.
      await dealtWith(at + 2);
      await page.evaluate(() => document.querySelector("#beside")!.remove());
    }
    for (const wrong of [null, 1, "x", [], { ...forged, frame_id: randomUUID() }, { ...forged, token: 1 }]) {
      await page.evaluate(
        ([message, to]) =>
          document.querySelector("iframe")!.contentWindow!.postMessage(message, to as string),
        [wrong, origin],
      );
    }
    // A forged selection that had counted would be a later one.
    await post(page, frameId, { type: "select", group_id: groups["Kiln"], revision: 2 });
    const next = await until("the next selection", async () => {
      const selected = await last(page, "selected");
      return selected?.["revision"] === 1 ? null : selected;
    });
    assert.deepEqual([next["revision"], next["group_id"]], [2, groups["Kiln"]]);
    assert.equal(await inside(page).locator(".group-title").textContent(), "Kiln");
  });

  it("reads the last message of a flood, and not each of them", async () => {
    const frameId = await admitted();
    const most = 3000;
    await page.evaluate(
      ([message, to, last]) => {
        const target = document.querySelector("iframe")!.contentWindow!;
        for (let revision = 1; revision <= last; revision += 1)
          target.postMessage({ ...message, revision }, to);
      },
      [
        {
          channel: "svc.connect.frame.v1",
          frame_id: frameId,
          type: "select",
          group_id: groups["Kiln"],
        },
        origin,
        most,
      ] as const,
    );
    await until("the last one", async () => (await last(page, "selected"))?.["revision"] === most);
    const reports = (await types(page)).filter((type) => type === "selected");
    assert.ok(reports.length < most / 10, `${reports.length} reports`);
  });

  it("is shown by no other page than the one named, nor twice", async () => {
    verifies("WB-034", "WB-035");
    const frameId = randomUUID();
    const byAddress = `${origin}/ui/connect/?proof=${encoded(proofFor(frameId, entry))}`;
    await page.evaluate("heard.length = 0");
    await page.evaluate(`open_(${JSON.stringify(byAddress)}, null)`);
    await until("it opens by an address, too", async () => (await types(page)).includes("ready"));
    assert.doesNotMatch(inside(page).url(), /proof/u);
    for (const [parent, proof] of [
      [entry, byAddress],
      [evil, `${origin}/ui/connect/?proof=${encoded(proofFor(randomUUID(), entry))}`],
    ] as const) {
      const hostile = await visit(parent);
      const answered = hostile.waitForResponse((response) => response.url() === proof);
      await hostile.evaluate(`open_(${JSON.stringify(proof)}, null)`);
      await answered.catch(() => null);
      await until("the browser shows its own page instead", () =>
        hostile.frames().some((frame) => frame.url().startsWith("chrome-error:")),
      );
      assert.deepEqual(await types(hostile), []);
      await hostile.close();
    }
  });

  it("asks every 15 seconds whether the person may still see it", async () => {
    verifies("WB-063");
    // The clock would be that of all pages.
    const own = await browser.newContext({ ignoreHTTPSErrors: true });
    try {
      await own.clock.install();
      const late = await own.newPage();
      late.setDefaultTimeout(60_000);
      await late.goto(entry);
      await open(late, entry);
      await until("it is locked", async () => (await types(late)).includes("locked"));
      await signIn(late, await lab.loginLink());
      await until("the Groups", async () => (await types(late)).includes("groups"));
      const error = { code: "connect_frame_expired", message: "It has ended.", details: {} };
      await late.route(/\/connect\/frame\?frame_id=/u, (route) =>
        route.fulfill({ status: 403, json: { ok: false, error } }),
      );
      await own.clock.fastForward(15_000);
      await until("it has ended", async () => (await types(late)).includes("expired"));
    } finally {
      await own.close();
    }
  });

  it("lives as long as it is renewed, and no token's end outlives it", async () => {
    verifies("WB-042", "WB-063", "WB-071", "WB-073", "LIM-014");
    await lab.owner.result("send", { group_id: groups["Bench"]!, text: "Accepted before", to: ["lead"] });
    let frameId = await admitted(60);
    const expires = () =>
      inside(page).evaluate(async (id) => {
        const answer = await fetch(`/api/v1/connect/frame?frame_id=${id}`);
        return ((await answer.json()) as { result?: { frame: { expires_at: string } } }).result?.frame
          .expires_at;
      }, frameId);
    const renewal = proofFor(frameId, entry, 100);
    await post(page, frameId, { type: "renew", proof: { ...renewal, parent_origin: evil } });
    await post(page, frameId, { type: "renew", proof: renewal });
    await until("it is renewed", async () => (await expires()) === renewal.expires_at);

    // The next window's token ends, and this frame with it.
    const { tokens } = await lab.owner.result("access_token_list", {});
    for (const { id, kind } of tokens)
      if (kind === "administrator") await lab.owner.result("access_token_revoke", { token_id: id });
    await until("it is locked", async () => (await types(page)).includes("locked"));
    await inside(page).locator(".sign-in").waitFor();
    assert.equal(await inside(page).locator("svc-workbench").count(), 0);
    // Only the browser was shut out: the Actor gets what waits for it, and answers.
    const { messages } = await lead.result("inbox_read", { group_id: groups["Bench"]! });
    assert.ok(messages.some(({ event }) => textOf(event) === "Accepted before"));
    await lead.result("send", { group_id: groups["Bench"]!, text: "Sent after", to: ["user"] });

    // Nobody has an access token: there is nothing to see, as on a target that was just set up.
    const left = await lab.owner.result("access_token_list", {});
    for (const { id } of left.tokens) await lab.owner.result("access_token_revoke", { token_id: id });
    frameId = await open(page, entry);
    await until("it is locked", async () => (await types(page)).includes("locked"));
    await inside(page).locator(".sign-in").waitFor();
    assert.deepEqual(await types(page), ["ready", "locked"]);
    await signIn(page, await lab.loginLink());
    await inside(page).locator("svc-workbench .group-title").waitFor();

    await page.setViewportSize({ width: 360, height: 740 });
    await inside(page).locator(".bottom-tab", { hasText: "Groups" }).click();
    await until("the entry shows its list", async () => (await types(page)).includes("sidebar"));
    await picture("frame-360");
    await page.setViewportSize({ width: 1280, height: 800 });

    await lab.daemon.kill();
    await lab.daemon.start();
    await post(page, frameId, { type: "select", group_id: groups["Bench"], revision: 1 });
    await post(page, frameId, { type: "select", group_id: groups["Kiln"], revision: 2 });
    await until("a restart ends it", async () => (await types(page)).includes("expired"));
    await inside(page).locator("h1", { hasText: "This view has ended" }).waitFor();
    await picture("frame-ended");
  });
});
