/** A project folder that was renamed: what says so, and how the Group goes on. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DaemonProcess } from "../support/daemon-process.ts";
import { envelope, run } from "./svc.ts";

describe("a project folder that was renamed", () => {
  let folder: string;
  let daemon: DaemonProcess;
  before(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "svc-moved-")));
    daemon = await DaemonProcess.started();
  });
  after(async () => {
    await daemon.dispose();
    rmSync(folder, { recursive: true, force: true });
  });

  it("is named with the Actor at a start and in doctor, and replaced by the one that is attached", async () => {
    const { home } = daemon;
    const svc = (...args: string[]) => run(args, { home });
    const [before, after] = [join(folder, "before"), join(folder, "after")];
    mkdirSync(before);
    const attached = envelope<{ group_id: string; scope_key: string }>(await svc("attach", before, "--json"));
    const { group_id: groupId, scope_key: first } = attached.result;
    const at = ["--group", groupId];
    assert.equal((await svc("actor", "add", "builder", ...at, "--", "sleep", "1000")).code, 0);
    assert.match((await svc("doctor")).out, /Project folders: Each that an Actor works in is there\./u);

    renameSync(before, after);
    const lost = new RegExp(`“${before}” isn't there`, "u");
    const { code, err } = await svc("actor", "start", "builder", ...at);
    assert.notEqual(code, 0);
    assert.match(err, new RegExp(`in which builder works isn't there: “${before}”`, "u"));
    assert.match(err, new RegExp(`svc attach PATH --group ${groupId}`, "u"));
    assert.match((await svc("doctor")).out, lost);

    assert.doesNotMatch((await svc("attach", after, ...at)).out, /stays attached/u);
    assert.doesNotMatch((await svc("doctor")).out, lost);
    assert.equal((await svc("actor", "start", "builder", ...at)).code, 0);
    const { scopes, active_scope_key: active } = await daemon
      .client()
      .result("group_show", { group_id: groupId });
    assert.deepEqual(
      scopes.map(({ path }) => path),
      [before, after],
    );
    assert.notEqual(active, first);
  });

  it("stays the active one while it is there", async () => {
    const [one, two] = [join(folder, "one"), join(folder, "two")];
    for (const path of [one, two]) mkdirSync(path);
    const { home } = daemon;
    const attach = async (path: string, ...more: string[]) =>
      envelope<{ group_id: string; scope_key: string }>(
        await run(["attach", path, "--json", ...more], { home }),
      ).result;
    const { group_id: groupId, scope_key: first } = await attach(one);
    await attach(two, "--group", groupId);
    const shown = await daemon.client().result("group_show", { group_id: groupId });
    assert.equal(shown.active_scope_key, first);
  });
});
