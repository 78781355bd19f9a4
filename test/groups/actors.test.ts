import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ErrorCode, Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import { RESERVED_ACTOR_IDS } from "../../shared/model.ts";
import type { Caller } from "../../shared/operations/caller.ts";
import { type InputOf, OPERATIONS } from "../../shared/operations/registry.ts";
import { removeTemporaryDirectories, temporaryDirectory } from "../home/setting.ts";
import { verifies } from "../requirements.ts";
import { USER } from "../support/services.ts";
import { asActor, openGroups } from "./setting.ts";

function code(expected: ErrorCode): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof Refusal, String(error));
    assert.equal(error.code, expected);
    return true;
  };
}

/** A Group with a foreman and two peers. */
async function team() {
  const root = temporaryDirectory();
  const setting = await openGroups(root);
  const { group_id: groupId } = await setting.call("group_create", { title: "Team" });
  for (const actorId of ["lead", "ann", "bob"])
    await setting.call("actor_add", { group_id: groupId, actor_id: actorId });
  const group = setting.registry.get(groupId);
  return { ...setting, root, group_id: groupId, group };
}

function ledgerText(setting: Awaited<ReturnType<typeof team>>): string {
  const { ledger } = setting.group;
  return JSON.stringify(Array.from({ length: ledger.count }, (_, at) => ledger.read(at)));
}

function tokenOf(file: string): string {
  return (JSON.parse(readFileSync(file, "utf8")) as { token: string }).token;
}

