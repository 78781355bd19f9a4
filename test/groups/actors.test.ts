import assert from "node:assert/strict";
import { existsSync, statSync } from "node:fs";
import { LIMITS } from "../../shared/limits.ts";
import { RESERVED_ACTOR_IDS } from "../../shared/model.ts";
import type { Caller } from "../../shared/operations/caller.ts";
import { type InputOf, OPERATIONS } from "../../shared/operations/registry.ts";
import { removeTemporaryDirectories, temporaryDirectory } from "../home/setting.ts";
import { verifies } from "../requirements.ts";
import { USER } from "../support/services.ts";
import { asActor, code } from "./setting.ts";
import { ledgerText, team, tokenOf } from "./team.ts";

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

describe("commands and environments", () => {
  after(removeTemporaryDirectories);

  it("are chosen by people: a foreman adds Actors of the catalogue as they are", async () => {
    const { call, group, group_id: groupId, close } = await team();
    const foreman = asActor(group, "lead");
    const wishes = {
      command: { runner: "pty", command: ["bash", "-c", "id"] },
      "command of a runtime": { runner: "pty", runtime: "claude", command: ["claude", "--model", "x"] },
      "command of an external one": { runner: "external", command: ["true"] },
      env: { runner: "pty", runtime: "claude", env: { PATH: "/tmp" } },
      prompts: { runner: "external", prompts: true },
      answerable: { runner: "external", answerable: true },
    } as const;
    for (const [wish, fields] of Object.entries(wishes)) {
      const added = call("actor_add", { group_id: groupId, actor_id: "new", ...fields }, foreman);
      await assert.rejects(added, code("permission_denied"), wish);
    }
    await call(
      "actor_add",
      { group_id: groupId, actor_id: "new", runner: "pty", runtime: "claude" },
      foreman,
    );
    await call("actor_add", { group_id: groupId, actor_id: "own", runner: "pty", command: ["true"] });
    assert.deepEqual(group.actor("own").command, ["true"]);
    await close();
  });

  it("of an import are started by a person first", async () => {
    const { call, group, group_id: groupId, close } = await team();
    const foreman = asActor(group, "lead");
    await group.update(
      (record) => ({
        ...record,
        actors: record.actors.map((actor) => (actor.id === "ann" ? { ...actor, unconfirmed: true } : actor)),
      }),
      { kind: "actor.update", by: "user", data: { actor_id: "ann", fields: [] } },
    );
    const ann = { group_id: groupId, actor_id: "ann" };
    for (const operation of ["actor_start", "actor_restart"] as const)
      await assert.rejects(call(operation, ann, foreman), code("permission_denied"), operation);
    await call("actor_start", ann);
    await call("actor_start", ann, foreman);
    await call("actor_restart", ann, foreman);
    await close();
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
