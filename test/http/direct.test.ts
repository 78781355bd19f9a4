import assert from "node:assert/strict";
import { verifies } from "../requirements.ts";
import { GROUP, openSetting, recording, type Setting } from "./setting.ts";

const ID = "direct-00000000-0000-4000-8000-000000000001";

describe("/api/v1/connect/direct", () => {
  const { calls, handlers } = recording({
    connect_direct_status: { relations: [] },
    connect_direct_configure: { configured: true },
    connect_direct_invite: { invitation: "svc-direct:x" },
    connect_direct_join: { id: ID },
    connect_direct_approve: { updated: true },
    connect_direct_revoke: { updated: true },
    connect_direct_remove: { removed: true },
  });
  let setting: Setting;
  before(async () => {
    setting = await openSetting({ handlers });
    setting.tokens.add("svc_admin", "administrator");
    setting.tokens.add("svc_member", "restricted", [GROUP]);
  });
  after(() => setting.close());
  beforeEach(() => void calls.splice(0));

  const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

  it("is one address for every action, for administrators", async () => {
    verifies("WEB-017", "WEB-019");
    const listener = { bind: "127.0.0.1:8847", address: "localhost:8847" };
    const actions: [Record<string, unknown>, unknown][] = [
      [{ action: "configure", group_id: GROUP, listener, expected_listener: null }, { configured: true }],
      [{ action: "invite", group_id: GROUP }, { invitation: "svc-direct:x" }],
      [{ action: "join", group_id: GROUP, invitation: "svc-direct:x" }, { id: ID }],
      [{ action: "approve", group_id: GROUP, id: ID }, { updated: true }],
      [{ action: "revoke", group_id: GROUP, id: ID }, { updated: true }],
      [{ action: "remove", group_id: GROUP, id: ID }, { removed: true }],
    ];
    for (const [body, result] of actions) {
      const { status, result: given } = await setting.send("POST", "/api/v1/connect/direct", {
        ...as("svc_admin"),
        body,
      });
      assert.equal(status, 200);
      assert.deepEqual(given, result);
      const { action, ...input } = body;
      assert.deepEqual(calls.pop(), [`connect_direct_${String(action)}`, input]);
    }
    const shown = await setting.send("GET", `/api/v1/connect/direct?group_id=${GROUP}`, as("svc_admin"));
    assert.equal(shown.status, 200);
    assert.deepEqual(calls.pop(), ["connect_direct_status", { group_id: GROUP }]);
  });

  it("is closed to restricted tokens and to whoever has none", async () => {
    verifies("WEB-018");
    const body = { action: "invite", group_id: GROUP };
    for (const method of ["GET", "POST"]) {
      const sent = method === "POST" ? { body } : {};
      const member = await setting.send(method, "/api/v1/connect/direct", { ...as("svc_member"), ...sent });
      assert.equal(member.status, 403);
      assert.equal((await setting.send(method, "/api/v1/connect/direct", sent)).status, 401);
    }
    assert.deepEqual(calls, []);
  });

  it("isn't there for the exhibit", async () => {
    const exhibit = await openSetting({ exhibit: [GROUP] });
    exhibit.tokens.add("svc_exhibit", "exhibit", [GROUP]);
    for (const method of ["GET", "POST"]) {
      const { status } = await exhibit.send(method, "/api/v1/connect/direct", as("svc_exhibit"));
      assert.equal(status, 404);
    }
    await exhibit.close();
  });

  it("refuses other actions, unknown fields, and names as the address to listen on", async () => {
    verifies("DRC-046");
    const bad: Record<string, unknown>[] = [
      {},
      { action: "status", group_id: GROUP },
      { action: "invite", group_id: GROUP, more: 1 },
      { action: "approve", group_id: GROUP, id: "x" },
      ...["localhost:8847", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.256:1", "::1:8847"].map(
        (bind) => ({ action: "configure", listener: { bind, address: "a.example:1" } }),
      ),
      { action: "configure", listener: { bind: "127.0.0.1:1", address: "a.example" } },
    ];
    for (const body of bad) {
      const answer = await setting.send("POST", "/api/v1/connect/direct", { ...as("svc_admin"), body });
      assert.equal(answer.status, 400, JSON.stringify(body));
      assert.equal(answer.code, "invalid_args");
    }
    assert.deepEqual(calls, []);
    const six = { action: "configure", listener: { bind: "[::1]:8847", address: "[::1]:8847" } };
    assert.equal(
      (await setting.send("POST", "/api/v1/connect/direct", { ...as("svc_admin"), body: six })).status,
      200,
    );
  });
});
