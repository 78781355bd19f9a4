/**
 * Two daemons linked to one account of the real service, over HTTPS with certificates of a private
 * authority: what they exchange, tell and keep.
 */
import assert from "node:assert/strict";
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { existsSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { operationDigest } from "../../../daemon/peers/wire/digests.ts";
import { signStatement, verifyStatement } from "../../../daemon/peers/wire/statements.ts";
import { VerifyingKey } from "../../../platform/keys.ts";
import type { ConnectPeerOperation } from "../../../shared/wire/v1/peer.ts";
import { requestStatement, responseStatement } from "../../../shared/wire/v1/signing.ts";
import type { FailingProxy } from "../../account/failing-proxy.ts";
import type { TestService } from "../../account/service.ts";
import { verifies } from "../../requirements.ts";
import { until } from "../../support/until.ts";
import type { Side } from "../direct/two-homes.ts";
import { identityOf, LinkedPair } from "./linked-pair.ts";
import { renamed } from "./linked-side.ts";

describe("two daemons linked to one account", function () {
  this.timeout(120_000);
  const pair = new LinkedPair();
  const { namings, groupsOf, names } = pair;
  let proxy: FailingProxy;
  let service: TestService;
  let one: Side;
  let two: Side;

  before(async () => {
    await pair.start();
    ({ proxy, service, one, two } = pair);
  });
  after(() => pair.dispose());

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
    // All of it went one way, each request after a proof of identity.
    const way = ["GET /api/v1/connect/identity", "POST /api/v1/connect/peer"];
    assert.deepEqual(
      [...pair.asked()].sort(),
      ["one.svc.test", "two.svc.test"].flatMap((host) => way.map((asked) => `${host} ${asked}`)),
    );
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

  it("keep what they know in files of their owner, and tell no secret", async () => {
    verifies("SNAP-001", "SNAP-002", "SNAP-005", "SNAP-010", "SNAP-015", "SNAP-016");
    const secrets = join(one.daemon.home, "secrets");
    for (const name of ["connect.json", "membership.json"]) {
      assert.equal(statSync(join(secrets, name)).mode & 0o777, 0o600);
    }
    const { device_token: token } = JSON.parse(readFileSync(join(secrets, "membership.json"), "utf8")) as {
      device_token: string;
    };
    const identity = readFileSync(join(one.daemon.home, "group_bridge_identity_key.yaml"), "utf8");
    const key = Buffer.from(/^private_key: (\S+)$/mu.exec(identity)?.[1] ?? "", "base64");
    assert.equal(key.length, 32);
    const { token: webToken } = await one.client.result("access_token_create", {});
    const keys = (["base64", "base64url", "hex"] as const).map((form) => key.toString(form));
    const status = await one.client.result("connect_status", {});
    assert.match(status.account_label ?? "", /^Ann/u);
    const told = JSON.stringify([status, await one.client.result("account_show", {})]);
    const log = readFileSync(join(one.daemon.home, "daemon", "log"), "utf8");
    const snapshot = readFileSync(join(secrets, "connect.json"), "utf8");
    for (const text of [told, log, snapshot]) {
      for (const secret of [token, webToken, ...keys]) assert.ok(!text.includes(secret));
    }
    // The account's name is kept with the binding alone.
    assert.match(readFileSync(join(secrets, "membership.json"), "utf8"), /"account_label": "Ann/u);
    assert.doesNotMatch(snapshot, /account_label|Ann/u);
  });

  it("let nobody but their person read what they know", async () => {
    verifies("SNAP-017");
    const lead = one.daemon.actorClient(one.tokenFile);
    const refused = await lead.call("connect_status", {});
    assert.equal(!refused.ok && refused.error.code, "permission_denied");
    // What the type forbids is sent all the same.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const asActor = await one.client.call("connect_status", { by: "lead" } as never);
    assert.equal(!asActor.ok && asActor.error.code, "invalid_args");
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
    verifies("SNAP-004", "SNAP-007", "SNAP-017", "SNAP-027", "SNAP-028");
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
    // It has just asked: nothing is due for most of a minute.
    await renamed(one, "First machine");
    const secrets = join(one.daemon.home, "secrets");
    const files = () =>
      ["connect.json", "connect_groups.json", "membership.json"].map((name) =>
        readFileSync(join(secrets, name), "utf8"),
      );
    const { device_token: token } = JSON.parse(files()[2]!) as { device_token: string };
    const asked = () =>
      proxy.passed.filter(({ authorization }) => authorization === `Bearer ${token}`).length;
    const before = { asked: asked(), files: files() };
    assert.ok(before.asked > 0);
    const status = await one.client.result("connect_status", {});
    await one.client.result("account_show", {});
    await one.client.result("connection_list", {});
    await one.client.result("connect_catalog", { group_id: one.group_id });
    assert.deepEqual({ asked: asked(), files: files() }, before);
    assert.equal(existsSync(key), false);
    renameSync(`${key}.away`, key);
    assert.deepEqual(Object.keys(status).sort(), ["account_label", "connect", "group_connections"]);
    const stored = JSON.parse(before.files[0]!) as object;
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
});
