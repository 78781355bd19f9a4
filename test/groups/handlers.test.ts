import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LIMITS } from "../../shared/limits.ts";
import type { Caller } from "../../shared/operations/caller.ts";
import { removeTemporaryDirectories, temporaryDirectory } from "../home/setting.ts";
import { asActor, code, openGroups } from "./setting.ts";

async function setting() {
  const root = temporaryDirectory();
  const opened = await openGroups(root);
  const group = await opened.call("group_create", { title: "  Team  ", topic: "Work" });
  return { ...opened, root, group_id: group.group_id, group };
}

describe("Group operations", () => {
  after(removeTemporaryDirectories);

  it("make and show a Group", async () => {
    const { call, group, group_id: groupId, close } = await setting();
    assert.equal(group.title, "Team");
    assert.deepEqual(group.settings, {
      default_send_to: "foreman",
      min_interval_seconds: 0,
      mail_notice_after_seconds: 1800,
      reply_notice_after_seconds: 900,
      start_actors: false,
    });
    const shown = await call("group_show", { group_id: groupId });
    const { summary, ...rest } = shown;
    assert.deepEqual(rest, group);
    assert.deepEqual([summary.title, summary.actors, summary.unread], ["Team", 0, 0]);
    await assert.rejects(call("group_show", { group_id: "g_ffffffffffff" }), code("group_not_found"));
    await close();
  });

  it("list what the caller may see, most recently active first", async () => {
    const { call, group_id: groupId, registry, close } = await setting();
    const other = (await call("group_create", { title: "Other" })).group_id;
    await call("actor_add", { group_id: groupId, actor_id: "ann" });
    const ids = async (caller?: Caller) =>
      (await call("group_list", {}, caller)).groups.map((group) => group.group_id);
    assert.deepEqual(await ids(), [groupId, other]);
    await call("group_update", { group_id: other, topic: "New" });
    assert.deepEqual(await ids(), [other, groupId]);
    const groups = new Set([other]);
    assert.deepEqual(await ids({ kind: "member", by: "user", token_id: "t", groups }), [other]);
    assert.deepEqual(await ids({ kind: "exhibit", by: "exhibit", token_id: "t", groups }), [other]);
    const ann = asActor(registry.get(groupId), "ann");
    assert.deepEqual(await ids(ann), [groupId]);
    await assert.rejects(call("group_show", { group_id: other }, ann), code("group_not_found"));
    await close();
  });

  it("hide from the exhibit how Actors are run and where", async () => {
    const { call, group_id: groupId, close } = await setting();
    const path = temporaryDirectory();
    await call("attach", { group_id: groupId, path });
    await call("actor_add", { group_id: groupId, actor_id: "ann", env: { A: "inner" }, command: ["inner"] });
    await call("actor_secrets", { group_id: groupId, actor_id: "ann", set: { INNER: "x" } });
    const groups = new Set([groupId]);
    const exhibit: Caller = { kind: "exhibit", by: "exhibit", token_id: "t", groups };
    const answers = JSON.stringify([
      await call("group_show", { group_id: groupId }, exhibit),
      await call("actor_list", { group_id: groupId }, exhibit),
    ]);
    assert.ok(!/inner/i.test(answers) && !answers.includes(path));
    await close();
  });

  it("change what is named and nothing else", async () => {
    const { call, group_id: groupId, registry, close } = await setting();
    const before = registry.get(groupId).record;
    const group = await call("group_update", {
      group_id: groupId,
      title: "New",
      settings: { min_interval_seconds: 5 },
    });
    assert.equal(group.title, "New");
    assert.equal(group.topic, before.topic);
    assert.deepEqual(group.settings, { ...before.settings, min_interval_seconds: 5 });
    const after = registry.get(groupId).record;
    await call("group_update", { group_id: groupId, title: "New", settings: {} });
    assert.equal(registry.get(groupId).record, after);
    await assert.rejects(
      call("group_update", { group_id: groupId, active_scope_key: "s_000000000000" }),
      code("scope_not_attached"),
    );
    await close();
  });

  it("set the state, once", async () => {
    const { call, group_id: groupId, registry, close } = await setting();
    const { ledger } = registry.get(groupId);
    assert.equal((await call("group_stop", { group_id: groupId })).state, "stopped");
    assert.equal((await call("group_set_state", { group_id: groupId, state: "paused" })).state, "paused");
    const { count } = ledger;
    await call("group_set_state", { group_id: groupId, state: "paused" });
    assert.equal(ledger.count, count);
    assert.equal((await call("group_start", { group_id: groupId })).state, "active");
    assert.deepEqual(ledger.read(count).data, { state: "active" });
    await close();
  });

  it("refuse titles that mislead the eye", async () => {
    const { call, close } = await setting();
    for (const title of ["", "   ", "a\u200bb", "a\u202eb", "a\u0000", "a\nb", "\ud800", "x".repeat(1025)]) {
      await assert.rejects(call("group_create", { title }), code("invalid_args"), JSON.stringify(title));
    }
    await close();
  });
});

