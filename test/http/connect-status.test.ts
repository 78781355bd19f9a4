/** Who may read the account's directory and rename this instance over HTTP. */
import assert from "node:assert/strict";
import { verifies } from "../requirements.ts";
import { GROUP, openSetting, type Setting } from "./setting.ts";

const STATUS = { connect: null, account_label: "Ann", group_connections: null };

describe("/api/v1/connect", () => {
  const renamed: unknown[] = [];
  let setting: Setting;
  before(async () => {
    setting = await openSetting({
      handlers: {
        connect_status: () => STATUS,
        connect_rename: (input: unknown): unknown => {
          renamed.push(input);
          return { renamed: true };
        },
      },
    });
    setting.tokens.add("svc_admin", "administrator");
    setting.tokens.add("svc_member", "restricted", [GROUP]);
    setting.tokens.add("svc_exhibit", "exhibit", [GROUP]);
  });
  after(() => setting.close());

  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

  it("tells the directory to an administrator alone", async () => {
    verifies("WEB-005", "WEB-006", "WEB-007");
    const { status, text } = await setting.send("GET", "/api/v1/connect", { headers: bearer("svc_admin") });
    assert.equal(status, 200);
    assert.deepEqual(JSON.parse(text), { ok: true, result: STATUS });
    for (const token of ["svc_member", "svc_exhibit", "svc_nobody"]) {
      const refused = await setting.send("GET", "/api/v1/connect", { headers: bearer(token) });
      assert.ok([401, 403].includes(refused.status), `${token}: ${refused.status}`);
      assert.ok(!refused.text.includes("Ann"));
    }
    assert.ok([401, 403].includes((await setting.send("GET", "/api/v1/connect")).status));
  });

  it("renames for an administrator alone, always as the person", async () => {
    verifies("WEB-008", "WEB-009");
    const rename = (token: string, body: unknown) =>
      setting.send("POST", "/api/v1/connect/name", { headers: bearer(token), body });
    assert.equal((await rename("svc_admin", { display_name: "Builder" })).status, 200);
    assert.deepEqual(renamed.pop(), { by: "user", display_name: "Builder" });
    assert.equal((await rename("svc_member", { display_name: "Mine" })).status, 403);
    const other = await rename("svc_admin", { display_name: "Builder", by: "lead" });
    assert.ok(other.status === 200 || other.status === 400);
    for (const input of renamed.splice(0)) assert.equal((input as { by: string }).by, "user");
  });
});
