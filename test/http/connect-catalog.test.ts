import assert from "node:assert/strict";
import { verifies } from "../requirements.ts";
import { GROUP, OTHER, openSetting, type Setting } from "./setting.ts";

describe("/api/v1/groups/{group_id}/connect/catalog", () => {
  const calls: unknown[] = [];
  let setting: Setting;
  before(async () => {
    setting = await openSetting({
      handlers: {
        connect_catalog: (input: unknown): unknown => {
          calls.push(input);
          return { instances: [] };
        },
      },
    });
    setting.tokens.add("svc_admin", "administrator");
    setting.tokens.add("svc_member", "restricted", [GROUP]);
    setting.tokens.add("svc_exhibit", "exhibit", [GROUP]);
  });
  after(() => setting.close());

  const get = (query: string, token: string) =>
    setting.send("GET", `/api/v1/groups/${GROUP}/connect/catalog${query}`, {
      headers: { authorization: `Bearer ${token}` },
    });

  it("takes its optional fields, and Group and speaker from path and credential alone", async () => {
    verifies("CAT-016", "CAT-017", "CAT-018", "CAT-019", "CAT-022");
    const fields = "instance_id=i&target_group_id=g_there&after=c&limit=3";
    const { status } = await get(`?${fields}&group_id=${OTHER}&by=actor`, "svc_admin");
    assert.equal(status, 200);
    assert.deepEqual(calls.pop(), {
      group_id: GROUP,
      instance_id: "i",
      target_group_id: "g_there",
      after: "c",
      limit: 3,
    });
    assert.equal((await get("", "svc_admin")).status, 200);
    assert.deepEqual(calls.pop(), { group_id: GROUP, limit: 20 });
  });

  it("is an administrator's", async () => {
    verifies("CAT-016", "CAT-020");
    assert.equal((await get("", "svc_member")).status, 403);
    assert.ok((await get("", "svc_exhibit")).status >= 401);
    assert.equal((await get("", "svc_nobody")).status, 401);
    assert.deepEqual(calls, []);
  });
});
