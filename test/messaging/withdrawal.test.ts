/** Taking a message back from those who haven't got it. */

import assert from "node:assert/strict";
import { refusal, TestHome } from "./setting.ts";

describe("A message that is withdrawn", () => {
  let home: TestHome;
  let group: string;
  beforeEach(async () => {
    home = await TestHome.open();
    group = await home.group("lead", "dev");
  });
  afterEach(() => home.remove());

  const send = async (message: object) =>
    (await home.call("send", { group_id: group, text: "work", ...message })).event.id;
  const withdraw = (eventId: string, options = {}) =>
    home.call("message_withdraw", { group_id: group, event_id: eventId }, options);

  it("is handed to nobody, also after a restart, and says so for each", async () => {
    const id = await send({ to: ["lead", "dev"] });
    assert.deepEqual((await home.read(group, "lead")).texts, ["work"]);
    assert.deepEqual(await withdraw(id), { withdrawn: ["dev"] });
    assert.deepEqual(await withdraw(id), { withdrawn: ["dev"] });
    home = await home.restarted();
    assert.deepEqual((await home.read(group, "dev")).texts, []);
    const { delivery_status: states } = await home.status(group, id);
    assert.deepEqual([states["lead"]?.state, states["dev"]?.reason], ["claimed", "withdrawn"]);
  });

  it("is owed no reply by those it was withdrawn from", async () => {
    const id = await send({ to: ["lead", "dev"], message_mode: "request_reply" });
    await home.read(group, "lead");
    await withdraw(id);
    const { obligation_status: owed } = await home.status(group, id);
    assert.deepEqual([owed["lead"]?.state, owed["dev"]?.state], ["open", "cancelled"]);
  });

  it("waits for the call that is taking it, and is then too late", async () => {
    const id = await send({ to: ["dev"] });
    const reading = home.read(group, "dev");
    await assert.rejects(withdraw(id), refusal("not_pending"));
    assert.deepEqual((await reading).texts, ["work"]);
  });

  it("isn't Mail, nor of another Actor, nor one that goes to another Group", async () => {
    const other = await home.group("there");
    const mail = await send({ to: ["dev"], message_mode: "mail" });
    await assert.rejects(withdraw(mail), refusal("not_pending"));
    const direct = await send({ to: ["dev"] });
    const as = home.actor(group, "dev", "s");
    await assert.rejects(withdraw(direct, { as }), refusal("permission_denied"));
    const across = await home.call("send_cross_group", {
      group_id: group,
      dst_group_id: other,
      text: "over there",
    });
    await assert.rejects(withdraw(across.source_event.id), refusal("not_pending"));
  });
});
