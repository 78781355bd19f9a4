import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { ArgumentsOf, ResultOf } from "../../shared/operations/registry.ts";
import { refusal } from "../messaging/setting.ts";
import { verifies } from "../requirements.ts";
import { InjectedAuthority } from "./injected-authority.ts";
import { DOWN, signed, UP, type Wire } from "./memory-transport.ts";
import { grantOf, MINUTE, Pair, rest, SECOND, type Side } from "./sending-setting.ts";

type Details = Extract<ResultOf<"connect_catalog">, { catalog: unknown }>;
type Discovery = Extract<ResultOf<"connect_catalog">, { instances: unknown }>;

const catalogs = (side: Side): string => join(side.home.root, "state", "connect", "catalog");

function catalogTimes(side: Side): number[] {
  return side.transport.seen.filter(({ op }) => op === "catalog").map(({ at }) => at);
}

/** A target whose catalog has these pages, each answered after `seconds`. */
function pages(pair: Pair, of: (after: string | null) => unknown): Wire {
  return (request, carry) => {
    const { operation } = request;
    if (operation.op !== "catalog") return carry();
    return signed(pair.there.identity, request, { ok: true, result: of(operation.after) });
  };
}

const group = (at: number, title = "G") => ({
  group_id: `g_${String(at).padStart(6, "0")}`,
  title,
  actors: [],
});

