/** What a person sees of a file whose bytes aren't those that were attached or published. */

import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { homePaths } from "../../client/paths.ts";
import { openGroup, type Setting, useSetting } from "./setting.ts";

/** What browsers print of an answer that refuses, or that is cut short. */
const REFUSED =
  /status of (?:404|500)|ERR_(?:INCOMPLETE_CHUNKED_ENCODING|CONTENT_LENGTH_MISMATCH|CONNECTION_RESET)/;
const LARGE_BYTES = 3 * 1024 * 1024;

/** What happens to a file, and what the person is told. */
const HARMS: readonly [name: string, harm: (path: string) => void, told: RegExp][] = [
  ["changed", (path) => writeFileSync(path, "WHAT is in changed"), /damaged/],
  ["emptied", (path) => truncateSync(path, 0), /damaged/],
  ["longer", (path) => appendFileSync(path, "more"), /damaged/],
  ["removed", (path) => rmSync(path), /The Group's folder has no file/],
  ["large", (path) => writeFileSync(path, Buffer.alloc(LARGE_BYTES, 8)), /damaged/],
];

describe("Workbench: damaged files", () => {
  let setting: Setting;
  let groupId: string;
  let page: Page;
  let folder: string;

  useSetting((opened) => {
    setting = opened;
  });

  const blob = (sha256: string): string => join(homePaths(setting.daemon.home).group(groupId).blobs, sha256);

  before(async () => {
    ({ groupId } = await setting.group("damaged", ["lead"]));
    ({ page } = await setting.window({ expected: REFUSED }));
    await openGroup(page, "damaged");
    folder = mkdtempSync(join(tmpdir(), "svc-damaged-"));
    await setting.owner.result("attach", { path: folder, group_id: groupId });
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  for (const [name, harm, told] of HARMS)
    it(`says of an attached file that was ${name} what is wrong with it, and saves nothing`, async () => {
      const bytes = name === "large" ? Buffer.alloc(LARGE_BYTES, 7) : Buffer.from(`what is in ${name}`);
      const path = join(folder, `${name}.txt`);
      writeFileSync(path, bytes);
      const { event } = await setting.owner.result("send", {
        group_id: groupId,
        to: ["lead"],
        text: name,
        paths: [path],
      });
      const [attached] = event.data["attachments"] as { sha256: string }[];
      const file = page.locator("svc-message .file", { hasText: `${name}.txt` });
      await file.waitFor();
      harm(blob(attached!.sha256));
      const saved: string[] = [];
      page.on("download", (download) => saved.push(download.suggestedFilename()));
      await file.click();
      await page
        .locator("svc-attachment", { hasText: `${name}.txt` })
        .locator("[role=alert]", { hasText: told })
        .waitFor();
      assert.deepEqual(saved, []);
    });

  for (const kind of ["html", "markdown", "csv", "image", "pdf"] as const)
    it(`says of a published ${kind} file what is wrong with it, and shows nothing of it`, async () => {
      const names = { html: "a.html", markdown: "a.md", csv: "a.csv", image: "a.svg", pdf: "a.pdf" };
      const texts = { image: '<svg xmlns="http://www.w3.org/2000/svg"/>', pdf: "%PDF-1.4\n%%EOF\n" };
      const path = join(folder, names[kind]);
      writeFileSync(path, { html: "<p>original</p>", markdown: "original", csv: "original", ...texts }[kind]);
      const { presentation } = await setting.owner.result("presentation_publish", {
        group_id: groupId,
        slot: 1,
        kind,
        title: kind,
        path,
      });
      writeFileSync(blob(presentation.sha256!), "<p>FORGED</p>");
      const link = new URL(await setting.loginLink());
      const { page } = await setting.window({
        expected: REFUSED,
        path: `${link.origin}/?group=${groupId}&presentation=1${link.hash}`,
      });
      const panel = page.locator("svc-presentations");
      await panel.locator("[role=alert], .empty", { hasText: /damaged/ }).waitFor();
      for (const frame of page.frames()) assert.doesNotMatch(await frame.content(), /FORGED/);
      await page.context().close();
    });
});
