/** What ends a connection between Groups of two members, and that it stays ended. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { Operator } from "../../account/operator.ts";
import { RealRandom } from "../../platform/real-random.ts";
import { verifies } from "../requirements.ts";
import { ConnectionsSetting } from "./connections-setting.ts";
import type { GroupInstance } from "./group-instance.ts";
import { csrfOf, KINDS, type TestService } from "./service.ts";

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

    it("stay while one of the instances is too old for the service", async () => {
      verifies("VER-012");
      const id = await ann.connect("g", ben, "h");
      await service.store.db
        .updateTable("connect_instances")
        .set({ client_version: "0.4.39" })
        .where("member_id", "=", ben.member_id)
        .execute();
      assert.deepEqual(
        (await ann.links()).map((link) => link.id),
        [id],
      );
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
  });
}