describe("Actors", () => {
  after(removeTemporaryDirectories);

  it("aren't started, stopped or restarted for a token that was revoked while the Group was busy", async () => {
    const { call, group, group_id: groupId, accessTokens } = await team();
    await call("actor_stop", { group_id: groupId, actor_id: "ann" });
    for (const [operation, actorId] of [
      ["actor_start", "ann"],
      ["actor_stop", "bob"],
      ["actor_restart", "bob"],
    ] as const) {
      const { id } = await accessTokens.create({ name: "tablet", kind: "administrator", groups: [] });
      const release = await group.permit.acquireWrite();
      const { count } = group.ledger;
      const asked = call(operation, { group_id: groupId, actor_id: actorId }, {
        ...USER,
        via: "web",
        token_id: id,
      } as Caller);
      await accessTokens.revoke(id);
      release();
      await assert.rejects(asked, code("unauthenticated"), operation);
      assert.equal(group.ledger.count, count);
    }
    assert.deepEqual(
      group.record.actors.map(({ enabled }) => enabled),
      [true, false, true],
    );
  });

  it("are added in order, the first as foreman, each with a fresh generation and a token file", async () => {
    verifies("MSG-015");
    const setting = await team();
    const { actors } = await setting.call("actor_list", { group_id: setting.group_id });
    assert.deepEqual(
      actors.map(({ id, role }) => [id, role]),
      [
        ["lead", "foreman"],
        ["ann", "peer"],
        ["bob", "peer"],
      ],
    );
    assert.equal(new Set(actors.map(({ generation }) => generation)).size, 3);
    for (const { id, generation } of actors) {
      const file = setting.group.paths.tokenFile(id);
      assert.equal(statSync(file).mode & 0o777, 0o600);
      const { digest: _digest, ...identity } = setting.launchTokens.verify(tokenOf(file))!;
      assert.deepEqual(identity, {
        group_id: setting.group_id,
        actor_id: id,
        generation,
      });
    }
    await setting.close();
  });

  it("have titles that nobody takes for the person, for the daemon or for several Actors", async () => {
    const { call, group_id: groupId, close } = await team();
    for (const title of ["user", " User ", "\uff35ser", "SYSTEM", "@all", " @anybody"]) {
      await assert.rejects(
        call("actor_add", { group_id: groupId, actor_id: "x", title }),
        code("invalid_args"),
        title,
      );
      await assert.rejects(
        call("actor_update", { group_id: groupId, actor_id: "ann", title }),
        code("invalid_args"),
        title,
      );
    }
    for (const title of ["", "Users", "system tests", "a@b"]) {
      assert.equal(
        (await call("actor_update", { group_id: groupId, actor_id: "ann", title })).actor.title,
        title,
      );
    }
    await close();
  });

  it("have ids that are neither reserved nor another's in other case, and are bounded", async () => {
    const setting = await team();
    const { group_id: groupId } = setting;
    for (const actorId of ["Ann", "ANN", "ann"]) {
      await assert.rejects(
        setting.call("actor_add", { group_id: groupId, actor_id: actorId }),
        code("already_exists"),
      );
    }
    for (const actorId of [...RESERVED_ACTOR_IDS, "User", "-x", "", "a".repeat(33), "é", "../x"]) {
      await assert.rejects(
        setting.call("actor_add", { group_id: groupId, actor_id: actorId }),
        code("invalid_args"),
        actorId,
      );
    }
    await assert.rejects(
      setting.call("actor_add", { group_id: groupId, actor_id: "x", title: "a\u200bb" }),
      code("invalid_args"),
    );
    assert.equal(setting.group.record.actors.length, 3);
    const many = LIMITS.group.actors - 3;
    await setting.group.update(
      (record) => ({
        ...record,
        actors: [
          ...record.actors,
          ...Array.from({ length: many }, (_, at) => ({ ...record.actors[0]!, id: `n${at}` })),
        ],
      }),
      { kind: "group.update", by: "user", data: { fields: ["actors"] } },
    );
    await assert.rejects(
      setting.call("actor_add", { group_id: groupId, actor_id: "one-more" }),
      code("limit_reached"),
    );
    assert.ok(!existsSync(setting.group.paths.tokenFile("one-more")));
    await setting.close();
  });

  it("keep their generation over edits, stops and restarts; a removed one's successor is another", async () => {
    verifies("MSG-015", "MSG-016", "MSG-017", "MSG-022");
    const setting = await team();
    const { group_id: groupId, group } = setting;
    const { generation } = group.actor("ann");
    const who = { group_id: groupId, actor_id: "ann" };
    await setting.call("actor_update", { ...who, title: "Ann", env: { A: "1" }, command: ["run"] });
    await setting.call("actor_stop", who);
    await setting.call("actor_start", who);
    await setting.call("actor_restart", who);
    assert.equal(group.actor("ann").generation, generation);
    await setting.call("actor_secrets", { ...who, set: { KEY: "hidden" } });
    const token = tokenOf(group.paths.tokenFile("ann"));
    await setting.call("actor_remove", who);
    assert.throws(() => group.actor("ann"), code("actor_not_found"));
    assert.equal(setting.launchTokens.verify(token), null);
    assert.ok(!existsSync(group.paths.tokenFile("ann")));
    assert.ok(!existsSync(group.paths.privateEnvironmentFile("ann")));
    const { actor } = await setting.call("actor_add", who);
    assert.notEqual(actor.generation, generation);
    assert.deepEqual([actor.private_env, actor.title, actor.env], [[], "", {}]);
    assert.equal(setting.launchTokens.verify(token), null);
    await setting.close();
  });

  it("leave events that name what changed and hold no value of command or environment", async () => {
    const setting = await team();
    const who = { group_id: setting.group_id, actor_id: "ann" };
    await setting.call("actor_update", {
      ...who,
      env: { A: "sensitive" },
      command: ["sensitive"],
      title: "A",
    });
    await setting.call("actor_secrets", { ...who, set: { KEY: "sensitive" } });
    await setting.call("actor_stop", who);
    await setting.call("actor_restart", who);
    await setting.call("actor_remove", who);
    const kinds = Array.from(
      { length: setting.group.ledger.count },
      (_, at) => setting.group.ledger.read(at).kind,
    );
    assert.deepEqual(kinds, [
      "group.create",
      "actor.add",
      "actor.add",
      "actor.add",
      "actor.update",
      "actor.secrets",
      "actor.stop",
      "actor.restart",
      "actor.remove",
    ]);
    assert.ok(!ledgerText(setting).includes("sensitive"));
    await setting.close();
  });

  it("aren't touched by a change that changes nothing", async () => {
    const setting = await team();
    const before = setting.group.record;
    const who = { group_id: setting.group_id, actor_id: "ann" };
    await setting.call("actor_update", { ...who, enabled: true, title: "", env: {} });
    await setting.call("actor_start", who);
    assert.equal(setting.group.record, before);
    await setting.close();
  });

  it("may name only an attached scope", async () => {
    const setting = await team();
    const { group_id: groupId } = setting;
    const scopeKey = "s_000000000000";
    await assert.rejects(
      setting.call("actor_add", { group_id: groupId, actor_id: "x", scope_key: scopeKey }),
      code("scope_not_attached"),
    );
    await assert.rejects(
      setting.call("actor_update", { group_id: groupId, actor_id: "ann", scope_key: scopeKey }),
      code("scope_not_attached"),
    );
    const attached = await setting.call("attach", { group_id: groupId, path: temporaryDirectory() });
    const { actor } = await setting.call("actor_add", {
      group_id: groupId,
      actor_id: "x",
      scope_key: attached.scope_key,
    });
    assert.equal(actor.scope_key, attached.scope_key);
    await setting.call("actor_update", { group_id: groupId, actor_id: "x", scope_key: null });
    assert.equal(setting.group.actor("x").scope_key, null);
    await setting.close();
  });
});

