/** What a peer is shown of Groups and Actors. */
import assert from "node:assert/strict";
import { LIMITS } from "../../shared/limits.ts";
import { RESERVED_ACTOR_IDS } from "../../shared/model.ts";
import { refusal } from "../messaging/setting.ts";
import { verifies } from "../requirements.ts";
import { deliverOperation, refused, Target } from "./receiver-setting.ts";

describe("Receiver: catalog", () => {
  let target: Target;

  afterEach(() => target.home.remove());

  it("shows Groups in pages of 64 in the order of their ids, to the account", async () => {
    verifies("PEER-007", "PEER-016", "CAT-001", "CAT-002", "CAT-003");
    target = await Target.open("account");
    for (let count = 1; count < 130; count += 1) await target.home.group();
    const first = await target.catalog();
    assert.equal(first.groups.length, LIMITS.connect.catalog.groups);
    const second = await target.catalog(first.next);
    const third = await target.catalog(second.next);
    assert.deepEqual([second.groups.length, third.groups.length, third.next], [64, 2, null]);
    const ids = [first, second, third].flatMap(({ groups }) =>
      groups.map(({ group_id: groupId }) => groupId),
    );
    assert.deepEqual(
      ids,
      target.home.registry
        .list()
        .map(({ group_id: groupId }) => groupId)
        .sort(),
    );
    assert.deepEqual((await target.catalog("zzz")).groups, []);
  });

  it("needs a Group that can be read, also while something is written to it", async () => {
    verifies("PEER-008");
    target = await Target.open("account");
    const { group_id: groupId } = target;
    const release = await target.group.permit.acquireWrite();
    assert.equal((await target.catalog(null, groupId)).groups.length, 1);
    release();
    await target.home.call("group_delete", { group_id: groupId, confirm: groupId });
    const operation = { op: "catalog" as const, source_group_id: "", target_group_id: groupId, after: null };
    assert.equal(refused(await target.ask(operation)), "connect_group_not_found");
    assert.deepEqual((await target.catalog()).groups, []);
  });

  it("doesn't offer a command that nobody said reads prompts, and takes nothing for it", async () => {
    target = await Target.open("account");
    const { group_id: groupId } = target;
    const shell = { runner: "pty" as const, runtime: "custom" as const, command: ["bash"] };
    await target.home.call("actor_add", { group_id: groupId, actor_id: "shell", ...shell });
    const offered = async () => (await target.catalog(null, groupId)).groups[0]!.actors.map(({ id }) => id);
    assert.deepEqual(await offered(), ["ann", "bob"]);
    await target.home.call("actor_update", { group_id: groupId, actor_id: "shell", prompts: true });
    assert.deepEqual(await offered(), ["ann", "bob", "shell"]);
  });

  it("shows titles and Actors, and nothing of how they run", async () => {
    verifies("CAT-004", "CAT-005", "CAT-007");
    target = await Target.open("account");
    const { group_id: groupId } = target;
    const marked = {
      actor_id: "eve",
      title: "Eve",
      command: ["a-secret-command"],
      env: { KEY: "a-secret-value" },
    };
    await target.home.call("actor_add", { group_id: groupId, ...marked });
    await target.home.call("actor_stop", { group_id: groupId, actor_id: "eve" });
    const page = await target.catalog(null, groupId);
    assert.deepEqual(page, {
      groups: [
        {
          group_id: groupId,
          title: "Test",
          actors: ["ann", "bob", "eve"].map((id) => ({
            id,
            title: id === "eve" ? "Eve" : "",
            generation: target.group.actor(id).generation,
            enabled: id !== "eve",
            role: id === "ann" ? "foreman" : "peer",
          })),
        },
      ],
      next: null,
    });
    assert.ok(!JSON.stringify(page).includes("secret"));
    assert.equal(
      refused(
        await target.ask({ op: "catalog", source_group_id: "", target_group_id: "g_none", after: null }),
      ),
      "connect_group_not_found",
    );
  });

  it("shows the Actors that everybody here sees, and nobody else who speaks in a Group", async () => {
    verifies("CAT-006");
    target = await Target.open("account");
    const { group_id: groupId } = target;
    // Whatever is said by others than visible Actors: the person, the daemon, and one who is gone.
    await target.home.call("actor_add", { group_id: groupId, actor_id: "gone" });
    await target.home.call("send", { group_id: groupId, text: "to one who is gone", to: ["gone"] });
    await target.home.call("actor_remove", { group_id: groupId, actor_id: "gone" });
    for (const actorId of RESERVED_ACTOR_IDS)
      await assert.rejects(
        target.home.call("actor_add", { group_id: groupId, actor_id: actorId }),
        refusal("invalid_args"),
      );
    for (const hidden of [{ visible: false }, { internal: true }, { hidden: true }])
      await assert.rejects(
        target.home.call("actor_add", { group_id: groupId, actor_id: "inside", ...hidden }),
        refusal("invalid_args"),
      );
    const { actors } = await target.home.call("actor_list", { group_id: groupId });
    const [group] = (await target.catalog(null, groupId)).groups;
    assert.deepEqual(
      group!.actors.map(({ id }) => id),
      actors.map(({ id }) => id),
    );
    assert.deepEqual(
      group!.actors.map(({ id }) => id),
      ["ann", "bob"],
    );
  });

  for (const way of ["external", "direct"] as const) {
    it(`shows the one Group of a pair, to that pair (${way})`, async () => {
      verifies("PEER-016", "PEER-017");
      target = await Target.open(way);
      const other = await target.home.group("cleo");
      const { groups, next } = await target.catalog();
      assert.deepEqual([groups.map(({ group_id: groupId }) => groupId), next], [[target.group_id], null]);
      const connectionId = target.connection_id!;
      const ask = (targetGroupId: string, sourceGroupId: string) =>
        target.ask({
          op: "catalog",
          connection_id: connectionId,
          source_group_id: sourceGroupId,
          target_group_id: targetGroupId,
          after: null,
        });
      await assert.rejects(ask(other, "g_there"), refusal("connect_peer_denied"));
      await assert.rejects(ask(target.group_id, "g_other"), refusal("connect_peer_denied"));
    });
  }

  it("ends a page early rather than over 1 MiB", async () => {
    verifies("CAT-001");
    target = await Target.open("account");
    const { registry } = target.home;
    const title = "\\".repeat(1000);
    for (let count = 0; count < 4; count += 1) {
      const groupId = await target.home.group();
      await registry.get(groupId).update(
        (record) => ({
          ...record,
          actors: Array.from({ length: 250 }, (_, at) => ({
            ...target.group.actor("ann"),
            id: `a${at}`,
            title,
          })),
        }),
        { kind: "group.update", by: "user", data: { fields: ["title"] } },
      );
    }
    const seen: string[] = [];
    let after: string | null = null;
    let pages = 0;
    do {
      const { groups, next } = await target.catalog(after);
      assert.ok(Buffer.byteLength(JSON.stringify({ groups, next })) <= LIMITS.connect.catalogPageBytes);
      seen.push(...groups.map(({ group_id: groupId }) => groupId));
      after = next;
      pages += 1;
    } while (after !== null);
    assert.ok(pages > 1);
    assert.deepEqual(
      seen,
      registry
        .list()
        .map(({ group_id: groupId }) => groupId)
        .sort(),
    );
  });

  it("answers within its bounds whatever is refused", async () => {
    target = await Target.open("account");
    const request = target.request(
      deliverOperation(
        target.message({ recipients: [{ ...target.recipient("ann"), generation: "x".repeat(128) }] }),
      ),
    );
    const response = await target.receiver.receive(request, target.arrival);
    assert.ok(Buffer.byteLength(JSON.stringify(response)) <= LIMITS.connect.answerBytes);
    refused(target.checked(request, response));
  });
});
