import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { directStateWords } from "../../../shared/direct-words.ts";
import type { Refusal } from "../../../shared/errors.ts";
import { type DirectInvitation, invitationText } from "../../../shared/wire/v1/direct.ts";
import { verifies } from "../../requirements.ts";
import { until } from "../../support/until.ts";
import { GROUP, invitationOf, LISTENER, MINUTE, refuses, rest, stateOf, World } from "./setting.ts";

describe("Direct relations", () => {
  let world: World;
  beforeEach(() => {
    world = new World();
  });
  afterEach(() => world.close());

  it("begin with an invitation that names exactly this Group, once and for thirty minutes", async () => {
    verifies(
      "DRC-007",
      "DRC-008",
      "DRC-009",
      "DRC-010",
      "DRC-011",
      "DRC-012",
      "DRC-026",
      "DRC-047",
      "LIM-052",
    );
    const host = await world.instance("host");
    await assert.rejects(host.direct.invite(GROUP, undefined), refuses("direct_listener_off"));
    await host.direct.configure({ ...LISTENER, address: "office.example:9000" }, "Office", undefined);
    const text = await host.direct.invite(GROUP, undefined);
    assert.match(text, /^svc-direct:[A-Za-z0-9_-]+$/u);
    const one = invitationOf(text);
    const other = invitationOf(await host.direct.invite(GROUP, undefined));
    assert.equal(one.v, 1);
    assert.match(one.id, /^direct-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u);
    assert.notEqual(one.id, other.id);
    assert.notEqual(one.secret, other.secret);
    assert.equal(one.address, "office.example:9000");
    assert.equal(one.host.instance_id, host.identity.instance_id);
    assert.equal(one.host.public_key, host.identity.public_key);
    assert.equal(one.host.generation, "generation-1");
    assert.equal(one.host.name, "Office");
    assert.equal(Date.parse(one.expires_at) - world.clock.now(), 30 * MINUTE);
    assert.equal(directStateWords(host.relation(one.id)), "pending approval");
  });

  it("are refused for a text that isn't an invitation, another version's, our own, or an old one", async () => {
    verifies("DRC-008");
    const { host, joiner, invitation } = await world.joined();
    for (const text of [
      "",
      "svc-direct:",
      invitation.slice(0, -3),
      invitationText({ ...invitationOf(invitation), v: 2 } as unknown as DirectInvitation),
    ]) {
      await assert.rejects(joiner.direct.join(GROUP, text), refuses("direct_invitation_invalid"));
    }
    const own = await host.direct.invite(GROUP, undefined);
    const clone = invitationText({ ...invitationOf(own), id: `direct-${"0".repeat(32)}` });
    await assert.rejects(host.direct.join(GROUP, clone), refuses("direct_invitation_invalid"));
    await assert.rejects(host.direct.join(GROUP, own), refuses("direct_invitation_invalid"));
    const third = await world.instance("third");
    world.clock.advance(30 * MINUTE);
    await assert.rejects(third.direct.join(GROUP, own), refuses("direct_invitation_expired"));
  });

  it("keep the secret from the inviting store, from every status, and from others on the machine", async () => {
    verifies("DRC-014", "DRC-015", "DRC-016", "DRC-017", "DRC-069");
    const { host, joiner, invitation } = await world.joined();
    const { secret } = invitationOf(invitation);
    const stored = (root: string): string => readFileSync(join(root, "direct_connections.json"), "utf8");
    assert.ok(!stored(host.root).includes(secret));
    assert.match(stored(host.root), /"secret_sha256": "[0-9a-f]{64}"/u);
    assert.ok(stored(joiner.root).includes(secret));
    for (const { root, direct } of [host, joiner]) {
      await until("the status is written", () =>
        existsSync(join(root, "state", "connect", "direct_status.json")),
      );
      assert.equal(statSync(join(root, "direct_connections.json")).mode & 0o777, 0o600);
      assert.ok(!JSON.stringify(direct.status(GROUP)).includes(secret));
      assert.ok(!readFileSync(join(root, "state", "connect", "direct_status.json"), "utf8").includes(secret));
    }
  });

  it("become active by the receiver's explicit approval alone, and come online", async () => {
    verifies("DRC-024", "DRC-027", "DRC-029", "DRC-042", "DRC-049", "DRC-091");
    const { host, joiner, id } = await world.joined();
    assert.equal(directStateWords(host.relation(id)), "pending approval");
    assert.equal(directStateWords(joiner.relation(id)), "pending approval");
    await assert.rejects(joiner.direct.approve(GROUP, id), refuses("direct_state"));
    for (let round = 0; round < 4; round += 1) {
      world.clock.advance(5000);
      await rest();
    }
    assert.equal(joiner.relation(id).state, "pending");
    await host.direct.approve(GROUP, id);
    assert.equal(directStateWords(host.relation(id)), "active but offline");
    world.clock.advance(5000);
    await until("online", () => joiner.relation(id).online && host.relation(id).online);
    assert.equal(directStateWords(joiner.relation(id)), "online");
    await host.direct.approve(GROUP, id);
    assert.equal(host.relation(id).state, "active");
  });

  it("take the same invitation again without a change, and no other use of it", async () => {
    verifies("DRC-001", "DRC-013", "DRC-028");
    const { host, joiner, id, invitation } = await world.joined();
    assert.equal(await joiner.direct.join(GROUP, invitation), id);
    assert.equal(joiner.direct.status(GROUP).relations.length, 1);
    joiner.groups.set("g_00000000000b", { generation: "other", title: "Other" });
    await assert.rejects(joiner.direct.join("g_00000000000b", invitation), refuses("direct_invitation_used"));
    const thief = await world.instance("thief", { from: "192.0.2.66" });
    await thief.direct.join(GROUP, invitation);
    await until("the thief was turned away", () => thief.relation(id).error !== null);
    assert.match(thief.relation(id).error ?? "", /without answering.*ask for a new invitation/u);
    assert.equal(thief.relation(id).state, "pending");
    assert.equal(host.relation(id).remote?.instance_id, joiner.identity.instance_id);
    assert.match(host.relation(id).error ?? "", /Another instance or Group/u);
  });

  it("are one for a pair of Groups", async () => {
    const { host, joiner } = await world.joined();
    const again = await host.direct.invite(GROUP, undefined);
    await assert.rejects(joiner.direct.join(GROUP, again), refuses("already_exists"));
  });

  it("expire without approval when the receiver says so, and can then be removed", async () => {
    verifies("DRC-030", "DRC-039", "DRC-041", "LIM-052");
    const { host, joiner, id } = await world.joined();
    await assert.rejects(host.direct.remove(GROUP, id), refuses("direct_state"));
    world.clock.advance(30 * MINUTE);
    await until("the host's is expired", () => host.relation(id).state === "expired");
    await assert.rejects(host.direct.approve(GROUP, id), refuses("direct_state"));
    await rest();
    world.clock.advance(60_000);
    await until("the joiner's is expired", () => joiner.relation(id).state === "expired");
    const { dials } = world.network;
    world.clock.advance(10 * MINUTE);
    await rest();
    assert.equal(world.network.dials, dials);
    await host.direct.remove(GROUP, id);
    await joiner.direct.remove(GROUP, id);
    assert.deepEqual(joiner.direct.status(GROUP).relations, []);
  });

  it("end with a word when the receiver came back from a backup without its approval", async () => {
    verifies("DRC-039", "DRC-041");
    const { host, joiner, id } = await world.joined();
    const path = join(host.root, "direct_connections.json");
    const backup = readFileSync(path);
    await host.direct.approve(GROUP, id);
    world.clock.advance(5000);
    await until("both are online", () => joiner.relation(id).online && host.relation(id).online);
    await host.direct.close();
    writeFileSync(path, backup);
    world.clock.advance(31 * MINUTE);
    await host.open();
    await until("the joiner noticed", () => !joiner.relation(id).online);
    await rest();
    world.clock.advance(5000);
    await until("the joiner was told", () => joiner.relation(id).state === "expired");
    await rest();
    assert.match(joiner.relation(id).error ?? "", /has lost its approval.*new invitation/u);
    assert.equal(stateOf(joiner, host, id), "gone");
    const { dials } = world.network;
    world.clock.advance(10 * MINUTE);
    await rest();
    assert.equal(world.network.dials, dials);
    // Something else changed, and it is still to be read.
    await joiner.direct.configure(
      { bind: "192.0.2.11:8847", address: "192.0.2.11:8847" },
      undefined,
      undefined,
    );
    assert.match(joiner.relation(id).error ?? "", /new invitation/u);
    await joiner.direct.remove(GROUP, id);
    assert.deepEqual(joiner.direct.status(GROUP).relations, []);
  });

  it("tell who invited, and approves too late, to invite again", async () => {
    verifies("DRC-029");
    const { host, joiner, id } = await world.joined();
    // The clock was set: nothing that waits for the deadline has come up yet.
    const now = world.clock.now() + 30 * MINUTE;
    world.clock.now = () => now;
    await assert.rejects(host.direct.approve(GROUP, id), (error: Refusal) => {
      assert.equal(error.code, "direct_invitation_expired");
      assert.match(error.message, /Invite the other side again/u);
      return true;
    });
    assert.equal(joiner.relation(id).state, "pending");
  });

  it("that were approved in time aren't told to have expired while the disk takes the approval", async () => {
    const { host, joiner, id } = await world.joined();
    await rest();
    world.clock.advance(30 * MINUTE - 1000);
    await rest();
    host.files.slow = "direct_connections";
    const approved = host.direct.approve(GROUP, id);
    await until("the approval waits for the disk", () => host.files.held.length > 0);
    const { dials } = world.network;
    world.clock.advance(5000);
    await until("the joiner asks", () => world.network.dials > dials);
    await rest();
    host.files.recover();
    await approved;
    await until("the joiner is answered", () => joiner.relation(id).state !== "pending");
    assert.equal(joiner.relation(id).state, "active");
    await until("both are online", () => joiner.relation(id).online && host.relation(id).online);
  });

  it("stay one for a pair of Groups when it comes with two invitations at once", async () => {
    const host = await world.instance("host");
    const joiner = await world.instance("joiner");
    await host.direct.configure(LISTENER, undefined, undefined);
    const invitations = [
      await host.direct.invite(GROUP, undefined),
      await host.direct.invite(GROUP, undefined),
    ];
    host.files.slow = "direct_connections";
    const ids: string[] = [];
    for (const invitation of invitations) {
      // What was asked with the first is taken back before it arrived.
      for (const id of ids) await joiner.direct.revoke(GROUP, id);
      const { dials } = world.network;
      ids.push(await joiner.direct.join(GROUP, invitation));
      await until("the joiner asks", () => world.network.dials > dials);
      await rest();
    }
    host.files.recover();
    await until("both are judged", () =>
      ids.every((id) => host.relation(id).remote !== null || host.relation(id).error !== null),
    );
    assert.equal(ids.filter((id) => host.relation(id).remote !== null).length, 1);
  });

  it("come online again although the disk has no room for the other side's new name", async () => {
    const { host, joiner, id } = await world.connected();
    joiner.groups.set(GROUP, { generation: "generation-1", title: "Renamed" });
    host.files.fail = (step, path) =>
      step === "write" && path.includes("direct_connections")
        ? Object.assign(new Error("full"), { code: "ENOSPC" })
        : null;
    world.network.breakAll();
    await until("it is offline", () => !host.relation(id).online && !joiner.relation(id).online);
    world.clock.advance(5000);
    await until("it is online", () => host.relation(id).online && joiner.relation(id).online);
    assert.equal(host.relation(id).remote?.title, "Group");
    host.files.fail = () => null;
    world.network.breakAll();
    await until("it is offline again", () => !host.relation(id).online && !joiner.relation(id).online);
    world.clock.advance(5000);
    await until("it is online again", () => host.relation(id).online);
    assert.equal(host.relation(id).remote?.title, "Renamed");
  });

  it("are checked every minute past the deadline until the receiver says what became of them", async () => {
    verifies("DRC-025", "DRC-031", "DRC-032", "DRC-040", "LIM-060", "LIM-061");
    const { host, joiner, id } = await world.joined();
    world.network.cut = true;
    await host.direct.approve(GROUP, id);
    await rest();
    world.clock.advance(5000);
    await until("the attempt failed", () => joiner.relation(id).error !== null);
    const { dials } = world.network;
    world.clock.advance(5000);
    await until("it is dialled every 5 seconds", () => world.network.dials === dials + 1);
    await rest();
    world.clock.advance(30 * MINUTE);
    await rest();
    assert.equal(directStateWords(joiner.relation(id)), "checking approval");
    await assert.rejects(joiner.direct.remove(GROUP, id), refuses("direct_state"));
    const overdue = world.network.dials;
    world.clock.advance(55_000);
    await rest();
    assert.equal(world.network.dials, overdue);
    world.network.cut = false;
    world.clock.advance(5000);
    await until("it learns of the approval", () => joiner.relation(id).online);
    assert.equal(host.relation(id).state, "active");
  });
});

/** What a connection is worth at `here`. */
