import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { PeerRequest } from "../../../daemon/peers/transport.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { parseInvitationText } from "../../../shared/wire/v1/direct.ts";
import { verifies } from "../../requirements.ts";
import { until } from "../../support/until.ts";
import { GROUP, invitationOf, LISTENER, refuses, rest, stateOf, World } from "./setting.ts";

describe("Direct relations that end", () => {
  let world: World;
  beforeEach(() => {
    world = new World();
  });
  afterEach(() => world.close());

  it("end for good when either side revokes, and leave a marker when removed", async () => {
    verifies("DRC-018", "DRC-019", "DRC-034", "DRC-035", "DRC-036", "DRC-039", "DRC-041");
    const { host, joiner, id, invitation } = await world.connected();
    await assert.rejects(host.direct.remove(GROUP, id), refuses("direct_state"));
    await host.direct.revoke(GROUP, id);
    await assert.rejects(host.direct.approve(GROUP, id), refuses("direct_state"));
    await host.direct.remove(GROUP, id);
    await until("the channel has ended", () => !joiner.relation(id).online);
    world.clock.advance(5000);
    await until("the joiner knows", () => joiner.relation(id).state === "revoked");
    await assert.rejects(joiner.direct.join(GROUP, invitation), refuses("direct_invitation_used"));
    const file = join(joiner.root, "direct_connections.json");
    assert.ok(!readFileSync(file, "utf8").includes(invitationOf(invitation).secret));
    await joiner.direct.remove(GROUP, id);
    await assert.rejects(joiner.direct.join(GROUP, invitation), refuses("direct_invitation_used"));
    const kept = readFileSync(join(joiner.root, "direct_connections.json"), "utf8");
    assert.ok(kept.includes(id));
    const { secret, host: end } = invitationOf(invitation);
    assert.ok(!kept.includes(secret) && !kept.includes(end.public_key));
  });

  it("leave no secret on the joining side once it revoked, nor one that an earlier version left", async () => {
    verifies("DRC-014");
    const { joiner, id, invitation } = await world.connected();
    const file = join(joiner.root, "direct_connections.json");
    const { secret } = invitationOf(invitation);
    const read = () => readFileSync(file, "utf8");
    assert.ok(read().includes(secret));
    await joiner.direct.revoke(GROUP, id);
    const [revoked] = (JSON.parse(read()) as { relations: { invitation: { secret: string } }[] }).relations;
    assert.ok(!read().includes(secret));
    writeFileSync(file, read().replace(revoked!.invitation.secret, secret));
    await joiner.restart();
    assert.ok(!read().includes(secret));
    assert.equal(joiner.relation(id).state, "revoked");
  });

  it("can be revoked before approval", async () => {
    verifies("DRC-033");
    const { host, joiner, id } = await world.joined();
    await host.direct.revoke(GROUP, id);
    world.clock.advance(5000);
    await until("the joiner knows", () => joiner.relation(id).state === "revoked");
  });

  it("outlive restarts of both ends", async () => {
    const { host, joiner, id } = await world.connected();
    await host.restart();
    await joiner.restart();
    await until("online again", () => joiner.relation(id).online && host.relation(id).online);
  });

  it("are worth nothing while the Group isn't open, and go when it is another one", async () => {
    verifies("DRC-037", "DRC-055");
    const { host, joiner, id } = await world.connected();
    assert.equal(stateOf(host, joiner, id), "granted");
    assert.equal(stateOf(host, joiner, id, "generation-2"), "gone");
    host.groups.delete(GROUP);
    host.direct.groupsChanged();
    await until("the channel has ended", () => !joiner.relation(id).online);
    assert.equal(host.relation(id).current, false);
    world.clock.advance(5000);
    await rest();
    // No answer: "revoked" would be final.
    assert.equal(joiner.relation(id).state, "active");
    assert.equal(joiner.relation(id).online, false);
    host.groups.set(GROUP, { generation: "generation-2", title: "Group" });
    host.direct.groupsChanged();
    await until("it is gone", () => host.direct.status(undefined).relations.length === 0);
    world.clock.advance(5000);
    await until("the joiner was told", () => joiner.relation(id).state === "revoked");
  });

  for (const who of ["host", "joiner"] as const)
    it(`are worth nothing once the ${who} has another key`, async () => {
      verifies("DRC-038");
      const { invitation, id, ...both } = await world.connected();
      const parsed = parseInvitationText(invitation)!;
      const { [who]: changed } = both;
      const other = who === "host" ? both.joiner : both.host;
      const online = (): boolean => changed.relation(id).online || other.relation(id).online;
      await changed.rekey();
      // Here nothing is granted, and there nobody comes who could be heard.
      assert.equal(stateOf(changed, other, id), "gone");
      assert.equal(changed.relation(id).current, false);
      await assert.rejects(changed.direct.approve(GROUP, id), refuses("direct_state"));
      await until("the other side noticed", () => !online());
      world.clock.advance(5000);
      await rest();
      assert.ok(!online());
      const asked = other.direct.transport.request(
        { via: "direct", connection_id: id, instance_id: changed.identity.instance_id },
        {} as PeerRequest,
        world.clock.monotonic() + 5000,
        new AbortController().signal,
      );
      assert.equal((await asked).kind, "refused");
      if (who === "host") {
        assert.match(other.relation(id).error ?? "", /another key/u);
        return;
      }
      // Whoever comes with the new key and all that the old one knew gets no answer.
      const { instance_id: instanceId, public_key: publicKey } = changed.identity;
      const at = { host: "192.0.2.10", port: 8847 };
      const link = await changed.links.connect(at, parsed.host.public_key, new AbortController().signal);
      const endpoint = { ...other.relation(id).remote!, instance_id: instanceId, public_key: publicKey };
      let answered = false;
      let ended = false;
      link.receive({ data: () => (answered = true), ended: () => (ended = true) });
      const hello = Buffer.from(JSON.stringify({ id, secret: parsed.secret, endpoint }));
      const head = Buffer.alloc(4);
      head.writeUInt32BE(hello.length);
      link.send(Buffer.concat([head, hello]), () => {});
      await until("it is turned away", () => ended);
      assert.ok(!answered && !online());
    });

  it("go with their Group when it was deleted or reset for good, and make room", async () => {
    verifies("DRC-074", "DRC-075");
    const host = await world.instance("host");
    await host.direct.configure(LISTENER, undefined, undefined);
    for (let count = 0; count < LIMITS.direct.relations; count += 1)
      await host.direct.invite(GROUP, undefined);
    await assert.rejects(host.direct.invite(GROUP, undefined), refuses("limit_reached"));
    // Rolled back: the Group is what it was.
    await host.direct.retireGroup(GROUP);
    assert.equal(host.direct.status(GROUP).relations.length, LIMITS.direct.relations);
    host.groups.set(GROUP, { generation: "generation-2", title: "Group" });
    await host.direct.retireGroup(GROUP);
    assert.deepEqual(host.direct.status(GROUP).relations, []);
    await host.direct.invite(GROUP, undefined);
    host.groups.delete(GROUP);
    await host.direct.retireGroup(GROUP);
    assert.deepEqual(host.direct.status(GROUP).relations, []);
  });

  it("of a Group that is another one at the start go, and their peer is told that they are over", async () => {
    verifies("DRC-075");
    const { host, joiner, id } = await world.connected();
    await host.direct.close();
    host.groups.set(GROUP, { generation: "generation-2", title: "Group" });
    await host.open();
    assert.deepEqual(host.direct.status(undefined).relations, []);
    await until("the joiner noticed", () => !joiner.relation(id).online);
    world.clock.advance(5000);
    await until("the joiner was told", () => joiner.relation(id).state === "revoked");
  });

  it("of a Group that is gone can be seen, revoked and removed by its id", async () => {
    verifies("DRC-072");
    const { host, id } = await world.connected();
    host.groups.delete(GROUP);
    await host.restart();
    assert.equal(host.direct.status(GROUP).relations[0]?.current, false);
    await host.direct.revoke(GROUP, id);
    await host.direct.remove(GROUP, id);
    assert.deepEqual(host.direct.status(GROUP).relations, []);
  });

  it("that can't be read are said to be so, never to be none, and stay as they are", async () => {
    const { host, id } = await world.joined();
    await host.direct.close();
    const path = join(host.root, "direct_connections.json");
    writeFileSync(path, '{"display_name":');
    await host.open();
    const told = (): unknown => host.direct.status(GROUP);
    assert.throws(told, refuses("storage_failed"));
    assert.throws(told, /can't be read.*Restore it from a backup/u);
    await assert.rejects(host.direct.invite(GROUP, undefined), refuses("storage_failed"));
    await assert.rejects(host.direct.revoke(GROUP, id));
    assert.equal(readFileSync(path, "utf8"), '{"display_name":');
  });

  it("pin the route of their pair, offline and revoked, until they are removed", async () => {
    verifies("DRC-061", "DRC-062", "DRC-064");
    const { host, joiner, id } = await world.connected();
    const query = {
      local_group_id: GROUP,
      local_generation: "generation-1",
      remote_instance_id: joiner.identity.instance_id,
      remote_group_id: GROUP,
    };
    const route = (): unknown => {
      const found = host.direct.authority.forPair(query);
      return found?.state === "granted" ? found.grant.route : found?.state;
    };
    assert.deepEqual(route(), { via: "direct", connection_id: id, instance_id: joiner.identity.instance_id });
    world.network.cut = true;
    world.network.breakAll();
    await until("offline", () => !host.relation(id).online);
    assert.equal(route(), null);
    await host.direct.revoke(GROUP, id);
    assert.equal(route(), "gone");
    const pinned = host.direct.authority.forPair(query);
    const remedy = pinned?.state === "gone" ? (pinned.remedy ?? "") : "";
    assert.ok(remedy.includes(`'svc direct remove ${id} --group ${GROUP}'`), remedy);
    await host.direct.remove(GROUP, id);
    assert.equal(host.direct.authority.forPair(query), null);
    assert.equal(host.direct.authority.forConnection(id, query, { local: "", remote: "" }).state, "gone");
  });
});