describe("attach", () => {
  after(removeTemporaryDirectories);

  it("makes a Group for a new project and finds it again", async () => {
    const { call, registry, close } = await setting();
    const path = join(temporaryDirectory(), "project");
    mkdirSync(path);
    const first = await call("attach", { path });
    assert.equal(first.created, true);
    const group = registry.get(first.group_id);
    assert.equal(group.record.title, "project");
    assert.equal(group.record.active_scope_key, first.scope_key);
    const { count } = group.ledger;
    assert.deepEqual(await call("attach", { path }), { ...first, created: false });
    assert.equal(group.ledger.count, count);
    await close();
  });

  it("binds to the Group that is named, whichever has the project already", async () => {
    const { call, group_id: groupId, registry, close } = await setting();
    const path = temporaryDirectory();
    const first = await call("attach", { path });
    const second = await call("attach", { path, group_id: groupId });
    assert.deepEqual(second, { group_id: groupId, scope_key: first.scope_key, created: false });
    const other = await call("attach", { path: temporaryDirectory(), group_id: groupId });
    const { record } = registry.get(groupId);
    assert.deepEqual(
      record.scopes.map(({ scope_key: scopeKey }) => scopeKey),
      [second.scope_key, other.scope_key],
    );
    assert.equal(record.active_scope_key, second.scope_key);
    await call("group_update", { group_id: groupId, active_scope_key: other.scope_key });
    assert.equal(registry.get(groupId).record.active_scope_key, other.scope_key);
    await close();
  });

  it("takes another clone of the same remote as the same scope in its new place", async () => {
    const { call, registry, close } = await setting();
    const clone = () => {
      const path = temporaryDirectory();
      mkdirSync(join(path, ".git"));
      const remote = '[remote "origin"]\n\turl = git@example.org:team/app.git\n';
      writeFileSync(join(path, ".git", "config"), remote);
      return path;
    };
    const [one, two] = [clone(), clone()];
    const first = await call("attach", { path: one });
    rmSync(one, { recursive: true });
    assert.deepEqual(await call("attach", { path: two }), { ...first, created: false });
    const [scope] = registry.get(first.group_id).record.scopes;
    assert.deepEqual([scope?.path, scope?.git_remote], [two, "example.org/team/app"]);
    await close();
  });

  it("refuses what is no project and more than a Group may have", async () => {
    const { call, group_id: groupId, root, close } = await setting();
    for (const path of ["relative", join(root, "none"), root, join(root, "groups")]) {
      await assert.rejects(call("attach", { path }), code("invalid_project_root"), path);
    }
    const parent = temporaryDirectory();
    for (let at = 0; at < LIMITS.group.scopes; at += 1) {
      mkdirSync(join(parent, String(at)));
      await call("attach", { group_id: groupId, path: join(parent, String(at)) });
    }
    mkdirSync(join(parent, "more"));
    await assert.rejects(
      call("attach", { group_id: groupId, path: join(parent, "more") }),
      code("limit_reached"),
    );
    await close();
  });
});

