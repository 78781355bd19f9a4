/** The doctor reads every ledger through: it says what `svc ledger verify` would. */
import assert from "node:assert/strict";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DaemonClient } from "../../client/client.ts";
import { homePaths } from "../../client/paths.ts";
import { runDaemon } from "../../daemon/assembly/daemon.ts";

describe("svc doctor and svc ledger verify", () => {
  it("name the same damage of a ledger that opened without complaint", async () => {
    const home = fs.mkdtempSync(join(tmpdir(), "svc-examined-"));
    try {
      let groupId = "";
      await withDaemon(home, async (client) => {
        ({ group_id: groupId } = await client.result("group_create", { title: "whole" }));
        for (let at = 0; at < 200; at += 1)
          await client.result("send", {
            group_id: groupId,
            to: ["user"],
            text: `text ${at} ${"x".repeat(300)}`,
          });
        await client.result("ledger_compact", { group_id: groupId });
      });
      const path = join(homePaths(home).group(groupId).ledger, "segment-000001.jsonl");
      const bytes = fs.readFileSync(path);
      // A letter in the middle of a line, where the index's samples don't lie.
      bytes.write("\u0001", bytes.indexOf('"text":"text 77 ') + 9);
      fs.writeFileSync(path, bytes);
      await withDaemon(home, async (client) => {
        const { checks } = await client.result("health", {});
        const { severity, text, remedy } = checks.find(({ code }) => code === "groups")!;
        const { problems } = await client.result("ledger_verify", { group_id: groupId });
        assert.notDeepEqual(problems, []);
        assert.equal(severity, "error");
        assert.ok(text.includes(groupId), text);
        assert.ok(text.includes(problems[0]!), text);
        assert.notEqual(remedy, "");
      });
    } finally {
      fs.rmSync(home, { recursive: true, force: true });
    }
  });
});

async function withDaemon(home: string, use: (client: DaemonClient) => Promise<void>): Promise<void> {
  const daemon = await runDaemon({ home, host: "127.0.0.1", port: 0 });
  const client = new DaemonClient(home, null);
  try {
    await use(client);
  } finally {
    client.close();
    await daemon.stop();
  }
}
