/** Connections of a Group to other accounts over HTTP: the operations behind them are fakes. */
import assert from "node:assert/strict";
import { API_PREFIX } from "../../shared/names.ts";
import { verifies } from "../requirements.ts";
import { GROUP, openSetting, recording, type Setting } from "./setting.ts";

const PATH = `${API_PREFIX}/connect/groups`;
const URL = "https://account.example/connect/select";

describe("/api/v1/connect/groups", () => {
  const { calls, handlers } = recording({
    connect_group_status: { status: "ready", links: [] },
    connect_group_select: { url: URL },
  });
  let setting: Setting;
  before(async () => {
    setting = await openSetting({ handlers });
    setting.tokens.add("svc_admin", "administrator");
    setting.tokens.add("svc_member", "restricted", [GROUP]);
  });
  after(() => setting.close());
  beforeEach(() => void calls.splice(0));

  const ask = (on: Setting, method: "GET" | "POST", token: string | null) =>
    on.send(method, method === "GET" ? `${PATH}?group_id=${GROUP}` : PATH, {
      headers: token === null ? {} : { authorization: `Bearer ${token}` },
      ...(method === "POST" ? { body: { group_id: GROUP } } : {}),
    });

  it("shows them to an administrator, and selects a Group only by a POST", async () => {
    verifies("WEB-012", "WEB-013", "WEB-014");
    const shown = await ask(setting, "GET", "svc_admin");
    assert.deepEqual([shown.status, shown.result], [200, { status: "ready", links: [] }]);
    assert.deepEqual(calls.splice(0), [["connect_group_status", { group_id: GROUP }]]);
    const selected = await ask(setting, "POST", "svc_admin");
    assert.deepEqual([selected.status, selected.result], [200, { url: URL }]);
    assert.deepEqual(calls, [["connect_group_select", { group_id: GROUP }]]);
  });

  it("is closed to restricted tokens, to those without one, and to the exhibit", async () => {
    verifies("WEB-012", "WEB-013", "WEB-015", "WEB-016");
    const exhibit = await openSetting({ exhibit: [GROUP] });
    exhibit.tokens.add("svc_exhibit", "exhibit", [GROUP]);
    for (const method of ["GET", "POST"] as const) {
      assert.equal((await ask(setting, method, "svc_member")).status, 403);
      assert.equal((await ask(setting, method, null)).status, 401);
      assert.equal((await ask(exhibit, method, "svc_exhibit")).status, 404);
    }
    await exhibit.close();
    assert.deepEqual(calls, []);
  });
});