describe("connect_catalog", () => {
  let pair: Pair;
  afterEach(() => pair.close());

  const ask = (more: Partial<ArgumentsOf<"connect_catalog">> = {}) =>
    pair.here.home.call("connect_catalog", { group_id: pair.here.group_id, ...more });
  const details = async (more: Partial<ArgumentsOf<"connect_catalog">> = {}) =>
    (await ask({
      instance_id: pair.there.instance_id,
      target_group_id: pair.there.group_id,
      ...more,
    })) as Details;

  it("shows a Group its own connections, whether or not the other side is there, and asks nobody", async () => {
    verifies("CAT-011", "CAT-012", "CAT-023", "CAT-025", "CAT-030", "CAT-029", "CAT-031");
    pair = await Pair.open("direct", { learnt: false });
    pair.here.transport.wire = DOWN;
    const { here, there } = pair;
    await rest();
    const before = here.transport.seen.length;
    const { count } = here.group.ledger;
    const found = (await ask()) as Discovery;
    assert.deepEqual(found, {
      self_instance_id: here.instance_id,
      instances: [],
      external_groups: [
        {
          connection_id: here.authority.grants[0]!.connection_id,
          instance: {
            instance_id: there.instance_id,
            device_id: "",
            client_version: "0.4.40",
            public_origin: null,
            display_name: "Machine there",
          },
          group_id: there.group_id,
          title: "Test",
          transport: "direct",
        },
      ],
      status: "not_linked",
      account_error: null,
      checked_at: null,
      expires_at: null,
    });
    const other = await here.home.group("zoe");
    assert.deepEqual(((await ask({ group_id: other })) as Discovery).external_groups, []);
    // Membership in the account and in the Group are two things: without the first the directory is
    // empty, without the second there is none.
    const zoe = here.home.actor(other, "zoe");
    await assert.rejects(
      here.home.call("connect_catalog", { group_id: here.group_id }, { as: zoe }),
      refusal("group_not_found"),
    );
    assert.equal(here.transport.seen.length, before);
    assert.equal(here.group.ledger.count, count);
  });

  it("tells of an account that can't be read, and shows Direct connections all the same", async () => {
    verifies("CAT-014", "CAT-015");
    pair = await Pair.open("direct");
    const { here } = pair;
    const account = new InjectedAuthority("account");
    const error = "What was known of the account can't be read.";
    account.condition = () => ({ status: "unavailable", error, checked_at: null, expires_at: null });
    here.home.services.outbound.authorities.add(account, here.transport);
    const found = (await ask()) as Discovery;
    assert.deepEqual([found.status, found.account_error, found.instances], ["unavailable", error, []]);
    assert.deepEqual(
      found.external_groups.map(({ transport }) => transport),
      ["direct"],
    );
  });

  it("shows both kinds side by side, and keeps to a pair's own connection even when that has ended", async () => {
    verifies("DRC-061", "DRC-062", "CAT-001");
    pair = await Pair.open("direct");
    const { here, there } = pair;
    const account = new InjectedAuthority("account");
    account.grants = [grantOf("account", here, there)];
    const { authorities } = here.home.services.outbound;
    authorities.add(account, here.transport);
    const found = (await ask()) as Discovery;
    assert.deepEqual(
      found.instances.map(({ instance_id: instanceId }) => instanceId),
      [there.instance_id],
    );
    assert.deepEqual(
      found.external_groups.map(({ transport }) => transport),
      ["direct"],
    );
    const { connections } = await here.home.call("connection_list", { group_id: here.group_id });
    assert.deepEqual(
      connections.map(({ kind, group_id: groupId }) => [kind, groupId]),
      [
        ["direct", here.group_id],
        ["account", null],
      ],
    );
    const elsewhere = "g_00000000000e";
    for (const state of ["unavailable", "gone"] as const) {
      here.authority.state = state;
      assert.equal(authorities.forPair(here.group_id, there.instance_id, there.group_id)?.state, state);
      await assert.rejects(
        pair.send({ text: "not over the account" }),
        refusal(state === "gone" ? "connect_not_granted" : "connect_unavailable"),
      );
      const other = authorities.forPair(here.group_id, there.instance_id, elsewhere);
      assert.equal(other?.state === "granted" && other.grant.authority, "account");
    }
    here.authority.grants = [];
    const freed = authorities.forPair(here.group_id, there.instance_id, there.group_id);
    assert.equal(freed?.state === "granted" && freed.grant.authority, "account");
  });

  it("shows the connection of a pair that is used, and none while one that has ended keeps it", async () => {
    verifies("DRC-061", "DRC-062", "CAT-001");
    pair = await Pair.open("direct");
    const { here, there } = pair;
    const external = new InjectedAuthority("external");
    external.grants = [grantOf("external", here, there)];
    here.home.services.outbound.authorities.add(external, here.transport);
    const shown = async () => ((await ask()) as Discovery).external_groups.map(({ transport }) => transport);
    assert.deepEqual(await shown(), ["direct"]);
    for (const state of ["unavailable", "gone"] as const) {
      here.authority.state = state;
      assert.deepEqual(await shown(), []);
    }
    const pinned = here.authority.forPair.bind(here.authority);
    here.authority.forPair = () => ({ state: "gone", reason: "It has ended.", remedy: "Remove it." });
    await assert.rejects(pair.send({ text: "not by the other" }), /It has ended\. Remove it\./u);
    here.authority.forPair = pinned;
    here.authority.grants = [];
    assert.deepEqual(await shown(), ["account"]);
  });

  it("says when an instance was last heard, and why it can't be asked about, while the account is silent", async () => {
    pair = await Pair.open("account");
    const { here, there } = pair;
    const listed = async () => {
      const [one] = (await here.home.call("connection_list", {})).connections;
      return [one?.state, one?.last_contact_at];
    };
    const [state, heardAt] = await listed();
    assert.equal(state, "reached");
    assert.notEqual(heardAt, null);
    here.authority.state = "unavailable";
    assert.deepEqual(await listed(), ["unconfirmed", heardAt]);
    // A new run has heard nobody yet.
    here.home.services.outbound.authorities.lastContact = () => null;
    const [, checkedAt] = await listed();
    const [file] = readdirSync(catalogs(here));
    const kept = JSON.parse(readFileSync(join(catalogs(here), file!), "utf8")) as { checked_at: string };
    assert.equal(checkedAt, kept.checked_at);
    const { instance_id: instanceId } = there;
    await assert.rejects(ask({ instance_id: instanceId }), refusal("connect_unavailable"));
    here.authority.state = "granted";
    here.authority.grants = [];
    await assert.rejects(ask({ instance_id: instanceId }), refusal("connect_not_granted"));
  });

  it("shows the Actors of a Group that is named with its instance", async () => {
    verifies("CAT-004", "CAT-005", "CAT-013", "CAT-032", "CAT-024");
    pair = await Pair.open("external");
    const { there } = pair;
    const { instance, catalog, fresh, next } = await details();
    assert.equal(instance.instance_id, there.instance_id);
    assert.equal(fresh, true);
    assert.equal(next, null);
    const actors = there.group.record.actors.map(({ id, generation }, place) => {
      return { id, title: "", generation, enabled: true, role: place === 0 ? "foreman" : "peer" };
    });
    assert.deepEqual(catalog?.groups, [{ group_id: there.group_id, title: "Test", actors }]);
    await assert.rejects(ask({ target_group_id: there.group_id }), refusal("connect_instance_required"));
    await assert.rejects(ask({ instance_id: there.instance_id }), refusal("connect_target_group_required"));
    await assert.rejects(ask({ by: "ann" }), refusal("permission_denied"));
  });

  it("shows the Group of a connection under the title that it has now", async () => {
    pair = await Pair.open("external");
    const { here, there } = pair;
    await there.home.call("group_update", { group_id: there.group_id, title: "New" });
    await pair.pass(70 * SECOND);
    assert.deepEqual(
      ((await ask()) as Discovery).external_groups.map(({ title }) => title),
      ["New"],
    );
    const { connections } = await here.home.call("connection_list", { group_id: here.group_id });
    assert.deepEqual(
      connections.map(({ remote }) => remote?.title),
      ["New"],
    );
  });

  it("pages through the Groups of an instance of the same account, without their Actors", async () => {
    verifies("CAT-027", "CAT-028", "CAT-003", "CAT-002", "CAT-032");
    pair = await Pair.open("account", { learnt: false });
    pair.here.transport.wire = pages(pair, (after) => {
      const from = after === null ? 0 : Number(after);
      const groups = Array.from({ length: 50 }, (_, at) => group(from + at));
      return { groups, next: from === 0 ? "50" : null };
    });
    await pair.pass(70 * SECOND);
    const { instance_id: instanceId } = pair.there;
    const page = async (more: { after?: string; limit?: number } = {}) =>
      (await ask({ instance_id: instanceId, ...more })) as Details;
    assert.equal((await page()).catalog?.groups.length, 20);
    assert.equal((await page({ limit: 0 })).catalog?.groups.length, 1);
    assert.equal((await page({ limit: 1000 })).catalog?.groups.length, 64);
    const seen: string[] = [];
    for (let after: string | undefined, more = true; more; ) {
      const { catalog, next } = await page({ ...(after === undefined ? {} : { after }), limit: 30 });
      seen.push(...catalog!.groups.map(({ group_id: groupId }) => groupId));
      after = next ?? undefined;
      more = next !== null;
    }
    assert.equal(seen.length, 100);
    assert.deepEqual(seen, [...new Set(seen)].sort());
  });

  it("is kept in an owner-only file, and used under the very binding it was learned under", async () => {
    verifies("CAT-008", "CAT-009", "CAT-010");
    pair = await Pair.open("account");
    const { here, there } = pair;
    const path = join(catalogs(here), `${there.instance_id}.json`);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    const stored = JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
    assert.deepEqual(Object.keys(stored), [
      "account_origin",
      "account_id",
      "local_device_id",
      "remote_instance_id",
      "remote_device_id",
      "remote_origin",
      "checked_at",
      "groups",
    ]);
    here.transport.wire = DOWN;
    await here.restart();
    assert.notEqual((await details()).catalog, null);
    const [grant] = here.authority.grants;
    for (const changed of [
      { ...grant!, account_id: "account-2" },
      { ...grant!, local: { ...grant!.local, device_id: "device-new" } },
      { ...grant!, remote: { ...grant!.remote, public_origin: "https://elsewhere.example" } },
      { ...grant!, remote: { ...grant!.remote, device_id: "device-new" } },
    ]) {
      here.authority.grants = [changed];
      assert.equal((await details()).catalog, null);
    }
  });

  it("keeps only the Group of the connection, whatever else the other side lists", async () => {
    verifies("EXT-067");
    pair = await Pair.open("external", { learnt: false });
    const { here, there } = pair;
    const own = { ...group(0), group_id: there.group_id };
    const listed = [group(0), own, group(999_999)].sort((one, other) =>
      one.group_id < other.group_id ? -1 : 1,
    );
    here.transport.wire = pages(pair, () => ({ groups: listed, next: null }));
    await pair.pass(70 * SECOND);
    assert.deepEqual((await details()).catalog?.groups, [own]);
    const [name] = readdirSync(catalogs(here));
    const kept = JSON.parse(readFileSync(join(catalogs(here), name!), "utf8")) as { groups: object[] };
    assert.deepEqual(kept.groups, [own]);
  });

  it("goes away with its connection", async () => {
    pair = await Pair.open("external");
    const { here } = pair;
    assert.deepEqual(readdirSync(catalogs(here)), ["group-11111111222243338444555555555555.json"]);
    here.authority.state = "unavailable";
    here.authority.changed();
    assert.equal(readdirSync(catalogs(here)).length, 1);
    here.authority.state = "granted";
    here.authority.grants = [];
    here.authority.changed();
    assert.deepEqual(readdirSync(catalogs(here)), []);
  });

  it("goes away with its connection though that ended while the catalog was being written", async () => {
    verifies("DRC-019");
    pair = await Pair.open("direct", { learnt: false });
    const { here } = pair;
    here.files.slow = "/catalog/";
    await pair.eventually(() => here.files.held.length > 0);
    here.authority.grants = [];
    here.authority.changed();
    here.files.recover();
    await pair.pass(5 * SECOND);
    assert.deepEqual(readdirSync(catalogs(here)), []);
  });

  it("isn't asked for any more once the Group here is reset, though its connection is still known", async () => {
    verifies("EXT-064");
    pair = await Pair.open("external");
    const { here } = pair;
    const { group_id: groupId } = here;
    await pair.pass(70 * SECOND);
    assert.notDeepEqual(catalogTimes(here), []);
    await here.home.call("group_reset", { group_id: groupId, confirm: groupId });
    here.transport.seen.length = 0;
    await pair.pass(3 * MINUTE);
    assert.deepEqual(here.authority.discover(null).length, 1);
    assert.deepEqual(catalogTimes(here), []);
  });

  it("is refreshed a minute after a success, and after 5, 10, 20, 40, 60 seconds when it fails", async () => {
    verifies("LIM-019", "LIM-021", "LIM-022", "LIM-027");
    pair = await Pair.open("direct");
    const { here } = pair;
    await pair.pass(130 * SECOND);
    const [first, second] = catalogTimes(here);
    assert.ok(second! - first! >= 60 * SECOND && second! - first! <= 62 * SECOND);
    here.transport.wire = DOWN;
    here.transport.seen.length = 0;
    const end = Date.parse((await details()).catalog!.checked_at) + 120 * SECOND;
    await pair.pass(end - pair.clock.now());
    assert.equal((await details()).fresh, true);
    await pair.pass(SECOND);
    assert.equal((await details()).fresh, false);
    await pair.pass(3 * MINUTE);
    const times = catalogTimes(here);
    const gaps = times.slice(1).map((at, index) => (at - times[index]!) / SECOND);
    for (const [index, expected] of [5, 10, 20, 40, 60].entries()) {
      assert.ok(gaps[index]! >= expected && gaps[index]! <= expected + 2, JSON.stringify(gaps));
    }
    const { catalog, fresh } = await details();
    assert.notEqual(catalog, null);
    assert.equal(fresh, false);
  });

  it("has at most sixteen pages, of 4 MiB together", async () => {
    verifies("LIM-024", "LIM-025");
    pair = await Pair.open("account");
    const { here, there } = pair;
    /** How many Groups are known after a refresh whose pages have a Group each. */
    const refreshed = async (count: number, bytesOf: (at: number) => number = () => 0): Promise<number> => {
      here.transport.wire = pages(pair, (after) => {
        const at = Number(after ?? 0);
        const page = { groups: [group(at)], next: at + 1 < count ? String(at + 1) : null, more: "" };
        const left = bytesOf(at) - Buffer.byteLength(JSON.stringify(page));
        return { ...page, more: "x".repeat(Math.max(left, 0)) };
      });
      here.transport.seen.length = 0;
      await pair.eventually(() => catalogTimes(here).length > 0);
      await rest();
      const found = (await ask({ instance_id: there.instance_id, limit: 64 })) as Details;
      return found.catalog!.groups.length;
    };
    const MiB = 1024 * 1024;
    assert.equal(await refreshed(16), 16);
    assert.equal(await refreshed(17), 16);
    assert.equal(catalogTimes(here).length, 16);
    assert.equal(await refreshed(4, () => MiB), 4);
    assert.equal(await refreshed(5, (at) => (at < 3 ? MiB : MiB / 2)), 5);
    assert.equal(await refreshed(6, (at) => (at < 3 ? MiB : at < 5 ? MiB / 2 : 0)), 5);
  });

  it("is published whole or not at all", async () => {
    verifies("LIM-026");
    pair = await Pair.open("account");
    const { here, there } = pair;
    const before = (await details()).catalog;
    const failing: ((after: string | null) => unknown)[] = [
      // The second page never comes.
      (after) => (after === null ? { groups: [group(1)], next: "2" } : { nonsense: true }),
      // There is always another page.
      (after) => ({ groups: [group(Number(after ?? 0))], next: String(Number(after ?? 0) + 1) }),
      // All together are too large.
      (after) => {
        const from = Number(after ?? 0);
        return {
          groups: Array.from({ length: 64 }, (_, at) => ({ ...group(from + at), actors: many(60) })),
          next: String(from + 64),
        };
      },
      // Out of order.
      (after) => ({ groups: [group(after === null ? 5 : 4)], next: after === null ? "x" : null }),
    ];
    for (const fail of failing) {
      here.transport.wire = pages(pair, fail);
      here.transport.seen.length = 0;
      await pair.eventually(() => catalogTimes(here).length > 0);
      await rest();
      assert.deepEqual((await details()).catalog, before);
    }
    here.transport.wire = UP;
    await there.home.call("group_update", { group_id: there.group_id, title: "New" });
    await pair.pass(70 * SECOND);
    assert.equal((await details()).catalog?.groups[0]?.title, "New");
  });

  it("has pages of 1 MiB, and none that is a byte larger, whatever is in it", async () => {
    verifies("LIM-018");
    pair = await Pair.open("account");
    const { here } = pair;
    const MiB = 1024 * 1024;
    const known = async () => {
      const found = (await ask({ instance_id: pair.there.instance_id })) as Details;
      return found.catalog;
    };
    /** A page of so many bytes: of what every version knows, or of what none does. */
    const page = (bytes: number, isKnown: boolean) => {
      const groups = Array.from({ length: 64 }, (_, at) => ({
        ...group(at),
        title: "",
        actors: isKnown ? many(72) : [],
      }));
      const whole: Record<string, unknown> = { groups, next: null };
      if (!isKnown) whole.more = "";
      let left = bytes - Buffer.byteLength(JSON.stringify(whole));
      assert.ok(left >= 0, `${left}`);
      if (!isKnown) whole.more = "x".repeat(left);
      for (const one of isKnown ? groups : []) {
        const added = Math.min(left, 4096);
        one.title = "x".repeat(added);
        left -= added;
      }
      assert.equal(Buffer.byteLength(JSON.stringify(whole)), bytes);
      return whole;
    };
    const refreshed = async (result: unknown) => {
      here.transport.wire = pages(pair, () => result);
      here.transport.seen.length = 0;
      await pair.eventually(() => catalogTimes(here).length > 0);
      await rest();
      return known();
    };
    const before = await known();
    for (const isKnown of [true, false]) {
      assert.deepEqual(await refreshed(page(MiB + 1, isKnown)), before);
    }
    for (const isKnown of [true, false]) {
      const after = await refreshed(page(MiB, isKnown));
      assert.equal(after?.groups.length, 20);
    }
  });
});

function many(count: number) {
  return Array.from({ length: count }, (_, at) => ({
    id: `actor-${at}`,
    title: "t".repeat(150),
    generation: "g",
    enabled: true,
    role: null,
  }));
}
