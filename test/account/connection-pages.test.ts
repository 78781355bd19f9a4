/** What the pages of the account show of connections and invitations. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { verifies } from "../requirements.ts";
import { ConnectionsSetting } from "./connections-setting.ts";
import { encoded, type GroupInstance } from "./group-instance.ts";
import { KINDS, type TestService } from "./service.ts";

for (const kind of KINDS) {
  describe(`connections of two members on ${kind}`, () => {
    const setting = new ConnectionsSetting(kind);
    const { invitationsOf, connectionsOf } = setting;
    let service: TestService;
    let ann: GroupInstance;
    let ben: GroupInstance;
    before(() => setting.start());
    beforeEach(async () => {
      ({ service, ann, ben } = await setting.next());
    });
    after(() => setting.close());

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
