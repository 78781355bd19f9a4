import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LIMITS } from "../../shared/limits.ts";
import { removeTemporaryDirectories } from "../home/setting.ts";
import { code, openGroups } from "./setting.ts";
import { ledgerText, team } from "./team.ts";

describe("private environment values", () => {
  after(removeTemporaryDirectories);

  it("are kept owner-only, over restarts, and no read returns them", async () => {
    const setting = await team();
    const who = { group_id: setting.group_id, actor_id: "ann" };
    await setting.call("actor_secrets", { ...who, set: { TOKEN: "hidden-1", OTHER: "hidden-2" } });
    const told: string[] = [];
    setting.registry.onChange(({ what }) => told.push(what));
    const { actor } = await setting.call("actor_secrets", {
      ...who,
      set: { THIRD: "hidden-3" },
      unset: ["OTHER"],
    });
    assert.deepEqual(actor.private_env, ["THIRD", "TOKEN"]);
    assert.deepEqual(told, ["actors"]);
    const file = setting.group.paths.privateEnvironmentFile("ann");
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.deepEqual(JSON.parse(readFileSync(file, "utf8")).values, { TOKEN: "hidden-1", THIRD: "hidden-3" });
    await setting.close();
    const again = await openGroups(setting.root);
    const answers = JSON.stringify([
      await again.call("actor_show", who),
      await again.call("actor_list", { group_id: setting.group_id }),
      await again.call("group_show", { group_id: setting.group_id }),
      await again.call("actor_mcp_config", who),
      again.registry.get(setting.group_id).record,
    ]);
    assert.ok(answers.includes('"private_env":["THIRD","TOKEN"]'));
    assert.ok(!answers.includes("hidden"));
    assert.ok(!ledgerText(setting).includes("hidden") && !ledgerText(setting).includes("THIRD"));
    await again.close();
  });

  it("don't outlive their Actors, whatever the disk or a crash kept from being removed", async () => {
    const setting = await team();
    const { group, files } = setting;
    const who = { group_id: setting.group_id, actor_id: "ann" };
    await setting.call("actor_secrets", { ...who, set: { TOKEN: "hidden" } });
    await setting.call("actor_secrets", { ...who, actor_id: "bob", set: { TOKEN: "kept" } });
    const file = group.paths.privateEnvironmentFile("ann");
    const content = readFileSync(file);
    const works = files.unlink.bind(files);
    files.unlink = (path) => {
      if (path === group.paths.tokenFile("ann")) throw Object.assign(new Error("I/O"), { code: "EIO" });
      works(path);
    };
    await assert.rejects(setting.call("actor_remove", who), code("storage_failed"));
    assert.ok(!existsSync(file));
    files.unlink = works;
    await setting.close();
    const left = [file, join(group.paths.privateEnvironment, ".bob.json.tmp")];
    for (const path of left) writeFileSync(path, content);
    const again = await openGroups(setting.root);
    assert.deepEqual(
      left.filter((path) => existsSync(path)),
      [],
    );
    const { actor } = await again.call("actor_show", { ...who, actor_id: "bob" });
    assert.deepEqual(actor.private_env, ["TOKEN"]);
    await again.close();
  });

  it("are bounded together", async () => {
    const setting = await team();
    const who = { group_id: setting.group_id, actor_id: "ann" };
    const set = Object.fromEntries(
      Array.from({ length: LIMITS.actor.environmentEntries }, (_, at) => [`N${at}`, "x"]),
    );
    await setting.call("actor_secrets", { ...who, set });
    await assert.rejects(
      setting.call("actor_secrets", { ...who, set: { MORE: "x" } }),
      code("limit_reached"),
    );
    await setting.call("actor_secrets", { ...who, set: { MORE: "x" }, unset: ["N0"] });
    await setting.close();
  });
});
