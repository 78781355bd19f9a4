/** Connections between Groups of two members: how they are made, what is refused, and bounds. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { sweep } from "../../account/store/sweep.ts";
import { verifies } from "../requirements.ts";
import { ConnectionsSetting } from "./connections-setting.ts";
import { DENIED, encoded, type GroupInstance } from "./group-instance.ts";
import { csrfOf, KINDS, type TestService } from "./service.ts";

const DAY_MS = 24 * 3_600_000;

for (const kind of KINDS) {
  describe(`connections of two members on ${kind}`, () => {
    const setting = new ConnectionsSetting(kind);
    const { instance, invitationsOf, connectionsOf, active } = setting;
    let service: TestService;
    let ann: GroupInstance;
    let ben: GroupInstance;
    let count: number;
    before(() => setting.start());
    beforeEach(async () => {
      ({ service, ann, ben, count } = await setting.next());
    });
    after(() => setting.close());

    it("are made by an invitation that the other accepts", async () => {
      verifies("EXT-002", "EXT-006", "EXT-036", "EXT-037", "EXT-038", "EXT-044", "EXT-073");
      const stranger = await instance(await service.member(`Cay ${count}`));
      assert.match((await service.browser().get("/connect")).headers["location"] ?? "", /^\/login/u);
      const id = await ann.connect("g1", ben, "g2");
      const second = await ann.connect("g1", ben, "g3");
      assert.notEqual(id, second);
      const { body } = await ann.device.get("/v1/connect/groups");
      assert.deepEqual(Object.keys(body), [
        "protocol_version",
        "account_origin",
        "account_id",
        "device_id",
        "issued_at",
        "expires_at",
        "links",
      ]);
      assert.equal(Date.parse(body.expires_at) - Date.parse(body.issued_at), 120_000);
      assert.deepEqual(
        (await ben.links()).map((link) => link.id),
        [id, second],
      );
      const [link] = body.links;
      assert.deepEqual(
        [link.source, link.target].map(
          ({
            account_id: accountId,
            group_id: groupId,
            group_generation: groupGeneration,
            title,
            instance,
          }) => [
            accountId,
            groupId,
            groupGeneration,
            title,
            instance.instance_id,
            instance.device_id,
            instance.public_origin,
          ],
        ),
        [
          [
            ann.member_id,
            "g1",
            "generation of g1",
            "Title of g1",
            ann.instance_id,
            ann.device.id,
            ann.origin,
          ],
          [
            ben.member_id,
            "g2",
            "generation of g2",
            "Title of g2",
            ben.instance_id,
            ben.device.id,
            ben.origin,
          ],
        ],
      );
      assert.deepEqual(await stranger.links(), []);
      for (const headers of [
        { authorization: "" },
        { "svc-membership-version": "" },
        { "svc-client-version": "0.4.39" },
      ] as Record<string, string>[]) {
        const refused = headers["authorization"] === "" ? 401 : 426;
        assert.equal((await ann.device.get("/v1/connect/groups", headers)).status, refused);
        const posted = await ann.device.post("/v1/connect/groups", { invalidated: [id] }, headers);
        assert.equal(posted.status, refused);
      }
      verifies("EXT-043");
      assert.equal((await active(ann)).length, 2);
    });

    it("need the member of the selection, in a form of the page", async () => {
      verifies("EXT-002", "EXT-011", "EXT-020", "EXT-074", "EXT-075", "EXT-076");
      const ticket = ann.select("g1");
      const to = { ticket, recipient: ben.member_id };
      assert.equal((await ann.submit({ ...to, recipient: ann.member_id })).status, 400);
      assert.equal((await ann.submit({ ...to, recipient: randomUUID() })).status, 400);
      assert.equal((await ben.submit({ ...to, recipient: ann.member_id })).status, 403);
      assert.equal((await ben.member.get(`/connect/select?ticket=${ticket}`)).status, 403);
      assert.equal((await ann.member.post("/connect/select", to)).status, 403);
      const page = await ann.member.get(`/connect/select?ticket=${ticket}`);
      const csrf = csrfOf(page.body as string);
      const elsewhere = { origin: "https://evil.example", "sec-fetch-site": "cross-site" };
      assert.equal((await ann.member.post("/connect/select", { csrf, ...to }, elsewhere)).status, 403);
      const bearer = await ann.device.post("/connect/select", new URLSearchParams(to).toString(), {
        "content-type": "application/x-www-form-urlencoded",
        origin: service.origin,
      });
      assert.notEqual(bearer.status, 200);
      assert.deepEqual(await invitationsOf(ann), []);
      assert.equal((await ann.submit(to)).status, 200);
      assert.equal((await ann.submit(to)).status, 200);
      const cay = await instance(await service.member(`Cay ${count}`));
      assert.equal((await ann.submit({ ticket, recipient: cay.member_id })).status, 200);
      const rows = await invitationsOf(ann);
      assert.equal(rows.length, 2);
      // Nobody else answers it, nor does the inviter.
      const id = rows.find(({ recipient_member: recipientMember }) => recipientMember === ben.member_id)!.id;
      assert.equal((await cay.accept(id, cay.select("g"))).status, 404);
      assert.equal((await ann.accept(id, ann.select("g"))).status, 404);
      assert.equal(
        (await ann.member.submit("/connect", `/connect/invitations/${id}/reject`, {})).status,
        404,
      );
      assert.equal(
        (await ben.member.submit("/connect", `/connect/invitations/${id}/cancel`, {})).status,
        404,
      );
    });

    it("don't come about once the inviter cancelled or the other rejected", async () => {
      verifies("EXT-022", "EXT-023");
      for (const [by, act, state] of [
        [ann, "cancel", "cancelled"],
        [ben, "reject", "rejected"],
      ] as const) {
        const ticket = ann.select(`to ${act}`);
        await ann.invite(ticket, ben);
        const [id] = await ben.invitations();
        assert.ok(id);
        const close = () => by.member.submit("/connect", `/connect/invitations/${id}/${act}`, {});
        assert.equal((await close()).status, 303);
        assert.deepEqual(await ben.invitations(), []);
        const stateOf = async () => (await invitationsOf(ann)).find((one) => one.id === id)?.state;
        assert.equal(await stateOf(), state);
        assert.equal((await ben.accept(id, ben.select("late"))).status, 403);
        // The same forms once more change nothing.
        assert.equal((await close()).status, 303);
        assert.equal((await ann.invite(ticket, ben)).status, 403);
        assert.equal(await stateOf(), state);
      }
      assert.deepEqual(await connectionsOf(ann), []);
    });

    it("refuse tickets that don't hold", async () => {
      verifies("EXT-003", "EXT-004", "EXT-008", "EXT-026", "EXT-027", "EXT-078", "EXT-079", "LIM-047");
      const other = await instance(await service.member(`Cay ${count}`));
      const now = service.clock.now();
      const wrong: [string, object | string][] = [
        ["another service", ann.ticket("g", { account_origin: "https://other.example" })],
        ["another device", ann.ticket("g", { device_id: other.device.id })],
        ["another instance", ann.ticket("g", { instance_id: other.instance_id })],
        ["another key", { ...other.ticket("g"), account_id: ann.member_id, device_id: ann.device.id }],
        ["changed", { ...ann.ticket("g"), group_id: "h" }],
        ["a longer life", ann.ticket("g", { expires_at: new Date(now + DAY_MS + 1000).toISOString() })],
        [
          "expired",
          ann.ticket("g", {
            issued_at: new Date(now - DAY_MS).toISOString(),
            expires_at: new Date(now).toISOString(),
          }),
        ],
        ["more", { ...ann.ticket("g"), more: "1" }],
        ["too large", ann.ticket("g", { title: "x".repeat(4000) })],
        ["no JSON", "bm9uZQ"],
        ["no base64url", "%%%"],
      ];
      for (const [what, ticket] of wrong) {
        const text = typeof ticket === "string" ? ticket : encoded(ticket);
        const { status, body } = await ann.submit({ ticket: text, recipient: ben.member_id });
        assert.equal(status, 403, what);
        assert.ok(!(body as string).includes('action="/connect/select"'), what);
        assert.match(body as string, /role="alert"/u, what);
        service.clock.advance(60_000);
      }
      assert.equal(ann.asked, 0);
      const ticket = ann.select("g");
      await ann.submit({ ticket, recipient: ben.member_id });
      const [invitation] = await ben.invitations();
      service.clock.advance(DAY_MS);
      assert.deepEqual(await ben.invitations(), []);
      await ben.register();
      assert.equal((await ben.accept(invitation!, ben.select("h"))).status, 403);
      assert.equal((await ann.submit({ ticket, recipient: ben.member_id })).status, 403);
      assert.deepEqual(await connectionsOf(ann), []);
    });

    it("tell a Group that is gone from an instance that can't answer", async () => {
      verifies("ERR-009", "ERR-010", "ERR-011", "ERR-012", "EXT-020", "EXT-051", "EXT-077");
      const fields = { ticket: ann.select("g"), recipient: ben.member_id };
      const after = (seconds: number) => new Date(service.clock.now() + seconds * 1000).toISOString();
      const proofs: ((proper: Record<string, string>) => { status: number; body: unknown })[] = [
        () => ({ status: 403, body: "<h1>Forbidden</h1>" }),
        () => ({ status: 503, body: {} }),
        () => ({ status: 302, body: {} }),
        (proper) => ({ status: 200, body: { ...proper, title: "Other" } }),
        (proper) => ({ status: 200, body: ann.proof({ ...proper, nonce: randomUUID() }) }),
        (proper) => ({ status: 200, body: ann.proof({ ...proper, ticket_sha256: "0".repeat(64) }) }),
        (proper) => ({ status: 200, body: ann.proof({ ...proper, expires_at: after(-1) }) }),
        (proper) => ({ status: 200, body: ben.proof(proper) }),
        (proper) => ({ status: 200, body: { ...proper, more: "x".repeat(5000) } }),
      ];
      for (const answers of proofs) {
        ann.answers = answers;
        const { status, body } = await ann.submit(fields);
        assert.equal(status, 503);
        // The same form again, with what was in it.
        for (const value of Object.values(fields)) assert.ok((body as string).includes(`value="${value}"`));
      }
      ann.answers = null;
      await ann.register(null);
      assert.equal((await ann.submit(fields)).status, 503);
      await ann.register();
      assert.deepEqual(await invitationsOf(ann), []);
      assert.equal((await ann.submit(fields)).status, 200);

      const [invitation] = await ben.invitations();
      const asked = `/connect/select?ticket=${ben.select("h")}&invitation=`;
      assert.equal((await ben.member.get(asked + invitation!)).status, 200);
      // As a command takes it, too.
      assert.equal((await ben.member.get(asked + invitation!.toUpperCase())).status, 200);
      const acceptance = { ticket: ben.select("h"), invitation: invitation! };
      ann.answers = () => ({ status: 500, body: {} });
      assert.equal((await ben.submit(acceptance)).status, 503);
      ann.answers = null;
      ben.groups.set("h", "another generation");
      const denied = await ben.submit(acceptance);
      assert.equal(denied.status, 403);
      assert.match(denied.body as string, /Select a Group again/u);
      ann.groups.delete("g");
      const gone = await ben.accept(invitation!, ben.select("i"));
      assert.equal(gone.status, 403);
      assert.match(gone.body as string, /fresh invitation/u);
      assert.deepEqual(await ben.invitations(), []);
      assert.deepEqual(await connectionsOf(ann), []);
      ann.answers = () => DENIED;
      assert.equal((await ann.submit({ ...fields, ticket: ann.select("j") })).status, 403);
    });

    it("wait for an instance whose version the service doesn't take now", async () => {
      await ann.invite(ann.select("g"), ben);
      const [invitation] = await ben.invitations();
      const acceptance = { ticket: ben.select("h"), invitation: invitation! };
      for (const [old, whose] of [
        [ann, "other"],
        [ben, "your"],
      ] as const) {
        await service.store.db
          .updateTable("connect_instances")
          .set({ client_version: "0.4.39" })
          .where("device_id", "=", old.device.id)
          .execute();
        const { status, body } = await ben.submit(acceptance);
        assert.equal(status, 503);
        assert.match(body as string, new RegExp(`instance of (the )?${whose} Group .* Update it there`, "u"));
        for (const value of Object.values(acceptance))
          assert.ok((body as string).includes(`value="${value}"`), "the selection is kept");
        await old.register();
      }
      assert.equal((await ben.submit(acceptance)).status, 200);
    });

    it("are at most one for the same two Groups, whoever invites and however often it is accepted", async () => {
      verifies("EXT-031", "EXT-032");
      for (let round = 0; round < 3; round += 1) {
        const [g, h] = [`g${round}`, `h${round}`];
        await ann.invite(ann.select(g), ben);
        await ben.invite(ben.select(h), ann);
        const [there] = await ben.invitations();
        const [here] = await ann.invitations();
        const answers = await Promise.all([
          ben.accept(there!, ben.select(h)),
          ann.accept(here!, ann.select(g)),
          ben.accept(there!, ben.select(h)),
        ]);
        for (const { status, body } of answers) assert.equal(status, 200, body as string);
        const links = await ann.links();
        assert.equal(links.length, round + 1);
        service.clock.advance(60_000);
      }
    });

    it("are bounded, and forgotten after 30 days", async () => {
      verifies("EXT-030", "LIM-002", "LIM-048", "LIM-049", "LIM-050", "LIM-051");
      const id = await ann.connect("g", ben, "h");
      const [row] = await connectionsOf(ann);
      const copies = Array.from({ length: 127 }, () => ({ ...row!, id: randomUUID(), pair: randomUUID() }));
      const { db } = service.store;
      await db.insertInto("group_connections").values(copies).execute();
      const ticket = ann.select("i");
      const full = await ann.invite(ticket, ben);
      assert.equal(full.status, 409, full.body as string);
      // The selection is as good as before.
      for (const value of [ticket, ben.member_id])
        assert.ok((full.body as string).includes(`value="${value}"`), "the selection is kept");
      await ben.invite(ben.select("h2"), ann);
      const [invitation] = await ann.invitations();
      const ownFull = await ann.accept(invitation!, ann.select("i"));
      assert.equal(ownFull.status, 409);
      assert.match(ownFull.body as string, /You have as many.* End one .*Connect these Groups/su);
      await db.deleteFrom("group_connections").where("id", "=", copies[0]!.id).execute();
      assert.equal((await ann.accept(invitation!, ann.select("i"))).status, 200);
      assert.equal((await active(ann)).length, 127);
      const cay = await instance(await service.member(`Cay ${count}`));
      const dan = await instance(await service.member(`Dan ${count}`));
      await cay.invite(cay.select("k"), dan);
      const ofCay = Array.from({ length: 128 }, () => ({
        ...row!,
        id: randomUUID(),
        pair: randomUUID(),
        source_member: cay.member_id,
        target_member: cay.member_id,
      }));
      await db.insertInto("group_connections").values(ofCay).execute();
      const othersFull = await dan.accept((await dan.invitations())[0]!, dan.select("l"));
      assert.equal(othersFull.status, 409);
      assert.match(othersFull.body as string, /The other member has as many.* Ask them to end one/su);

      const eve = await service.member(`Eve ${count}`);
      const tries = async () => (await eve.submit("/connect", `/connect/${id}/revoke`, {})).status;
      for (let more = 0; more < 20; more += 1) assert.notEqual(await tries(), 429);
      assert.equal(await tries(), 429);
      assert.equal((await ben.member.submit("/connect", `/connect/${id}/revoke`, {})).status, 303);

      for (let more = 0; more < 30; more += 1) await ann.links();
      assert.equal((await ann.device.get("/v1/connect/groups")).status, 429);
      const kept = 30 * DAY_MS;
      const before = await connectionsOf(ann);
      const [accepted] = await invitationsOf(ann);
      await sweep(db, accepted!.closed_at! + kept - 1);
      assert.equal((await connectionsOf(ann)).length, before.length);
      assert.equal((await invitationsOf(ann)).length, 1);
      await sweep(db, service.clock.now() + kept);
      assert.ok((await connectionsOf(ann)).every(({ closed_at: closedAt }) => closedAt === null));
      assert.equal((await invitationsOf(ann)).length, 0);
    });
  });
}
