/** Readings of files leave no descriptor open, whoever loses interest when. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { refusal, TestHome } from "./setting.ts";

/** Descriptors of this process; only their number matters. */
function openDescriptors(): number {
  return readdirSync(process.platform === "linux" ? "/proc/self/fd" : "/dev/fd").length;
}

describe("Open files", () => {
  let home: TestHome;
  let group: string;
  let project: string;
  beforeEach(async () => {
    home = await TestHome.open();
    project = mkdtempSync(join(tmpdir(), "svc-project-"));
    group = await home.group("dev");
  });
  afterEach(async () => {
    await home.remove();
    rmSync(project, { recursive: true, force: true });
  });

  it("are as many after readings that nobody followed and copies that were refused", async () => {
    writeFileSync(join(project, "taken.txt"), "taken");
    await home.call("attach", { group_id: group, path: project });
    const dev = home.actor(group, "dev");
    const { event } = await home.send(group, "a file", { to: ["user"], paths: ["taken.txt"] }, dev);
    const [attachment] = event.data.attachments as { sha256: string }[];
    const before = openDescriptors();
    for (let count = 0; count < 50; count++) {
      assert.equal(home.messaging.openBlob(group, attachment!.sha256).bytes, 5);
      const save = { group_id: group, event_id: event.id, save_to: "taken.txt" };
      await assert.rejects(home.call("file_fetch", save, { as: dev }), refusal("already_exists"));
    }
    assert.ok(openDescriptors() < before + 10);
    let text = "";
    for await (const chunk of home.messaging.openBlob(group, attachment!.sha256).chunks) {
      text += Buffer.from(chunk).toString("utf8");
    }
    assert.equal(text, "taken");
  });

  it("are as many after files to show that couldn't be kept", async () => {
    writeFileSync(join(project, "shown.md"), "shown");
    await home.call("attach", { group_id: group, path: project });
    // There is no room for a folder.
    writeFileSync(home.registry.get(group).paths.blobs, "");
    const file = { title: "Shown", kind: "markdown", path: "shown.md" } as const;
    const before = openDescriptors();
    for (let count = 0; count < 50; count++) {
      const shown = { group_id: group, slot: 1, ...file };
      await assert.rejects(home.call("presentation_publish", shown, { as: home.actor(group, "dev") }), {
        code: "storage_failed",
      });
    }
    assert.ok(openDescriptors() < before + 10);
  });
});