describe("access tokens", () => {
  after(removeTemporaryDirectories);

  it("are shown once; only the digest is kept", async () => {
    const { call, group_id: groupId, accessTokens, paths, close } = await setting();
    const administrator = await call("access_token_create", { name: "Laptop" });
    const restricted = await call("access_token_create", { groups: [groupId, groupId] });
    const exhibit = await call("access_token_create", { groups: [groupId], exhibit: true });
    assert.match(administrator.token, /^svc_[A-Za-z0-9_-]{43}$/);
    assert.equal(accessTokens.verify(administrator.token)?.kind, "administrator");
    assert.deepEqual(accessTokens.verify(restricted.token)?.groups, [groupId]);
    assert.equal(accessTokens.verify(exhibit.token)?.kind, "exhibit");
    const stored = readFileSync(paths.settings, "utf8");
    const listed = JSON.stringify(await call("access_token_list", {}));
    for (const { token } of [administrator, restricted, exhibit]) {
      assert.ok(!stored.includes(token.slice(4)) && !listed.includes(token.slice(4)));
    }
    assert.ok(!listed.includes("digest"));
    for (const wrong of ["", "svc_", administrator.token.slice(4), `${administrator.token}A`]) {
      assert.equal(accessTokens.verify(wrong), null);
    }
    await close();
  });

  it("need existing Groups when they are restricted", async () => {
    const { call, close } = await setting();
    await assert.rejects(call("access_token_create", { groups: [] }), code("invalid_args"));
    await assert.rejects(call("access_token_create", { exhibit: true }), code("invalid_args"));
    await assert.rejects(
      call("access_token_create", { groups: ["g_ffffffffffff"] }),
      code("group_not_found"),
    );
    await close();
  });

  it("end at once when they are revoked, and stay ended", async () => {
    const { call, accessTokens, root, close } = await setting();
    const { id, token } = await call("access_token_create", {});
    const told: string[] = [];
    accessTokens.onRevoked((tokenId) => told.push(tokenId));
    assert.equal(accessTokens.find(id)?.id, id);
    await call("access_token_revoke", { token_id: id });
    assert.deepEqual(told, [id]);
    assert.equal(accessTokens.verify(token), null);
    assert.equal(accessTokens.find(id), null);
    await assert.rejects(call("access_token_revoke", { token_id: id }), code("token_not_found"));
    await close();
    const again = await openGroups(root);
    assert.equal(again.accessTokens.verify(token), null);
    await again.close();
  });

  it("note their last use at once in memory, and on disk once in a while", async () => {
    const { call, accessTokens, clock, root, settings, close } = await setting();
    const { id, token } = await call("access_token_create", {});
    const written = settings.value;
    for (let use = 0; use < 100; use += 1) accessTokens.verify(token);
    assert.equal(settings.value, written, "a use was written at once");
    const { last_used_at: lastUsedAt } = accessTokens.find(id)!;
    assert.ok(lastUsedAt !== null);
    assert.deepEqual([clock.timers, clock.foregroundTimers], [1, 0]);
    clock.advanceToTimer();
    await settings.update((value) => value);
    assert.equal(settings.value.access_tokens[0]?.last_used_at, lastUsedAt);
    // Sessions of browsers use it by its id.
    accessTokens.use(id);
    await accessTokens.close();
    await close();
    const again = await openGroups(root);
    assert.ok(again.accessTokens.find(id)!.last_used_at! > lastUsedAt);
    await again.close();
  });

  it("are bounded", async () => {
    const { call, settings, close } = await setting();
    await call("access_token_create", {});
    await settings.update((value) => ({
      ...value,
      access_tokens: Array.from({ length: LIMITS.accessToken.perHome }, () => value.access_tokens[0]!),
    }));
    await assert.rejects(call("access_token_create", {}), code("limit_reached"));
    await close();
  });
});
