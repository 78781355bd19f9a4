/**
 * Two daemons linked to one account of the real service, over HTTPS with certificates of a private
 * authority.
 */
import assert from "node:assert/strict";
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { hostname } from "node:os";
import { join } from "node:path";
import { InstanceIdentity } from "../../../daemon/home/identity.ts";
import { operationDigest } from "../../../daemon/peers/wire/digests.ts";
import { signStatement, verifyStatement } from "../../../daemon/peers/wire/statements.ts";
import { VerifyingKey } from "../../../platform/keys.ts";
import { RealFiles } from "../../../platform/real-files.ts";
import type { ConnectPeerOperation } from "../../../shared/wire/v1/peer.ts";
import { frameStatement, requestStatement, responseStatement } from "../../../shared/wire/v1/signing.ts";
import { FailingProxy } from "../../account/failing-proxy.ts";
import { type TestBrowser, TestInstance, TestService } from "../../account/service.ts";
import { run } from "../../cli/svc.ts";
import { verifies } from "../../requirements.ts";
import { TestAuthority } from "../../support/certificates.ts";
import { MachineClock } from "../../support/manual-clock.ts";
import { until } from "../../support/until.ts";
import type { Side } from "../direct/two-homes.ts";
import { link, renamed, secured } from "./linked-side.ts";

