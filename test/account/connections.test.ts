/** Invitations and connections between Groups of two members: what holds, and what is refused. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { Operator } from "../../account/operator.ts";
import { sweep } from "../../account/store/sweep.ts";
import { RealRandom } from "../../platform/real-random.ts";
import { verifies } from "../requirements.ts";
import { DENIED, encoded, GroupInstance } from "./group-instance.ts";
import { csrfOf, KINDS, type TestBrowser, TestService } from "./service.ts";

const DAY_MS = 24 * 3_600_000;

for (const kind of KINDS) {
  describe(`connections of two members on ${kind}`, () => {
    let service: TestService;
    let ann: GroupInstance;
    let ben: GroupInstance;
    const made: GroupInstance[] = [];
    let count = 0;

    async function instance(member: TestBrowser): Promise<GroupInstance> {
      const one = await GroupInstance.of(service, member);
      made.push(one);
      return one;
    }

    before(async () => {
      service = await TestService.started({ kind });
    });
    beforeEach(async () => {
      count += 1;
      // The limits of a minute begin anew.
      ann = await instance(await service.member(`Ann ${count}`));
      ben = await instance(await service.member(`Ben ${count}`));
    });
    after(async () => {
      await Promise.all(made.map((one) => one.close()));
      await service.dispose();
    });

    const invitationsOf = (one: GroupInstance) =>
      service.store.db
        .selectFrom("group_invitations")
        .selectAll()
        .where("source_member", "=", one.member_id)
        .execute();
    const connectionsOf = (one: GroupInstance) =>
      service.store.db
        .selectFrom("group_connections")
        .selectAll()
        .where("source_member", "=", one.member_id)
        .execute();
    const active = async (one: GroupInstance) =>
      (await connectionsOf(one)).filter(({ closed_at: closedAt }) => closedAt === null);

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
      verifies("EXT-022", "EXT-023");
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
      const proofs: ((proper: Record<string, string>) => { status: number; body: unknown })[] = [
        () => ({ status: 403, body: "<h1>Forbidden</h1>" }),
        () => ({ status: 503, body: {} }),
        () => ({ status: 302, body: {} }),
        (proper) => ({ status: 200, body: { ...proper, nonce: randomUUID() } }),
        (proper) => ({ status: 200, body: { ...proper, ticket_sha256: "0".repeat(64) } }),
        (proper) => ({ status: 200, body: { ...proper, title: "Other" } }),
        (proper) => ({ status: 200, body: { ...proper, expires_at: new Date(0).toISOString() } }),
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
      for (const old of [ann, ben]) {
        await service.store.db
          .updateTable("connect_instances")
          .set({ client_version: "0.4.39" })
          .where("device_id", "=", old.device.id)
          .execute();
        const { status, body } = await ben.submit(acceptance);
        assert.equal(status, 503);
        assert.match(body as string, /Update it there/u);
        for (const value of Object.values(acceptance))
          assert.ok((body as string).includes(`value="${value}"`), "the selection is kept");
        await old.register();
      }
      assert.equal((await ben.submit(acceptance)).status, 200);
    });

    it("aren't made again by an invitation of the member who ended them", async () => {
      const open = async (one: GroupInstance) => (await one.invitations()).length;
      for (const ending of [ann, ben]) {
        const other = ending === ann ? ben : ann;
        await other.invite(other.select("other"), ending);
        await ending.invite(ending.select("own"), other);
        await ending.invite(ending.select("own"), other);
        await ending.invite(ending.select("elsewhere"), other);
        const [, later, earlier] = await other.invitations();
        const accepted = await other.accept(earlier!, other.select("other"));
        const [, id] = /\/connect\/([0-9a-f-]{36})\/revoke/u.exec(accepted.body as string) ?? [];
        const end = async () => (await ending.member.submit("/connect", `/connect/${id}/revoke`, {})).status;
        assert.equal(await end(), 303);
        assert.equal((await other.accept(later!, other.select("other"))).status, 403);
        assert.deepEqual(await ending.links(), []);
        // What the other offers, and what is offered for another Group, stays.
        assert.deepEqual([await open(ending), await open(other)], [1, 1]);
        service.clock.advance(60_000);
        // A later invitation counts, also if the old form comes once more.
        await ending.invite(ending.select("own"), other);
        assert.equal(await end(), 303);
        assert.equal(await open(other), 2);
        for (const one of [ending, other])
          for (const left of await one.invitations())
            await one.member.submit("/connect", `/connect/invitations/${left}/reject`, {});
        service.clock.advance(60_000);
      }
    });

    it("end by either member, by a retired device, and by a Group that is gone", async () => {
      verifies("EXT-024", "EXT-025", "EXT-029", "EXT-039", "EXT-040", "EXT-041", "EXT-048", "EXT-049");
      const [one, two, three, four] = [
        await ann.connect("g1", ben, "h1"),
        await ann.connect("g2", ben, "h2"),
        await ann.connect("g3", ben, "h3"),
        await ann.connect("g4", ben, "h4"),
      ];
      const ends = async () => (await ben.links()).map(({ id }) => id).sort();
      assert.equal(
        (await ann.member.submit(`/connect/${one}/disconnect`, `/connect/${one}/disconnect`, {})).status,
        303,
      );
      assert.equal((await ben.member.submit("/connect", `/connect/${two}/revoke`, {})).status, 303);
      const stranger = await instance(await service.member(`Cay ${count}`));
      assert.equal((await stranger.member.submit("/connect", `/connect/${three}/revoke`, {})).status, 404);
      assert.deepEqual(await ends(), [three, four].sort());
      const post = (body: unknown, by = ben) => by.device.post("/v1/connect/groups", body);
      assert.deepEqual((await post({ invalidated: [three] }, stranger)).body.links, []);
      assert.equal((await ends()).length, 2);
      const ids = Array.from({ length: 127 }, () => randomUUID());
      assert.equal((await post({ invalidated: [...ids, randomUUID(), randomUUID()] })).status, 400);
      for (const body of [{}, { invalidated: ["x"] }, { invalidated: [], more: 1 }, []])
        assert.equal((await post(body)).status, 400);
      const large = `{"invalidated":[]${" ".repeat(8 * 1024 - 17)}}`;
      assert.equal((await post(large)).status, 413);
      assert.equal((await post(large.replace(" }", "}"))).status, 200);
      const { body } = await post({ invalidated: [three, ...ids] });
      assert.deepEqual(
        body.links.map((link: { id: string }) => link.id),
        [four],
      );
      await ann.invite(ann.select("g5"), ben);
      assert.equal((await ben.invitations()).length, 1);
      await ann.device.post("/v1/device/disable", {});
      assert.deepEqual(await ben.links(), []);
      assert.deepEqual(await ben.invitations(), []);
      const reasons = (await connectionsOf(ann)).map(({ end_reason: reason }) => String(reason)).sort();
      assert.deepEqual(reasons, ["ended", "ended", "group_gone", "retired"]);
    });

    it("end with a member who is removed, at every step and on both sides", async () => {
      const remove = async (one: GroupInstance): Promise<void> => {
        const { store, settings, clock } = service;
        const operator = new Operator({ store, settings, clock, random: new RealRandom() });
        await operator.disableMember(one.member_id);
      };
      const isOut = async (one: GroupInstance): Promise<void> => {
        assert.match((await one.member.get("/connect")).headers["location"] ?? "", /^\/login/u);
        assert.equal((await one.device.get("/v1/connect/groups")).status, 403);
        const reported = await one.device.post("/v1/connect/groups", { invalidated: [randomUUID()] });
        assert.equal(reported.status, 403);
      };
      const steps = ["select", "invited", "accepting", "connected", "synced"] as const;
      for (const step of steps) {
        for (const side of ["inviter", "invited"] as const) {
          const what = `${side}, ${step}`;
          const [by, to] = [
            await instance(await service.member(`By ${what} ${count}`)),
            await instance(await service.member(`To ${what} ${count}`)),
          ];
          const [gone, left] = side === "inviter" ? [by, to] : [to, by];
          // The forms of both are open before anyone is removed.
          const csrf = async (one: GroupInstance) =>
            csrfOf((await one.member.get("/connect")).body as string);
          const [csrfBy, csrfTo] = [await csrf(by), await csrf(to)];
          const invite = async (ticket = by.select("g")) =>
            by.member.post("/connect/select", { csrf: csrfBy, ticket, recipient: to.member_id });
          const accept = async (invitation: string) =>
            to.member.post("/connect/select", { csrf: csrfTo, ticket: to.select("h"), invitation });
          if (step === "select") await remove(gone);
          const isInvited = (await invite()).status === 200;
          assert.equal(isInvited, step !== "select", what);
          if (isInvited) {
            const [invitation] = await to.invitations();
            let removed = step === "invited" ? remove(gone) : Promise.resolve();
            await removed;
            // The removal begins while the inviter's instance is asked about its Group.
            if (step === "accepting")
              by.answers = (proper) => {
                removed = remove(gone);
                return { status: 200, body: proper };
              };
            const { status } = await accept(invitation!);
            await removed;
            if (step === "invited") assert.notEqual(status, 200, what);
            if (step === "connected" || step === "synced") {
              assert.equal(status, 200, what);
              if (step === "synced")
                for (const one of [by, to]) assert.equal((await one.links()).length, 1, what);
              await remove(gone);
            }
          }
          await isOut(gone);
          assert.deepEqual(await left.links(), [], what);
          assert.deepEqual(await active(by), [], what);
          assert.deepEqual(
            (await invitationsOf(by)).filter(({ state }) => state === "pending"),
            [],
            what,
          );
          assert.deepEqual(await left.invitations(), [], what);
          // Nor does anyone begin another with a removed member.
          const again = await left.submit({ ticket: left.select("again"), recipient: gone.member_id });
          assert.equal(again.status, 400, what);
        }
      }
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

    it("show the last that ended first, whichever side they were made from", async () => {
      await ann.connect("g", ben, "h");
      const [row] = await connectionsOf(ann);
      const { source_member: annId, target_member: benId } = row!;
      const ended = Array.from({ length: 60 }, (_, index) => ({
        ...row!,
        ...(index % 2 === 0 ? {} : { source_member: benId, target_member: annId }),
        id: randomUUID(),
        pair: randomUUID(),
        source_title: `T${index}.`,
        target_title: `T${index}.`,
        // The first to end is the last that was made.
        created_at: row!.created_at - index,
        closed_at: row!.created_at + index,
        end_reason: "ended" as const,
        ended_by: annId,
      }));
      const { db } = service.store;
      await db.insertInto("group_connections").values(ended).execute();
      const page = (await ann.member.get("/connect")).body as string;
      const shown = [...page.matchAll(/T(\d+)\.[^T]*with/gu)].map(([, index]) => Number(index));
      assert.deepEqual(
        shown,
        Array.from({ length: 50 }, (_, index) => 59 - index),
      );
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

      const tries = async () => (await ann.member.submit("/connect", `/connect/${id}/revoke`, {})).status;
      const found = [];
      for (let more = 0; more < 20; more += 1) found.push(await tries());
      assert.equal(found.at(-1), 429);
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

    it("show a member's own invitations, however many others invite them", async () => {
      await ann.invite(ann.select("own"), ben);
      const [row] = await invitationsOf(ann);
      const others = Array.from({ length: 300 }, (_, index) => ({
        ...row!,
        id: randomUUID(),
        source_member: row!.recipient_member,
        recipient_member: row!.source_member,
        source_title: `T${index}.`,
        created_at: row!.created_at + index,
      }));
      await service.store.db.insertInto("group_invitations").values(others).execute();
      const page = (await ann.member.get("/connect")).body as string;
      assert.ok(page.includes(`/connect/invitations/${row!.id}/cancel`), "the own one is shown");
      assert.equal((await ann.invitations()).length, 256);
      assert.match(page, /T299\..*T44\..*the latest 256/su);
    });

    it("show names as they were selected, and as text", async () => {
      verifies("EXT-012", "EXT-013", "EXT-014", "EXT-045");
      const evil = `<img src=x onerror=alert(1)>"'\u{202e}`;
      const ticket = encoded(ann.ticket("g", { title: evil, instance_name: evil }));
      const pages = [
        await ann.member.get(`/connect/select?ticket=${ticket}`),
        await ann.submit({ ticket, recipient: `"><script>${evil}` }),
        await ann.submit({ ticket, recipient: ben.member_id }),
        await ben.member.get("/connect"),
        await ann.member.get("/connect"),
      ];
      await ann.device.post("/v1/device/name", { display_name: "Renamed" });
      const [invitation] = await ben.invitations();
      const own = encoded(ben.ticket("h", { title: evil }));
      pages.push(await ben.member.get(`/connect/select?ticket=${own}&invitation=${invitation}&lang=de`));
      pages.push(await ben.accept(invitation!, own));
      const [{ id } = { id: "" }] = await ben.links();
      pages.push(await ben.member.get(`/connect/${id}/disconnect`));
      await ben.member.submit("/connect", `/connect/${id}/revoke`, {});
      const last = await ann.member.get("/connect");
      pages.push(last);
      for (const { body, headers } of pages) {
        assert.doesNotMatch(body as string, /<img|<script>|\u{202e}/u);
        assert.match(headers["content-security-policy"] as string, /default-src 'none'/u);
      }
      assert.match(last.body as string, new RegExp(`${ann.member_id}.*<details>.*&lt;img`, "su"));
      assert.doesNotMatch(last.body as string, /Renamed/u);
    });
  });
}
