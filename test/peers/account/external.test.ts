/**
 * Two daemons of different accounts connect one Group each: by tickets, by the pages of the real
 * account service, over HTTPS with certificates of a private authority.
 */
import assert from "node:assert/strict";
import { createHash, createPublicKey, randomBytes, verify } from "node:crypto";
import { lookup } from "node:dns";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { RealHttpClient } from "../../../platform/http/real-client.ts";
import { RealClock } from "../../../platform/real-clock.ts";
import { FailingProxy } from "../../account/failing-proxy.ts";
import { type TestBrowser, TestService } from "../../account/service.ts";
import { verifies } from "../../requirements.ts";
import { TestAuthority } from "../../support/certificates.ts";
import { MachineClock } from "../../support/manual-clock.ts";
import { until } from "../../support/until.ts";
import type { Side } from "../direct/two-homes.ts";
import { link, renamed, secured } from "./linked-side.ts";

const GROUPS = "/v1/connect/groups";

/** Path and query of an address of the service. */
function pathOf(url: string): string {
  const { pathname, search } = new URL(url);
  return pathname + search;
}

function fieldOf(url: string, name: string): string {
  return new URL(url).searchParams.get(name) ?? "";
}

async function memberId(browser: TestBrowser): Promise<string> {
  const { body } = await browser.get("/connect");
  return /<code class="id">([0-9a-f-]{36})<\/code>/u.exec(body as string)![1]!;
}

