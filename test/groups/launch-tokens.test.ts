import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { removeTemporaryDirectories } from "../home/setting.ts";
import { asActor, code, openGroups } from "./setting.ts";
import { team, tokenOf } from "./team.ts";

describe("launch tokens", () => {
  after(removeTemporaryDirectories);

  it("are renewed by a restart of the Actor, which ends what the old one had", async () => {
    const setting = await team();
    const who = { group_id: setting.group_id, actor_id: "ann" };
    const old = tokenOf(setting.group.paths.tokenFile("ann"));
    const ended: string[] = [];
    setting.launchTokens.onRevoked(({ actor_id: actorId }) => ended.push(actorId));
    const { token_file: tokenFile } = await setting.call("actor_restart", who, asActor(setting.group, "ann"));
    assert.deepEqual(ended, ["ann"]);
    assert.equal(setting.launchTokens.verify(old), null);
    assert.equal(setting.launchTokens.verify(tokenOf(tokenFile))?.actor_id, "ann");
    await setting.close();
  });

  it("are the file's, also when the disk failed after it was replaced", async () => {
    const setting = await team();
    const { files, group } = setting;
    const file = group.paths.tokenFile("ann");
    const old = tokenOf(file);
    const works = files.syncDir.bind(files);
    files.syncDir = (_path, done) => setImmediate(done, Object.assign(new Error("I/O"), { code: "EIO" }));
    const who = { group_id: setting.group_id, actor_id: "ann" };
    await assert.rejects(setting.call("actor_restart", who), code("storage_failed"));
    files.syncDir = works;
    assert.notEqual(tokenOf(file), old);
    assert.equal(setting.launchTokens.verify(tokenOf(file))?.actor_id, "ann");
    assert.equal(setting.launchTokens.verify(old), null);
    await setting.close();
  });

  it("of an Actor that was removed aren't written over those of the next one with its id", async () => {
    const { group, launchTokens, close } = await team();
    const late = launchTokens.issue(group, group.actor("ann"));
    const removed = launchTokens.remove(group, "ann");
    const next = launchTokens.issue(group, { id: "ann", generation: "the next" });
    await removed;
    const { token } = await next;
    assert.equal(launchTokens.find((await late).digest), null);
    assert.equal(tokenOf(group.paths.tokenFile("ann")), token);
    await close();
  });

  it("stay valid over a restart of the daemon, and over a move of the Home, whose files then name it", async () => {
    const setting = await team();
    const file = setting.group.paths.tokenFile("ann");
    const before = JSON.parse(readFileSync(file, "utf8"));
    assert.equal(before.home, setting.root);
    assert.equal(Buffer.from(before.token, "base64url").length, 32);
    await setting.close();
    const again = await openGroups(setting.root);
    assert.equal(again.launchTokens.verify(before.token)?.actor_id, "ann");
    before.home = "/somewhere/else";
    writeFileSync(file, JSON.stringify(before));
    await again.close();
    const moved = await openGroups(setting.root);
    assert.equal(moved.launchTokens.verify(before.token)?.actor_id, "ann");
    assert.equal(JSON.parse(readFileSync(file, "utf8")).home, setting.root);
    await moved.close();
  });

  it("of nobody are worth nothing: garbage, another generation's file, an orphan, a deleted Group's", async () => {
    const setting = await team();
    const token = tokenOf(setting.group.paths.tokenFile("ann"));
    for (const wrong of ["", "x", token.slice(1), `${token}A`, "A".repeat(43), token.toLowerCase()]) {
      assert.equal(setting.launchTokens.verify(wrong), null, wrong);
    }
    await setting.close();
    const stored = JSON.parse(readFileSync(setting.group.paths.tokenFile("ann"), "utf8"));
    writeFileSync(setting.group.paths.tokenFile("ann"), JSON.stringify({ ...stored, generation: "other" }));
    writeFileSync(setting.group.paths.tokenFile("ghost"), JSON.stringify({ ...stored, actor_id: "ghost" }));
    writeFileSync(setting.group.paths.tokenFile("bob"), "{");
    mkdirSync(join(setting.group.paths.tokens, "dir.json"));
    const again = await openGroups(setting.root);
    assert.equal(again.launchTokens.verify(token), null);
    assert.ok(!existsSync(setting.group.paths.tokenFile("ghost")));
    const lead = tokenOf(setting.group.paths.tokenFile("lead"));
    assert.equal(again.launchTokens.verify(lead)?.actor_id, "lead");
    await again.call("group_delete", { group_id: setting.group_id, confirm: setting.group_id });
    assert.equal(again.launchTokens.verify(lead), null);
    await again.close();
  });

  it("stand in a file that the MCP configuration names, never in the configuration", async () => {
    const setting = await team();
    const who = { group_id: setting.group_id, actor_id: "ann" };
    const { mcpServers } = await setting.call("actor_mcp_config", who);
    const file = setting.group.paths.tokenFile("ann");
    assert.deepEqual(mcpServers.svc, {
      command: "svc",
      args: ["mcp"],
      env: { SVC_HOME: setting.root, SVC_ACTOR_FILE: file },
    });
    assert.ok(!JSON.stringify(mcpServers).includes(tokenOf(file)));
    await assert.rejects(
      setting.call("actor_mcp_config", { ...who, actor_id: "nobody" }),
      code("actor_not_found"),
    );
    await setting.close();
  });
});
