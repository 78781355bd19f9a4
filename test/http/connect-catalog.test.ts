import assert from "node:assert/strict";
import { DOWN } from "../peers/memory-transport.ts";
import { MINUTE, Pair, rest } from "../peers/sending-setting.ts";
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
    verifies("CAT-016");
    assert.equal((await get("", "svc_member")).status, 403);
    assert.ok((await get("", "svc_exhibit")).status >= 401);
    assert.equal((await get("", "svc_nobody")).status, 401);
    assert.deepEqual(calls, []);
  });

  it("isn't there for the exhibit, at its own listener, with its own token", async () => {
    verifies("CAT-020");
    const asked: unknown[] = [];
    const exhibit = await openSetting({
      exhibit: [GROUP],
      handlers: {
        group_show: () => ({}),
        connect_catalog: (input: unknown): unknown => {
          asked.push(input);
          return { instances: [] };
        },
      },
    });
    try {
      exhibit.tokens.add("svc_exhibit", "exhibit", [GROUP]);
      const headers = { authorization: "Bearer svc_exhibit" };
      const path = `/api/v1/groups/${GROUP}`;
      assert.equal((await exhibit.send("GET", path, { headers })).status, 200, "what it may see");
      const { status, code } = await exhibit.send("GET", `${path}/connect/catalog`, { headers });
      assert.deepEqual([status, code], [404, "not_found"]);
      assert.deepEqual(asked, []);
    } finally {
      await exhibit.close();
    }
  });

  it("asks nobody, also when the peers are down and what is known has grown old", async () => {
    verifies("CAT-021");
    const pair = await Pair.open("direct");
    const { here, there } = pair;
    const web = await openSetting({
      handlers: { connect_catalog: here.peers.handlers().connect_catalog },
    });
    try {
      web.tokens.add("svc_admin", "administrator");
      const look = async () => {
        const fields = `instance_id=${there.instance_id}&target_group_id=${there.group_id}`;
        const before = here.transport.seen.length;
        const headers = { authorization: "Bearer svc_admin" };
        const answers = [];
        for (const query of ["", `?${fields}`, `?${fields}&limit=1`]) {
          const path = `/api/v1/groups/${here.group_id}/connect/catalog${query}`;
          const { status, result } = await web.send("GET", path, { headers });
          assert.equal(status, 200);
          answers.push(result);
        }
        await rest();
        assert.equal(here.transport.seen.length, before, "a peer was asked");
        return answers[1] as { catalog: unknown; fresh: boolean };
      };
      assert.equal((await look()).fresh, true);
      here.transport.wire = DOWN;
      await pair.pass(5 * MINUTE);
      const old = await look();
      assert.deepEqual([old.catalog === null, old.fresh], [false, false]);
    } finally {
      await web.close();
      await pair.close();
    }
  });
});