describe("two daemons of two accounts", function () {
  this.timeout(180_000);
  let authority: TestAuthority;
  let proxy: FailingProxy;
  let service: TestService;
  let ann: TestBrowser;
  let ben: TestBrowser;
  let one: Side;
  let two: Side;

  const status = (side: Side) =>
    side.client.result("connect_group_status", { by: "user", group_id: side.group_id });
  const select = async (side: Side, invitation?: string) =>
    (
      await side.client.result("connect_group_select", {
        by: "user",
        group_id: side.group_id,
        ...(invitation === undefined ? {} : { invitation }),
      })
    ).url;
  const rows = () => service.store.db.selectFrom("group_connections").selectAll().execute();

  /** Invited by one, accepted by two, known to both. Answers the connection's id. */
  async function connected(): Promise<string> {
    const selected = await select(one);
    const sent = await ann.submit(pathOf(selected), "/connect/select", {
      ticket: fieldOf(selected, "ticket"),
      recipient: await memberId(ben),
    });
    assert.equal(sent.status, 200, sent.body);
    const listed = (await ben.get("/connect")).body as string;
    const [, invitation] = /svc connect accept ([0-9a-f-]{36})/u.exec(listed)!;
    const url = await select(two, invitation);
    const accepted = await ben.submit(pathOf(url), "/connect/select", {
      ticket: fieldOf(url, "ticket"),
      invitation: invitation!,
    });
    assert.equal(accepted.status, 200, accepted.body);
    assert.match(accepted.body as string, /are connected/u);
    await Promise.all([renamed(one, "Ann's machine"), renamed(two, "Ben's machine")]);
    const { links } = await status(one);
    assert.equal(links.length, 1);
    return links[0]!.id;
  }

  before(async () => {
    authority = new TestAuthority();
    proxy = await FailingProxy.open();
    const http = new RealHttpClient({
      clock: new RealClock(),
      ca: authority.pem,
      lookup: (hostname, options, callback) =>
        lookup(hostname.endsWith(".svc.test") ? "127.0.0.1" : hostname, options, callback),
    });
    service = await TestService.started({ origin: proxy.origin, http, clock: new MachineClock() });
    proxy.port = service.settings.port;
    [ann, ben] = [await service.member("Ann"), await service.member("Ben")];
    [one, two] = await Promise.all([
      secured("One", "one.svc.test", authority),
      secured("Two", "two.svc.test", authority),
    ]);
    await Promise.all([link(one, ann), link(two, ben)]);
  });
  after(async () => {
    await Promise.all([one?.dispose(), two?.dispose()]);
    await proxy?.close();
    await service?.dispose();
    authority?.remove();
  });

  it("select a Group by a signed ticket, which shares nothing", async () => {
    verifies(
      "EXT-015",
      "EXT-007",
      "EXT-008",
      "EXT-009",
      "EXT-010",
      "EXT-050",
      "EXT-051",
      "EXT-055",
      "EXT-056",
    );
    const url = await select(one);
    assert.ok(url.startsWith(`${service.origin}/connect/select?ticket=`));
    const ticket = JSON.parse(Buffer.from(fieldOf(url, "ticket"), "base64url").toString()) as Record<
      string,
      string
    >;
    const fields = [
      "account_origin",
      "account_id",
      "instance_id",
      "instance_name",
      "device_id",
      "group_id",
      "group_generation",
      "title",
      "issued_at",
      "expires_at",
    ];
    assert.deepEqual(Object.keys(ticket), [...fields, "signature"]);
    const signed = JSON.stringify(["svc.connect.group.ticket.v1", ...fields.map((field) => ticket[field])]);
    const { connect } = await one.client.result("connect_status", {});
    const own = connect!.directory!.instances.find(
      ({ instance_id: instanceId }) => instanceId === one.instance_id,
    )!;
    const x = Buffer.from(own.public_key, "base64").toString("base64url");
    const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
    assert.ok(verify(null, Buffer.from(signed), key, Buffer.from(ticket["signature"]!, "base64")));
    assert.equal(Date.parse(ticket["expires_at"]!) - Date.parse(ticket["issued_at"]!), 24 * 3_600_000);
    assert.deepEqual(await rows(), []);
    assert.equal((await status(one)).links.length, 0);

    const nonce = "8a6e0804-2bd0-4672-b79d-d97027f9071a";
    const check = async (body: object, size = 0) => {
      const bytes = Buffer.from(JSON.stringify(body).padEnd(size, " "));
      const outcome = await service.http.request({
        method: "POST",
        url: `${own.public_origin}/api/v1/connect/group-check`,
        headers: { "content-type": "application/json" },
        body: { bytes: bytes.length, parts: [bytes] },
        limit: 4096,
        milliseconds: 60_000,
        signal: new AbortController().signal,
      });
      assert.ok(outcome.kind === "answered");
      return { status: outcome.status, body: JSON.parse(outcome.body.toString()) };
    };
    const asked = Date.now();
    const { status: code, body: proof } = await check({ ticket, nonce });
    assert.equal(code, 200, JSON.stringify(proof));
    assert.equal(proof.ticket_sha256, createHash("sha256").update(signed).digest("hex"));
    const answer = ["svc.connect.group.check.v1", proof.ticket_sha256, nonce, "One", proof.expires_at];
    const signature = Buffer.from(proof.signature, "base64");
    assert.ok(verify(null, Buffer.from(JSON.stringify(answer)), key, signature));
    assert.ok(Date.parse(proof.expires_at) - asked >= 30_000);
    assert.ok(Date.parse(proof.expires_at) - Date.now() <= 30_000);

    verifies("ERR-008", "LIM-047");
    // Not signed by this instance: the same answer, whether or not it has the Group.
    const forged = await check({ ticket: { ...ticket, title: "Other" }, nonce });
    const elsewhere = await check({ ticket: { ...ticket, group_id: "g_000000000000" }, nonce });
    assert.equal(forged.status, 403);
    assert.equal(forged.body.error.code, "connect_group_denied");
    assert.deepEqual(elsewhere, forged);
    assert.equal((await check({ ticket, nonce, more: 1 })).status, 400);
    assert.equal((await check({ ticket, nonce }, 4096)).status, 200);
    assert.equal((await check({ ticket, nonce }, 4097)).status, 413);
  });

  it("are connected by an invitation and its acceptance", async () => {
    verifies(
      "EXT-001",
      "EXT-019",
      "EXT-021",
      "EXT-046",
      "EXT-047",
      "EXT-052",
      "EXT-053",
      "EXT-054",
      "SNAP-011",
    );
    const id = await connected();
    const [here, there] = [await status(one), await status(two)];
    assert.equal(here.status, "ready");
    assert.equal(here.error_code, null);
    assert.deepEqual(
      [here, there].map(({ links }) =>
        links.map((known) => [known.id, known.account_label, known.group_title]),
      ),
      [[[id, "Ben", "Two"]], [[id, "Ann", "One"]]],
    );
    const { links: _, ...known } = here;
    const { expires_at: expiresAt, checked_at: checkedAt } = known;
    assert.deepEqual(known, {
      status: "ready",
      expires_at: expiresAt,
      account_origin: service.origin,
      account_id: await memberId(ann),
      checked_at: checkedAt,
      error_code: null,
      error_message: null,
    });
    const left = Date.parse(expiresAt ?? "") - Date.parse(checkedAt ?? "");
    assert.ok(left > 0 && left <= 120_000, String(left));
    const { group_connections: counts } = await one.client.result("connect_status", {});
    assert.deepEqual(counts?.counts, { [one.group_id]: 1 });
    const active = (await rows()).filter(({ closed_at: closedAt }) => closedAt === null);
    assert.deepEqual(
      active.map((row) => row.id),
      [id],
    );
    const lead = one.daemon.actorClient(one.tokenFile);
    for (const name of ["connect_group_status", "connect_group_select"] as const) {
      const refused = await lead.call(name, { by: "user", group_id: one.group_id });
      assert.equal(!refused.ok && refused.error.code, "permission_denied");
    }
  });

  it("exchange a message, a file, a reply and a cancellation", async () => {
    verifies("EXT-057", "EXT-062", "EXT-066", "ERR-001", "ERR-002", "ERR-004");
    const { links } = await status(one);
    const found = await one.client.result("connect_catalog", { group_id: one.group_id });
    assert.ok("external_groups" in found);
    assert.deepEqual(
      found.external_groups.map(({ connection_id: connectionId, group_id: groupId, title, transport }) => [
        connectionId,
        groupId,
        title,
        transport,
      ]),
      [[links[0]!.id, two.group_id, "Two", "account"]],
    );
    assert.deepEqual(found.instances, []);
    const required = await one.client.call("connect_send", {
      group_id: one.group_id,
      instance_id: two.instance_id,
      client_id: "no target",
      text: "Hello",
    });
    assert.ok(!required.ok && required.error.code === "connect_target_group_required");
    assert.deepEqual(required.error.details["external_groups"], found.external_groups);
    for (const [from, to] of [
      [one, two],
      [two, one],
    ] as const) {
      const catalog = await until("the catalog", async () => {
        const details = await from.client.result("connect_catalog", {
          group_id: from.group_id,
          instance_id: to.instance_id,
          target_group_id: to.group_id,
        });
        return "catalog" in details ? details.catalog : null;
      });
      assert.deepEqual(
        catalog.groups.map(({ group_id: groupId }) => groupId),
        [to.group_id],
      );
      const files = readdirSync(join(from.daemon.home, "state/connect/catalog"));
      assert.deepEqual(files, [`group-${links[0]!.id.replaceAll("-", "")}.json`]);
    }

    const asked = await one.client.result("connect_send", {
      group_id: one.group_id,
      instance_id: two.instance_id,
      target_group_id: two.group_id,
      client_id: "question",
      text: "Are you there?",
      message_mode: "request_reply",
      to: ["lead"],
    });
    const sent = await one.delivered(asked.source_event.id);
    assert.equal(sent.state, "sent");
    const received = (await two.messages()).find((event) => event.id === sent.remote_event_id);
    assert.equal(received?.data["text"], "Are you there?");
    assert.equal(received?.by, `connect:${one.instance_id}`);

    const bytes = randomBytes(300_000);
    writeFileSync(join(two.project, "answer.bin"), bytes);
    const lead = two.daemon.actorClient(two.tokenFile);
    const reply = await lead.result("reply", {
      group_id: two.group_id,
      event_id: received?.id ?? "",
      text: "Here",
      client_id: "reply",
      paths: [join(two.project, "answer.bin")],
    });
    const back = await two.delivered(reply.event.id);
    assert.equal(back.state, "sent");
    const answer = (await one.messages()).find((event) => event.id === back.remote_event_id);
    assert.equal(answer?.data["reply_to"], asked.source_event.id);
    const saved = join(one.project, "saved.bin");
    await one.svc(["file", back.remote_event_id ?? "", "--save-to", saved]);
    assert.ok(readFileSync(saved).equals(bytes));
    const accounts = new Set(
      [...(await one.messages()), ...(await two.messages())].flatMap(({ data }) =>
        data.connect_message === undefined ? [] : [data.connect_message.account_id],
      ),
    );
    assert.deepEqual([...accounts], [await memberId(ann)]);

    const another = await one.client.result("connect_send", {
      group_id: one.group_id,
      instance_id: two.instance_id,
      target_group_id: two.group_id,
      client_id: "another question",
      text: "And this?",
      message_mode: "request_reply",
      to: ["lead"],
    });
    await one.delivered(another.source_event.id);
    await one.client.result("reply_request_cancel", {
      group_id: one.group_id,
      event_id: another.source_event.id,
    });
    await until("the withdrawal there", async () => {
      const { events } = await two.client.result("ledger_tail", { group_id: two.group_id, limit: 50 });
      return events.some(({ kind }) => kind === "chat.reply_request.cancelled");
    });
  });

  it("keep the connection while the account service can't tell", async () => {
    verifies("EXT-071", "ERR-014", "ERR-015", "VER-018");
    proxy.failing.set(GROUPS, 500);
    await renamed(one, "Ann's machine");
    proxy.failing.clear();
    const { connect } = await one.client.result("connect_status", {});
    assert.equal(connect?.error_code, null);
    assert.equal(connect?.group_sync?.error_code, "account_failed");
    const known = await status(one);
    assert.equal(known.error_code, "account_failed");
    assert.equal(known.status, "ready");
    const { source_event: sourceEvent } = await one.send(two, "meanwhile", "Still connected");
    assert.equal((await one.delivered(sourceEvent.id)).state, "sent");
  });

  it("are disconnected by either member, and refused at the other side from then on", async () => {
    verifies("EXT-024", "EXT-033", "EXT-034", "EXT-035", "EXT-068", "EXT-069");
    const task = { group_id: two.group_id, actor_id: "task" };
    const started = join(two.project, "started");
    await two.client.result("actor_add", {
      ...task,
      runtime: "custom",
      runner: "pty",
      command: ["sh", "-c", `echo $$ > ${started}; exec sleep 100000`],
    });
    await two.client.result("actor_start", task);
    await until(
      "the task at the other side",
      () => existsSync(started) && readFileSync(started, "utf8") !== "",
    );
    const { links } = await status(one);
    const before = await two.messages();
    const end = pathOf(links[0]!.end_url);
    const ended = await ben.submit(end, end, {});
    assert.equal(ended.status, 303);
    // Only the receiving side has heard of it.
    await renamed(two, "Ben's machine");
    assert.deepEqual((await status(two)).links, []);
    const { source_event: sourceEvent } = await one.send(two, "late", "Is anybody there?");
    await until("the refusal at the other side", () => {
      const waiting = join(one.daemon.home, "state/connect/outbox", two.instance_id);
      const records = readdirSync(waiting).filter((name) => name.endsWith(".json"));
      const texts = records.map((name) => readFileSync(join(waiting, name), "utf8"));
      return texts.some((text) => /"last_error":.*active connection/u.test(text));
    });
    assert.equal((await one.delivery(sourceEvent.id))?.state, "queued");
    // The sender hears of it: the message may have arrived, as far as it knows.
    await renamed(one, "Ann's machine");
    const outcome = await one.delivered(sourceEvent.id);
    assert.match(outcome.state, /^(?:failed|unconfirmed)$/u);
    assert.deepEqual(await two.messages(), before);
    // Throws if there is no such process any more.
    process.kill(Number(readFileSync(started, "utf8")), 0);
    for (const side of [one, two])
      assert.deepEqual(readdirSync(join(side.daemon.home, "state/connect/catalog")), []);
    const refused = await one.client.call("connect_send", {
      group_id: one.group_id,
      instance_id: two.instance_id,
      target_group_id: two.group_id,
      client_id: "later",
      text: "Hello?",
      to: ["lead"],
    });
    assert.equal(!refused.ok && refused.error.code, "connect_not_granted");
  });

  it("end a connection whose Group is reset", async () => {
    verifies("EXT-005", "EXT-028", "EXT-039", "EXT-064");
    const id = await connected();
    await two.client.result("group_reset", { group_id: two.group_id, confirm: two.group_id });
    await until("the report to the account service", async () =>
      (await rows()).some((row) => row.id === id && row.end_reason === "group_gone"),
    );
    await renamed(one, "Ann's machine");
    assert.deepEqual((await status(one)).links, []);
    const { group_connections: counts } = await one.client.result("connect_status", {});
    assert.deepEqual(counts?.counts, { [one.group_id]: 0 });
    assert.ok(existsSync(join(one.daemon.home, "secrets", "connect_groups.json")));
  });
});