describe("two daemons linked to one account", function () {
  this.timeout(120_000);
  let authority: TestAuthority;
  let proxy: FailingProxy;
  let service: TestService;
  let ann: TestBrowser;
  let one: Side;
  let two: Side;

  /** What was asked of `/v1/device/name`, with whose token. */
  const namings = () =>
    proxy.passed
      .filter(({ path }) => path === "/v1/device/name")
      .map(({ authorization, body }) => ({
        authorization,
        name: (JSON.parse(body) as { display_name: string }).display_name,
      }));
  /** What an instance's Web answers. */
  const statusOf = async (
    side: Side,
    path: string,
    headers: (port: string) => Record<string, string> = () => ({}),
  ) => {
    const { remote_access: access } = await side.client.result("remote_access_show", {});
    const { hostname: servername, host, port } = new URL(access.origin ?? "");
    const sent = request({
      host: "127.0.0.1",
      port,
      servername,
      ca: authority.pem,
      path,
      headers: { host, ...headers(port) },
      agent: false,
    });
    sent.end();
    const [{ statusCode }] = (await once(sent, "response")) as [IncomingMessage];
    return statusCode;
  };
  /** The Groups that it lists to a caller. */
  const groupsOf = (side: Side, headers: (port: string) => Record<string, string>) =>
    statusOf(side, "/api/v1/groups", headers);
  const identityOf = ({ daemon }: Side) => {
    const identity = InstanceIdentity.read(
      new RealFiles(),
      join(daemon.home, "group_bridge_identity_key.yaml"),
    );
    assert.ok(identity);
    return identity;
  };
  const names = async () =>
    (await service.store.db.selectFrom("devices").select("display_name").execute()).map(
      (device) => device.display_name,
    );

  before(async () => {
    authority = new TestAuthority();
    proxy = await FailingProxy.open();
    service = await TestService.started({ origin: proxy.origin, clock: new MachineClock() });
    proxy.port = service.settings.port;
    ann = await service.member("Ann");
    [one, two] = await Promise.all([
      secured("One", "one.svc.test", authority),
      secured("Two", "two.svc.test", authority),
    ]);
    const release = proxy.hold("/v1/device/name");
    await link(one, ann);
    await until("its own name on its way", () => namings().length === 1);
    await link(two, ann);
    // Each learns about the other at its next refresh, which a new name brings about.
    const byPerson = renamed(one, "First machine");
    await two.client.result("account_show", {});
    await one.client.result("account_show", {});
    release();
    await byPerson;
    await renamed(two, "Second machine");
  });
  after(async () => {
    await Promise.all([one?.dispose(), two?.dispose()]);
    await proxy?.close();
    await service?.dispose();
    authority?.remove();
  });

  it("list each other, and exchange a message, a file and a reply", async () => {
    verifies("PEER-001", "PEER-002", "PEER-003", "DIR-004", "DIR-005", "ID-004", "ID-013", "RET-002");
    const catalog = await until("the catalog", async () => {
      const found = await one.client.result("connect_catalog", {
        group_id: one.group_id,
        instance_id: two.instance_id,
      });
      return "catalog" in found ? found.catalog : null;
    });
    assert.deepEqual(
      catalog.groups.map(({ group_id: groupId }) => groupId),
      [two.group_id],
    );
    const { source_event: sourceEvent } = await one.send(two, "first", "Hello over HTTPS");
    const sent = await one.delivered(sourceEvent.id);
    assert.equal(sent.state, "sent");
    const received = (await two.messages()).find((event) => event.id === sent.remote_event_id);
    assert.equal(received?.data["text"], "Hello over HTTPS");
    assert.equal(received?.by, `connect:${one.instance_id}`);

    const bytes = randomBytes(3 * 1024 * 1024);
    writeFileSync(join(two.project, "picture.bin"), bytes);
    await until("the catalog there", async () => {
      const found = await two.client.result("connect_catalog", {
        group_id: two.group_id,
        instance_id: one.instance_id,
        target_group_id: one.group_id,
      });
      return "catalog" in found && found.catalog;
    });
    const files = await two.client.result("connect_send_files", {
      group_id: two.group_id,
      instance_id: one.instance_id,
      target_group_id: one.group_id,
      client_id: "file",
      text: "A picture",
      to: ["lead"],
      paths: [join(two.project, "picture.bin")],
    });
    const file = await two.delivered(files.source_event.id);
    assert.equal(file.state, "sent");
    const saved = join(one.project, "saved.bin");
    await one.svc(["file", file.remote_event_id ?? "", "--save-to", saved]);
    assert.equal(
      createHash("sha256").update(readFileSync(saved)).digest("hex"),
      createHash("sha256").update(bytes).digest("hex"),
    );

    const lead = two.daemon.actorClient(two.tokenFile);
    const reply = await lead.result("reply", {
      group_id: two.group_id,
      event_id: received?.id ?? "",
      text: "Hello back",
      client_id: "reply",
    });
    const back = await two.delivered(reply.event.id);
    assert.equal(back.state, "sent");
    const answer = (await one.messages()).find((event) => event.id === back.remote_event_id);
    assert.equal(answer?.data["reply_to"], sourceEvent.id);
  });

  it("leave nothing of what they exchange at the account service, and no Web token", async () => {
    verifies("DIR-002", "DIR-003");
    const { token } = await one.client.result("access_token_create", {});
    assert.equal(await groupsOf(one, () => ({ authorization: `Bearer ${token}` })), 200);
    await renamed(one, "First machine");
    const { folder } = service.settings;
    const kept = readdirSync(folder).map((name) => readFileSync(join(folder, name)));
    const all = Buffer.concat(kept);
    // What is there is found.
    assert.ok(all.includes("First machine"));
    const picture = readFileSync(join(two.project, "picture.bin")).subarray(1024, 1056);
    const told = ["Hello over HTTPS", "Hello back", "A picture", "picture.bin", one.group_id, token];
    for (const secret of [...told, picture]) assert.ok(!all.includes(secret), String(secret));
    for (const { body } of proxy.passed) for (const secret of told) assert.ok(!body.includes(secret), secret);
  });

  it("give no one the other's Web by being linked", async () => {
    verifies("RET-011");
    const file = join(one.daemon.home, "secrets", "membership.json");
    const { device_token: token } = JSON.parse(readFileSync(file, "utf8")) as { device_token: string };
    for (const side of [one, two]) {
      assert.equal(await groupsOf(side, () => ({ authorization: `Bearer ${token}` })), 401);
      assert.equal(await groupsOf(side, (port) => ({ cookie: `__Host-svc_access_${port}=${token}` })), 401);
    }
  });

  it("named themselves once, after the machine that they run on", () => {
    verifies("DIR-048");
    const own = namings().filter(({ name }) => name === hostname());
    assert.equal(own.length, 2);
    assert.equal(new Set(own.map(({ authorization }) => authorization)).size, 2);
  });

  it("have the name that their person gave them last, also when their own was on its way", async () => {
    verifies("DIR-045");
    assert.deepEqual(new Set(await names()), new Set(["First machine", "Second machine"]));
  });

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

  it("keep what they know in files of their owner, and tell no secret", async () => {
    verifies("SNAP-001", "SNAP-002", "SNAP-005", "SNAP-010", "SNAP-015", "SNAP-016", "SNAP-017");
    const secrets = join(one.daemon.home, "secrets");
    for (const name of ["connect.json", "membership.json"]) {
      assert.equal(statSync(join(secrets, name)).mode & 0o777, 0o600);
    }
    const { device_token: token } = JSON.parse(readFileSync(join(secrets, "membership.json"), "utf8")) as {
      device_token: string;
    };
    const status = await one.client.result("connect_status", {});
    assert.match(status.account_label ?? "", /^Ann/u);
    const told = JSON.stringify([status, await one.client.result("account_show", {})]);
    const log = readFileSync(join(one.daemon.home, "daemon", "log"), "utf8");
    for (const text of [told, log, readFileSync(join(secrets, "connect.json"), "utf8")]) {
      assert.ok(!text.includes(token));
    }
    const lead = one.daemon.actorClient(one.tokenFile);
    const refused = await lead.call("connect_status", {});
    assert.equal(!refused.ok && refused.error.code, "permission_denied");
  });

  it("are named by their person alone", async () => {
    verifies("DIR-069");
    const lead = one.daemon.actorClient(one.tokenFile);
    const name = { display_name: "Taken over" };
    const byActor = await lead.call("connect_rename", name);
    assert.equal(!byActor.ok && byActor.error.code, "permission_denied");
    // What the type forbids is sent all the same.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const asActor = await one.client.call("connect_rename", { by: "lead", ...name } as never);
    assert.equal(!asActor.ok && asActor.error.code, "invalid_args");
    assert.ok(!(await names()).includes("Taken over"));
  });

  it("are listed as connections with state, since when and last contact; reading asks nobody", async () => {
    verifies("SNAP-004", "SNAP-007", "SNAP-027", "SNAP-028");
    const [connection] = (await one.client.result("connection_list", {})).connections;
    assert.equal(connection?.kind, "account");
    assert.equal(connection.group_id, null);
    assert.equal(connection.remote?.instance_id, two.instance_id);
    assert.equal(connection.state, "reached");
    assert.ok(Date.parse(connection.last_contact_at ?? "") <= Date.now());
    assert.ok(Date.parse(connection.since ?? "") <= Date.parse(connection.last_contact_at ?? ""));
    assert.notEqual(connection.account_contact_at, null);

    const key = join(one.daemon.home, "group_bridge_identity_key.yaml");
    renameSync(key, `${key}.away`);
    const before = proxy.passed.length;
    const status = await one.client.result("connect_status", {});
    await one.client.result("account_show", {});
    await one.client.result("connection_list", {});
    await one.client.result("connect_catalog", { group_id: one.group_id });
    assert.equal(existsSync(key), false);
    renameSync(`${key}.away`, key);
    // A refresh that was due anyway registers; a reader would ask once for each call.
    assert.ok(proxy.passed.length <= before + 2, String(proxy.passed.length - before));
    assert.deepEqual(Object.keys(status).sort(), ["account_label", "connect", "group_connections"]);
    const stored = JSON.parse(
      readFileSync(join(one.daemon.home, "secrets", "connect.json"), "utf8"),
    ) as object;
    for (const name of [
      "account_origin",
      "device_id",
      "instance_id",
      "directory",
      "checked_at",
      "error_code",
      "error_message",
    ]) {
      assert.ok(name in stored, name);
      assert.ok(name in status.connect!, name);
    }
  });

  it("answer a request that another Web backend hands over only if it is authentic and for its Group", async () => {
    verifies("PEER-027", "PEER-028", "PEER-029", "PEER-030");
    const asker = identityOf(two);
    const { connect } = await two.client.result("connect_status", {});
    const entry = (id: string) => connect!.directory!.instances.find((one) => one.instance_id === id)!;
    const operation: ConnectPeerOperation = {
      op: "catalog",
      source_group_id: two.group_id,
      target_group_id: one.group_id,
      after: null,
    };
    const signed = async (of: ConnectPeerOperation) =>
      signStatement(requestStatement, asker, {
        account_origin: connect!.account_origin,
        account_id: connect!.directory!.account_id,
        source_instance_id: two.instance_id,
        source_device_id: entry(two.instance_id).device_id,
        target_instance_id: one.instance_id,
        target_device_id: entry(one.instance_id).device_id,
        request_id: randomUUID(),
        issued_at: new Date().toISOString(),
        expires_at: new Date(Date.now() + 50_000).toISOString(),
        operation_sha256: await operationDigest(of),
      });
    const hand = (groupId: string, proof: Awaited<ReturnType<typeof signed>>, asked = operation) =>
      one.client.call("connect_peer_receive", { group_id: groupId, envelope: { proof, operation: asked } });
    const answer = await hand(one.group_id, await signed(operation));
    assert.ok(answer.ok, JSON.stringify(answer));
    const { response } = answer.result;
    assert.ok(response.result.ok);
    const here = VerifyingKey.admit(entry(one.instance_id).public_key);
    assert.ok(verifyStatement(responseStatement, here, response));

    const code = async (asked: ReturnType<typeof hand>) => {
      const refused = await asked;
      return refused.ok ? "ok" : refused.error.code;
    };
    assert.equal(await code(hand("g_000000000000", await signed(operation))), "invalid_args");
    const forged = { ...(await signed(operation)), request_id: randomUUID() };
    assert.equal(await code(hand(one.group_id, forged)), "connect_peer_denied");
    const altered = { ...operation, after: "g_0" };
    assert.equal(await code(hand(one.group_id, await signed(operation), altered)), "connect_peer_denied");
    const elsewhere = { ...operation, target_group_id: "g_000000000000" };
    const missing = await hand("g_000000000000", await signed(elsewhere), elsewhere);
    assert.ok(missing.ok && !missing.result.response.result.ok);
    const lead = one.daemon.actorClient(one.tokenFile);
    const actor = await lead.call("connect_peer_receive", {
      group_id: one.group_id,
      envelope: { proof: await signed(operation), operation },
    });
    assert.equal(!actor.ok && actor.error.code, "permission_denied");
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
    const { out } = await run(["connections"], { home: one.daemon.home });
    assert.match(out, /can’t be reached .* never /u);
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
