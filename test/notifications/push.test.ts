/** Web Push, to a push service of the test's own. */
import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { KNOWN_PUSH_SERVICES, pushEndpoint } from "../../daemon/notifications/push-services.ts";
import { isPublicAddress, publicLookup } from "../../platform/http/public-address.ts";
import { RealHttpClient } from "../../platform/http/real-client.ts";
import type { Caller } from "../../shared/operations/caller.ts";
import { refusal } from "../messaging/setting.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { USER } from "../support/services.ts";
import { until } from "../support/until.ts";
import { Setting, senderOf, TestBrowser, TestPushService } from "./setting.ts";

const MARKER = "the-secret-text-of-a-message";

describe("Web Push", () => {
  let service: TestPushService;
  let setting: Setting;
  let groupId: string;
  let owner: Caller;
  let phone: TestBrowser;
  before(async () => (service = await TestPushService.open()));
  after(() => service.close());
  beforeEach(async () => {
    service.asked.length = 0;
    service.status = 201;
    setting = await Setting.open(service);
    groupId = await setting.group("shop");
    owner = await setting.person();
    phone = new TestBrowser(service.host, "phone");
  });
  afterEach(() => setting.home.remove());

  const list = async (as: Caller = owner) => (await setting.home.call("push_list", {}, { as })).subscriptions;
  const counted = (sent: number, failed: number) =>
    until(`${sent} sent and ${failed} failed`, async () => {
      const [browser] = await list();
      return browser?.sent === sent && browser.failed === failed ? browser : null;
    });

  it("tells a phone what no window has announced, encrypted, and without text of a message", async () => {
    const id = await setting.subscribe(owner, phone);
    const { public_key: publicKey } = await setting.home.call("push_prepare", {}, { as: owner });
    const eventId = await setting.ask(groupId, MARKER);
    const [item] = setting.list(USER);
    setting.home.clock.advance(2900);
    assert.equal(service.asked.length, 0);
    setting.home.clock.advance(200);
    const browser = await counted(1, 0);
    const [asked] = service.asked;
    assert.equal(asked?.path, "/push/phone");
    assert.deepEqual(phone.read(asked), {
      key: item!.key,
      kind: "request",
      group_id: groupId,
      group_title: "shop",
      actor: { id: "ann", title: "" },
      event_id: eventId,
    });
    assert.ok(!asked.body.includes(MARKER) && !asked.body.includes("shop"), "it isn't encrypted");
    const { aud, sub, exp } = senderOf(asked, publicKey);
    assert.deepEqual([aud, sub], [`https://${service.host}`, "mailto:svc@example.com"]);
    assert.ok(Number(exp) * 1000 < Date.now() + 24 * 3600 * 1000);
    const { headers } = asked;
    assert.deepEqual(
      [headers["ttl"], headers["urgency"], headers["topic"], headers["content-encoding"]],
      ["3600", "high", item!.key, "aes128gcm"],
    );
    assert.deepEqual(
      [browser.id, browser.name, browser.service, browser.current, browser.last_failure],
      [id, "Firefox on Android", service.host, true, null],
    );
    const { claimed } = await setting.home.call("notification_claim", { key: item!.key }, { as: owner });
    assert.equal(claimed, false, "a window that comes now says it again");
    setting.home.clock.advance(120_000);
    assert.equal(service.asked.length, 1);
  });

  it("tells a phone a minute later of what a window has announced, if it still waits", async () => {
    await setting.subscribe(owner, phone);
    const claim = async () => {
      const { key } = setting.list(USER)[0]!;
      return (await setting.home.call("notification_claim", { key }, { as: USER })).claimed;
    };
    const first = await setting.ask(groupId, "Which database?");
    assert.ok(await claim());
    setting.home.clock.advance(3100);
    await setting.home.call("reply", { group_id: groupId, event_id: first, text: "That one." });
    setting.home.clock.advance(120_000);
    await setting.ask(groupId, "And which port?");
    assert.ok(await claim());
    setting.home.clock.advance(3100);
    setting.home.clock.advance(59_000);
    assert.equal(service.asked.length, 0);
    setting.home.clock.advance(2000);
    await counted(1, 0);
  });

  it("tells each browser the kinds it wants, and the holder of a token only of their Groups", async () => {
    const elsewhere = await setting.group("elsewhere");
    const member = await setting.person([elsewhere]);
    const tablet = new TestBrowser(service.host, "tablet");
    await setting.subscribe(owner, phone, ["waiting"]);
    await setting.subscribe(member, tablet);
    await setting.ask(groupId, "Which database?");
    setting.home.clock.advance(3100);
    await setting.ask(elsewhere, "Which port?");
    setting.home.clock.advance(3100);
    await until("the tablet is told", () => service.asked.length > 0);
    assert.deepEqual(
      service.asked.map(({ path }) => path),
      ["/push/tablet"],
    );
    assert.deepEqual([(await list()).length, (await list(member)).length], [1, 1], "each sees their own");
    const pushId = (await list(member))[0]!.id;
    await assert.rejects(
      setting.home.call("push_unsubscribe", { push_id: pushId }, { as: owner }),
      refusal("push_not_found"),
    );
  });

  it("counts what fails and says why, and drops a browser that has gone", async () => {
    const pushId = await setting.subscribe(owner, phone);
    const test = () => setting.home.call("push_test", { push_id: pushId }, { as: owner });
    service.status = 503;
    assert.deepEqual(await test(), { sent: false, reason: "The push service answered 503." });
    assert.equal((await counted(0, 1)).last_failure?.reason, "The push service answered 503.");
    service.status = 201;
    assert.deepEqual(await test(), { sent: true, reason: "" });
    await counted(1, 1);
    assert.deepEqual(phone.read(service.asked.at(-1)!), { kind: "test" });
    for (const status of [404, 410]) {
      service.status = status;
      const again = await setting.subscribe(owner, phone);
      assert.equal((await setting.home.call("push_test", { push_id: again }, { as: owner })).sent, false);
      assert.deepEqual(await list(), []);
    }
    await assert.rejects(test(), refusal("push_not_found"));
  });

  it("sends at most some in a minute", async () => {
    const pushId = await setting.subscribe(owner, phone);
    const results = [];
    for (let asked = 0; asked < 21; asked += 1)
      results.push((await setting.home.call("push_test", { push_id: pushId }, { as: owner })).sent);
    assert.deepEqual(results, [...Array.from({ length: 20 }, () => true), false]);
    setting.home.clock.set(-3_600_000);
    setting.home.clock.advance(61_000);
    const { sent, reason } = await setting.home.call("push_test", { push_id: pushId }, { as: owner });
    assert.deepEqual([sent, reason], [true, ""], "an hour that the clock was set back doesn't count");
  });

  it("keeps key and subscriptions for the owner alone, over a restart", async () => {
    const pushId = await setting.subscribe(owner, phone, ["failed"]);
    const { public_key: publicKey } = await setting.home.call("push_prepare", {}, { as: owner });
    assert.equal(await setting.subscribe(owner, phone, ["waiting", "failed"]), pushId);
    const { root, clock } = setting.home;
    for (const file of ["push_key.json", "push.json"])
      assert.equal(statSync(join(root, "secrets", file)).mode & 0o777, 0o600, file);
    await setting.home.close();
    setting = await Setting.open(service, { root, clock });
    assert.deepEqual(await setting.home.call("push_prepare", {}, { as: owner }), { public_key: publicKey });
    const [browser] = await list();
    assert.deepEqual([browser?.id, browser?.kinds], [pushId, ["waiting", "failed"]]);
    const shown = JSON.stringify([await list(), await setting.home.call("push_prepare", {}, { as: owner })]);
    const { private_key: privateKey } = JSON.parse(
      readFileSync(join(root, "secrets", "push_key.json"), "utf8"),
    ) as {
      private_key: string;
    };
    for (const secret of [privateKey, "/push/phone", phone.keys.auth]) assert.ok(!shown.includes(secret));
  });

  it("leaves a damaged file as it is, says so, and runs on", async () => {
    await setting.subscribe(owner, phone);
    const { root, clock } = setting.home;
    await setting.home.close();
    const file = join(root, "secrets", "push.json");
    writeFileSync(file, "{");
    setting = await Setting.open(service, { root, clock });
    assert.match(setting.home.services.notifications.health.problem ?? "", /isn't JSON/);
    await assert.rejects(setting.subscribe(owner, phone), refusal("storage_failed"));
    assert.deepEqual(await list(), []);
    assert.equal(readFileSync(file, "utf8"), "{");
  });

  it("ends with the session that made it", async () => {
    await setting.subscribe(owner, phone);
    await setting.home.services.access.accessTokens.revoke((owner as { token_id: string }).token_id);
    await setting.ask(groupId, "Which database?");
    setting.home.clock.advance(3100);
    const file = join(setting.home.root, "secrets", "push.json");
    await until("it is removed", () => !readFileSync(file, "utf8").includes("/push/phone"));
    assert.equal(service.asked.length, 0);
  });

  it("accepts endpoints of known push services only, from signed-in browsers", async () => {
    const { keys } = phone;
    const subscribe = (endpoint: string, as = owner, more = {}) =>
      setting.home.call(
        "push_subscribe",
        { endpoint, keys: { ...keys, ...more }, kinds: ["waiting"] },
        { as },
      );
    for (const endpoint of [
      "https://example.com/push",
      `http://${service.host}/push`,
      `https://user@${service.host}/push`,
      `https://${service.host}/push#part`,
      `https://${service.host.replace("localhost", "127.0.0.1")}/push`,
      `https://${service.host}.example.com/push`,
      "https://localhost/push",
      "file:///etc/passwd",
      "nothing",
    ])
      await assert.rejects(subscribe(endpoint), refusal("invalid_args", { field: "endpoint" }), endpoint);
    const off = Buffer.alloc(65, 4).toString("base64url");
    await assert.rejects(subscribe(phone.endpoint, owner, { p256dh: off }), refusal("invalid_args"));
    await assert.rejects(subscribe(phone.endpoint, USER), refusal("permission_denied"));
    const actor = setting.home.actor(groupId, "ann");
    await assert.rejects(subscribe(phone.endpoint, actor), refusal("permission_denied"));
    assert.deepEqual(await list(), []);
  });

  it("knows the push services of browsers, and nothing that only looks like one", () => {
    const isKnown = (url: string) => pushEndpoint(url, KNOWN_PUSH_SERVICES) !== null;
    for (const url of [
      "https://fcm.googleapis.com/fcm/send/abc:def",
      "https://updates.push.services.mozilla.com/wpush/v2/abc",
      "https://web.push.apple.com/QAbc",
      "https://wns2-db5p.notify.windows.com/w/?token=abc",
    ])
      assert.ok(isKnown(url), url);
    for (const url of [
      "https://fcm.googleapis.com:8443/fcm/send/abc",
      "https://fcm.googleapis.com.example.com/",
      "https://evilpush.apple.com.example.com/",
      "https://push.apple.com/",
      "https://notpush.apple.com/",
      "http://fcm.googleapis.com/",
    ])
      assert.ok(!isKnown(url), url);
  });

  it("reaches public addresses only, also where a name leads to another", async () => {
    for (const address of ["8.8.8.8", "2606:4700::1", "64:ff9b::808:808", "172.32.0.1"])
      assert.ok(isPublicAddress(address), address);
    for (const address of [
      "127.0.0.1",
      "10.1.2.3",
      "100.64.0.1",
      "169.254.169.254",
      "172.16.0.1",
      "192.168.1.1",
      "0.0.0.0",
      "224.0.0.1",
      "255.255.255.255",
      "::",
      "::1",
      "::ffff:127.0.0.1",
      "::ffff:8.8.8.8",
      "fe80::1",
      "fd00::1",
      "ff02::1",
      "2001:db8::1",
      "2002:7f00:1::",
      "64:ff9b::7f00:1",
      "64:ff9b::a01",
      "64:ff9b::",
      "localhost",
      "",
    ])
      assert.ok(!isPublicAddress(address), address);
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
    const { port } = server.address() as { port: number };
    const client = new RealHttpClient({ clock: new ManualClock(), lookup: publicLookup });
    const outcome = await client.request({
      method: "POST",
      url: `https://localhost:${port}/`,
      headers: {},
      body: { bytes: 0, parts: [] },
      limit: 1024,
      milliseconds: 60_000,
      signal: new AbortController().signal,
    });
    client.close();
    server.close();
    assert.deepEqual(outcome, {
      kind: "failed",
      why: "unreachable",
      escaped: false,
      reason: "Its name leads to a private address.",
    });
    assert.equal(connections, 0);
  });
});