describe("permissions on Actors", () => {
  after(removeTemporaryDirectories);

  it("follow the table: user, foreman, an Actor itself, a peer", async () => {
    const setting = await team();
    const { group_id: groupId, group } = setting;
    const member: Caller = { kind: "member", by: "user", token_id: "t", groups: new Set([groupId]) };
    const exhibit: Caller = { kind: "exhibit", by: "exhibit", token_id: "t", groups: new Set([groupId]) };
    const foreman = asActor(group, "lead");
    const ann = asActor(group, "ann");
    const former: Caller = { ...ann, generation: "before" } as Caller;
    const elsewhere: Caller = { ...foreman, group_id: "g_ffffffffffff" } as Caller;
    const everybody = { USER, foreman, ann, former, elsewhere, member, exhibit };
    const allowed: Record<string, (keyof typeof everybody)[]> = {
      "actor_start ann": ["USER", "foreman"],
      "actor_stop ann": ["USER", "foreman", "ann"],
      "actor_restart ann": ["USER", "foreman", "ann"],
      "actor_stop lead": ["USER", "foreman"],
      "actor_restart lead": ["USER", "foreman"],
      "actor_update ann": ["USER"],
      "actor_secrets ann": ["USER"],
      "actor_add new": ["USER", "foreman"],
      "actor_remove new": ["USER", "foreman"],
      "actor_remove lead": ["USER"],
      "actor_remove ann": ["USER", "foreman"],
    };
    for (const [what, who] of Object.entries(allowed)) {
      const [name, actorId] = what.split(" ") as ["actor_start", string];
      const actorsMay = OPERATIONS.get(name)!.callers.includes("actor");
      // Whoever may not comes first, so that what they may not destroy is still there.
      const callers = Object.entries(everybody).sort(([one]) => (who.includes(one as "USER") ? 1 : -1));
      for (const [kind, caller] of callers) {
        if (!who.includes(kind as "USER")) {
          await assert.rejects(
            setting.call(name, { group_id: groupId, actor_id: actorId }, caller),
            code(kind === "elsewhere" && actorsMay ? "group_not_found" : "permission_denied"),
            `${what} by ${kind}`,
          );
        }
      }
      const may = who.includes("foreman") ? foreman : USER;
      if (what !== "actor_remove lead")
        await setting.call(name, { group_id: groupId, actor_id: actorId }, may);
    }
    await setting.close();
  });
});

describe("permissions on Actors that change while others have the Group", () => {
  after(removeTemporaryDirectories);

  for (const name of ["actor_start", "actor_stop", "actor_restart"] as const) {
    it(`hold when ${name} gets its turn`, async () => {
      const setting = await team();
      const { group_id: groupId, group } = setting;
      const actorId = "ann";
      const who = name === "actor_start" ? "lead" : "ann";
      const release = await group.permit.acquireWrite();
      const late = setting.call(name, { group_id: groupId, actor_id: actorId }, asActor(group, who));
      // Both had their turn before, and end now.
      const context = { caller: USER, signal: new AbortController().signal };
      await setting.handlers.actor_remove!({ group_id: groupId, actor_id: who }, context);
      const add = OPERATIONS.get("actor_add")!.input.parse({
        group_id: groupId,
        actor_id: who,
        enabled: true,
      });
      const { token_file: tokenFile } = await setting.handlers.actor_add!(
        add as InputOf<"actor_add">,
        context,
      );
      const token = tokenOf(tokenFile);
      release();
      await assert.rejects(late, code("permission_denied"));
      assert.equal(setting.launchTokens.verify(token)?.actor_id, who);
      assert.equal(group.actor(who).enabled, true);
      await setting.close();
    });
  }
});

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
