/** Launch tokens of a Group that couldn't be opened when the daemon started. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { LaunchTokens } from "../../daemon/groups/launch-tokens.ts";
import { RealRandom } from "../../platform/real-random.ts";
import { LIMITS } from "../../shared/limits.ts";
import { removeTemporaryDirectories, temporaryDirectory } from "../home/setting.ts";
import { MemoryLog } from "../operations/support.ts";
import { diskError, FaultyFiles } from "../support/faulty-files.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { until } from "../support/until.ts";
import { openGroups, openRegistry } from "./setting.ts";

const ACTORS = ["ann", "bob"];

describe("launch tokens of a Group that opens late", () => {
  after(removeTemporaryDirectories);

  it("aren't written over while their files learn where the moved Home is", async () => {
    const root = temporaryDirectory();
    const before = await openGroups(root);
    const { group_id: groupId } = await before.call("group_create", { title: "Team" });
    for (const actorId of ACTORS) await before.call("actor_add", { group_id: groupId, actor_id: actorId });
    const { paths } = before.registry.get(groupId);
    await before.close();
    const stored = (actorId: string) => JSON.parse(readFileSync(paths.tokenFile(actorId), "utf8"));
    for (const actorId of ACTORS)
      writeFileSync(paths.tokenFile(actorId), JSON.stringify({ ...stored(actorId), home: "/elsewhere" }));

    const files = new FaultyFiles();
    const clock = new ManualClock();
    files.fail = (step, path) => (step === "open" && path.includes(groupId) ? diskError("EIO") : null);
    const registry = await openRegistry(root, () => [], files, clock);
    const deps = { files, random: new RealRandom(), log: new MemoryLog(), home: root, registry };
    const tokens = await LaunchTokens.open(deps);
    assert.equal(registry.find(groupId), undefined);
    files.fail = () => null;
    files.slow = paths.tokens;
    clock.advance(LIMITS.group.reopenSeconds * 1000);
    await until("the first file is being written", () => files.held.length > 0);
    const group = registry.get(groupId);
    const renewed = ACTORS.map((actorId) => tokens.issue(group, group.actor(actorId)));
    files.recover();
    const issued = await Promise.all(renewed);
    await until("the files know the Home", () => ACTORS.every((actorId) => stored(actorId).home === root));
    assert.deepEqual(
      ACTORS.map((actorId) => stored(actorId).token),
      issued.map(({ token }) => token),
    );
    await registry.close();
  });
});
