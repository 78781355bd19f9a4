/**
 * Two daemons linked to one account of the real service, which fails, is silent, or takes back what
 * it said.
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { signStatement } from "../../../daemon/peers/wire/statements.ts";
import { frameStatement } from "../../../shared/wire/v1/signing.ts";
import type { FailingProxy } from "../../account/failing-proxy.ts";
import { type TestBrowser, TestInstance, type TestService } from "../../account/service.ts";
import { run } from "../../cli/svc.ts";
import { verifies } from "../../requirements.ts";
import { until } from "../../support/until.ts";
import type { Side } from "../direct/two-homes.ts";
import { identityOf, LinkedPair } from "./linked-pair.ts";
import { renamed } from "./linked-side.ts";

describe("two daemons linked to one account", function () {
  this.timeout(120_000);
  const pair = new LinkedPair();
  const { groupsOf, names, statusOf } = pair;
  let proxy: FailingProxy;
  let service: TestService;
  let ann: TestBrowser;
  let one: Side;
  let two: Side;

  before(async () => {
    await pair.start();
    ({ proxy, service, ann, one, two } = pair);
  });
  after(() => pair.dispose());

  it("take the account's label as it is now, and a new name although the directory fails", async () => {
    verifies("SNAP-006", "SNAP-008", "SNAP-009", "SNAP-012", "DIR-071");
    const { db } = service.store;
    await db.updateTable("members").set({ name: "Ann and Bob" }).execute();
    await renamed(one, "First machine");
    assert.equal((await one.client.result("connect_status", {})).account_label, "Ann and Bob");
    proxy.failing.set("/v1/connect/instances", 500);
    await renamed(one, "Renamed meanwhile");
    proxy.failing.clear();
    assert.notEqual((await one.client.result("connect_status", {})).connect?.error_code, null);
    assert.ok((await names()).includes("Renamed meanwhile"));
    await renamed(one, "First machine");
    proxy.failing.set("/v1/connect/groups", 500);
    await renamed(one, "First machine");
    proxy.failing.clear();
    const { connect } = await one.client.result("connect_status", {});
    assert.equal(connect?.error_code, null);
    assert.notEqual(connect?.group_sync?.error_code, null);
    await renamed(one, "First machine");
    const { connect: mended, group_connections: counts } = await one.client.result("connect_status", {});
    assert.equal(mended?.group_sync?.error_code, null);
    // The other instance of the same account is none of them.
    assert.equal(mended?.directory?.instances.length, 2);
    assert.deepEqual(counts?.counts, { [one.group_id]: 0 });
  });

  it("keep working here while the account service is silent, and turn on no route", async () => {
    verifies("DIR-070", "LIM-008", "ID-010", "ID-011", "ID-012");
    proxy.silent.add("/v1/device/name");
    const renaming = one.client.call("connect_rename", { by: "user", display_name: "Nobody answers" });
    await until("the silence", () =>
      Promise.resolve(proxy.passed.some(({ body }) => body.includes("Nobody answers"))),
    );
    const next = one.client.call("connect_rename", { by: "user", display_name: "The next name" });
    const { event } = await one.client.result("send", { group_id: one.group_id, text: "Here", to: ["lead"] });
    assert.equal(event.kind, "chat.message");
    await one.client.result("group_create", { title: "Made meanwhile" });
    // The next name waits for the first to end.
    assert.ok(!proxy.passed.some(({ body }) => body.includes("The next name")));
    proxy.silent.clear();
    proxy.drop();
    assert.equal((await renaming).ok, false);
    await next;

    const { remote_access: set } = await one.client.result("remote_access_show", {});
    await one.client.result("remote_access_set", { origin: null });
    await renamed(one, "First machine");
    const { connect } = await one.client.result("connect_status", {});
    const own = connect?.directory?.instances.find(
      ({ instance_id: instanceId }) => instanceId === one.instance_id,
    );
    assert.equal(own?.public_origin, null);
    assert.equal((await one.client.result("remote_access_show", {})).remote_access.enabled, false);
    await one.client.result("remote_access_set", { origin: set.origin });
    await renamed(one, "First machine");
  });

  it("say whether they are reached at the origin that they advertise, and what is wrong there", async () => {
    const { remote_access: set } = await one.client.result("remote_access_show", {});
    const { remote_access: others } = await two.client.result("remote_access_show", {});
    const checked = async (origin: string | null) => {
      await one.client.result("remote_access_set", { origin });
      const { code } = await run(["origin", "check"], { home: one.daemon.home });
      return { code, ...(await one.client.result("remote_access_check", {})) };
    };
    assert.deepEqual(await checked(set.origin), {
      code: 0,
      origin: set.origin,
      reached: true,
      problem: null,
    });
    for (const [origin, problem] of [
      [null, /^No origin is set\./u],
      [others.origin, /Another instance answers there\./u],
      ["https://gone.svc.test:9", /Nothing listens at its address/u],
    ] as const) {
      const { code, reached, problem: said } = await checked(origin);
      assert.deepEqual([code, reached], [1, false]);
      assert.match(said ?? "", problem);
    }
    await one.client.result("remote_access_set", { origin: set.origin });
    await renamed(one, "First machine");
  });

  it("don't take the account's word for one that answers nobody", async () => {
    verifies("DIR-043");
    const gone = await service.device(ann);
    const instance = new TestInstance();
    const origin = "https://gone.svc.test:9";
    assert.equal((await gone.register(instance, { public_origin: origin })).status, 200);
    await renamed(one, "First machine");
    const connection = await until("the attempt to reach it", async () => {
      const { connections } = await one.client.result("connection_list", {});
      const found = connections.find(({ remote }) => remote?.instance_id === instance.instance_id);
      return found === undefined || found.state === "not_tried" ? null : found;
    });
    assert.equal(connection.state, "unreachable");
    assert.equal(connection.last_contact_at, null);
    assert.notEqual(connection.account_contact_at, null);
    const { out, err } = await run(["connections"], { home: one.daemon.home });
    assert.match(out, /can’t be reached .* never /u);
    assert.match(err, /^\S.*: https:\/\/gone\.svc\.test:9: .*Check that svc runs there/mu);
    await gone.post("/v1/device/disable", {});
    await renamed(one, "First machine");
  });

  it("keep their routes when the account asks for a newer version", async () => {
    verifies("VER-014");
    const { token } = await one.client.result("access_token_create", {});
    const { remote_access: before } = await one.client.result("remote_access_show", {});
    const restarted = async (minimumVersion: string | null): Promise<void> => {
      await service.stop();
      Object.assign(service.settings, { minimumVersion });
      await service.start();
    };
    await restarted("99.0.0");
    const refused = await one.client.call("connect_rename", { by: "user", display_name: "Too old" });
    assert.equal(!refused.ok && refused.error.details["cause"], "unsupported_version");
    assert.doesNotMatch(refused.ok ? "" : refused.error.message, /Try again/u);
    assert.deepEqual((await one.client.result("remote_access_show", {})).remote_access, before);
    assert.equal(await groupsOf(one, () => ({ authorization: `Bearer ${token}` })), 200);
    await restarted(null);
    await renamed(one, "First machine");
  });

  it("are linked again after somebody else said that they are unknown", async () => {
    verifies("DIR-029", "DIR-030");
    const { device_id: earlier } = await two.client.result("account_show", {});
    proxy.failing.set("/v1/connect/instances", 401);
    // It is renamed, and asks for the directory then.
    await renamed(two, "Second machine");
    assert.equal((await two.client.result("account_show", {})).state, "logged_out");
    const { user_code: code } = await two.client.result("account_link", { account_origin: ann.origin });
    proxy.failing.clear();
    await ann.approve(code);
    // What was linked may be confirmed again before the new grant is there.
    const { instances } = await until("the directory of the new device", async () => {
      const { connect } = await two.client.result("connect_status", {});
      return connect?.device_id === earlier ? null : connect?.directory;
    });
    // The other one hasn't heard of the device, and asks because its page shows a frame.
    const device = (id: string) => instances.find((entry) => entry.instance_id === id)!.device_id;
    const proof = signStatement(frameStatement, identityOf(two), {
      account_origin: ann.origin,
      source_instance_id: two.instance_id,
      source_device_id: device(two.instance_id),
      target_instance_id: one.instance_id,
      target_device_id: device(one.instance_id),
      parent_origin: "https://two.svc.test",
      frame_id: randomUUID(),
      nonce: randomUUID(),
      issued_at: new Date().toISOString(),
      expires_at: new Date(Date.now() + 60_000).toISOString(),
    });
    const encoded = Buffer.from(JSON.stringify(proof)).toString("base64url");
    assert.equal(await statusOf(one, `/ui/connect/?proof=${encoded}`), 200);
    assert.equal((await two.client.result("account_show", {})).state, "linked");
    const { retired_at: retiredAt } = await service.store.db
      .selectFrom("devices")
      .select("retired_at")
      .where("id", "=", earlier)
      .executeTakeFirstOrThrow();
    assert.notEqual(retiredAt, null);
  });

  it("keep the link when something in front of the account service answers for it", async () => {
    const { device_id: deviceId } = await two.client.result("account_show", {});
    for (const status of [401, 403, 404]) {
      proxy.failing.set("/v1/device/disable", status);
      const answer = await two.client.call("account_unlink", { forget: false });
      assert.equal(!answer.ok && answer.error.code, "account_unavailable");
      assert.match(answer.ok ? "" : answer.error.message, /'svc unlink --forget'/);
    }
    proxy.failing.clear();
    const shown = await two.client.result("account_show", {});
    assert.deepEqual([shown.state, shown.device_id], ["linked", deviceId]);
  });

  it("stop when one of them is retired", async () => {
    verifies("OUT-026");
    const { device_id: deviceId } = await two.client.result("account_show", {});
    const question = `/devices/retire?device=${deviceId}`;
    await ann.submit(question, "/devices/retire", { device: deviceId ?? "" });
    await renamed(one, "First machine again");
    const { connect } = await one.client.result("connect_status", {});
    assert.deepEqual(
      connect?.directory?.instances.map(({ instance_id: instanceId }) => instanceId),
      [one.instance_id],
    );
    const refused = await one.client.call("connect_send", {
      group_id: one.group_id,
      instance_id: two.instance_id,
      target_group_id: two.group_id,
      client_id: "late",
      text: "Are you there?",
      to: ["lead"],
    });
    assert.equal(!refused.ok && refused.error.code, "connect_not_granted");
  });

  it("count nothing that isn't confirmed", async () => {
    verifies("SNAP-013");
    // Another origin is registered at once.
    await two.client.result("remote_access_set", { origin: null });
    await until("the refusal", async () => (await two.client.result("account_show", {})).state !== "linked");
    assert.equal((await two.client.result("connect_status", {})).group_connections, null);
  });
});
