/** Who may open a frame of another instance over HTTP, and what their page may frame. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FramingPort } from "../../daemon/http/api/peers.ts";
import { verifies } from "../requirements.ts";
import { GROUP, openSetting, type Setting } from "./setting.ts";

const LAB = "https://lab.example:8443";
const ASKED = { instance_id: "lab", frame_id: "6c1f6ad3-6b2b-4c50-8f0a-0c6a3a3a9a01" };

describe("/api/v1/connect/open", () => {
  const opened: { body: unknown; origin: string }[] = [];
  const workbench = mkdtempSync(join(tmpdir(), "svc-page-"));
  let setting: Setting;
  let whileAsked: () => unknown = () => {};
  before(async () => {
    writeFileSync(join(workbench, "index.html"), "<!doctype html>");
    setting = await openSetting({
      workbench,
      framing: {
        async open(body, page) {
          opened.push({ body, origin: page.origin });
          await whileAsked();
          page.check();
          return { origin: LAB, url: `${LAB}/ui/connect/`, proof: {} } as Awaited<
            ReturnType<FramingPort["open"]>
          >;
        },
        origins: () => [LAB],
      },
    });
    setting.tokens.add("svc_admin", "administrator");
    setting.tokens.add("svc_member", "restricted", [GROUP]);
    setting.tokens.add("svc_exhibit", "exhibit", [GROUP]);
  });
  after(async () => {
    await setting.close();
    rmSync(workbench, { recursive: true });
  });

  const open = (token: string | null) =>
    setting.send("POST", "/api/v1/connect/open", {
      headers: token === null ? {} : { authorization: `Bearer ${token}` },
      body: ASKED,
    });

  it("is for administrators alone, and names the page's own origin", async () => {
    verifies("WB-003", "WB-007");
    const { status, result } = await open("svc_admin");
    assert.equal(status, 200);
    assert.deepEqual(result, { origin: LAB, url: `${LAB}/ui/connect/`, proof: {} });
    assert.deepEqual(opened.splice(0), [{ body: ASKED, origin: setting.origin }]);
    assert.equal((await open("svc_member")).status, 403);
    for (const token of ["svc_exhibit", "svc_nobody", null]) assert.equal((await open(token)).status, 401);
    assert.deepEqual(opened, []);
  });

  it("is denied when the token was revoked while the other instance was asked", async () => {
    verifies("WB-008");
    const id = setting.tokens.add("svc_short", "administrator");
    whileAsked = () => setting.tokens.revoke(id);
    const { status, result } = await open("svc_short");
    assert.deepEqual([status, result], [401, undefined]);
  });

  it("lets an administrator's page frame those instances, and tells nobody else", async () => {
    verifies("WB-005");
    const policy = async (headers: Record<string, string>) =>
      String((await setting.send("GET", "/", { headers })).headers["content-security-policy"]);
    const own = await policy({ authorization: "Bearer svc_admin" });
    assert.ok(own.includes(`;frame-src 'self' ${LAB}`), own);
    assert.ok(own.includes(`form-action 'self' ${LAB};`), own);
    for (const headers of [{}, { authorization: "Bearer svc_member" }]) {
      const other = await policy(headers);
      assert.ok(!other.includes("lab.example") && other.includes("form-action 'self'"), other);
    }
  });
});
