/** Connections to other accounts on a manual clock: what is used, until when, and what ends one. */
import assert from "node:assert/strict";
import { AccountClient } from "../../../daemon/peers/account/account-client.ts";
import { ExternalAuthority } from "../../../daemon/peers/account/external-authority.ts";
import { AccountGroupLinks } from "../../../daemon/peers/account/group-links.ts";
import { WebTransport } from "../../../daemon/peers/https/web-transport.ts";
import type { HttpAsked, HttpClient } from "../../../platform/http/client.ts";
import { RealRandom } from "../../../platform/real-random.ts";
import { verifies } from "../../requirements.ts";
import { SimulatedFiles } from "../../simulation/files.ts";
import { until } from "../../support/until.ts";
import { ACCOUNT, newIdentity, ORIGIN } from "../receiver-setting.ts";
import { type Answer, DirectorySetting } from "./directory-setting.ts";

const CONNECTION = "11111111-2222-4333-8444-555555555555";

describe("connections to other accounts", () => {
  let setting: DirectorySetting;
  let links: AccountGroupLinks;
  let authority: ExternalAuthority;
  let answer: (asked: HttpAsked) => Answer;
  let generation: string | null;
  let remote: Awaited<ReturnType<typeof newIdentity>>;

  const end = (accountId: string, instance: object, groupId: string) => ({
    account_id: accountId,
    instance,
    group_id: groupId,
    group_generation: "1",
    title: groupId,
  });
  const body = (found: object[]) => ({
    protocol_version: 1,
    account_origin: ORIGIN,
    account_id: ACCOUNT,
    device_id: "dev_1",
    issued_at: new Date(setting.clock.now()).toISOString(),
    expires_at: new Date(setting.clock.now() + 120_000).toISOString(),
    links: found,
  });
  const link = () => ({
    id: CONNECTION,
    source: end("account of Ben", setting.entry("dev_9", remote), "g_b"),
    target: end(ACCOUNT, setting.entry("dev_1"), "g_a"),
  });
  const query = () => ({
    local_group_id: "g_a",
    local_generation: generation ?? "",
    remote_instance_id: remote.instance_id,
    remote_group_id: "g_b",
  });
  const state = (devices = { local: "dev_1", remote: "dev_9" }) =>
    authority.forConnection(CONNECTION, query(), devices).state;

  /** A run over what the disk holds. */
  const opened = async () => {
    const http: HttpClient = {
      async request(asked) {
        const given = answer(asked);
        if (given === "down")
          return { kind: "failed", why: "unreachable", escaped: false, reason: "It can't be reached." };
        const text = JSON.stringify(given.body);
        return { kind: "answered", status: given.status, headers: {}, body: Buffer.from(text) };
      },
      close: () => {},
    };
    const { clock, files, identity, membership, directory } = setting;
    const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
    const connections = await AccountGroupLinks.open({
      files,
      clock,
      // No jitter.
      random: { bytes: (count: number) => new Uint8Array(count), uuid: () => "" },
      log: silent,
      path: "/secrets/connect_groups.json",
      identity,
      membership,
      client: new AccountClient(http, 15, new AbortController().signal),
      directory,
      registry: {
        find: () =>
          // Only the generation is asked for.
          // oxlint-disable-next-line typescript/no-unsafe-type-assertion
          (generation === null ? undefined : { record: { generation } }) as never,
        knows: () => generation !== null,
      },
    });
    const transport = new WebTransport({ clock, random: new RealRandom(), http });
    return {
      links: connections,
      authority: new ExternalAuthority({ membership, links: connections, transport }),
    };
  };

  beforeEach(async () => {
    setting = await DirectorySetting.open();
    remote = await newIdentity();
    generation = "1";
    answer = () => ({ status: 200, body: body([link()]) });
    ({ links, authority } = await opened());
  });
  afterEach(async () => {
    await links.close();
    await setting.directory.close();
  });

  it("are granted for exactly their pair, devices and generations", async () => {
    verifies("EXT-062", "EXT-063", "EXT-064", "EXT-065");
    assert.equal(authority.condition().status, "unavailable");
    links.start();
    await until("the first answer", () => links.current);
    assert.equal(authority.condition().status, "ready");
    const granted = authority.forPair(query());
    assert.ok(granted?.state === "granted");
    const { grant } = granted;
    assert.equal(grant.connection_id, CONNECTION);
    assert.equal(grant.account_id, "account of Ben");
    assert.equal(state(), "granted");
    assert.equal(state({ local: "dev_0", remote: "dev_9" }), "gone");
    assert.equal(state({ local: "dev_1", remote: "dev_0" }), "gone");
    assert.equal(authority.forPair({ ...query(), remote_group_id: "g_c" }), null);
    const elsewhere = { ...query(), local_group_id: "g_c" };
    const devices = { local: "dev_1", remote: "dev_9" };
    assert.equal(authority.forConnection(CONNECTION, elsewhere, devices).state, "gone");
    generation = "2";
    assert.equal(state(), "gone");
    assert.deepEqual(authority.discover({ group_id: "g_a", generation: "2" }), []);
  });

  it("wait while nobody can tell, and end only by a fresh answer", async () => {
    verifies("EXT-070", "EXT-071", "VER-018");
    links.start();
    await until("the first answer", () => links.current);
    for (const [given, code] of [
      ["down", "account_unreachable"],
      [{ status: 500, body: {} }, "account_failed"],
      [{ status: 404, body: {} }, "connect_groups_unsupported"],
      [{ status: 404, body: { error: { code: "not_found", message: "No." } } }, "connect_groups_unsupported"],
    ] as const) {
      answer = () => given;
      await links.refresh();
      assert.equal(links.sync.error_code, code);
      assert.equal(state(), "granted");
      assert.equal(setting.membership.value.logged_in, true);
    }
    setting.clock.advance(121_000);
    assert.equal(state(), "unavailable");
    assert.equal(authority.forPair(query())?.state, "unavailable");
    assert.deepEqual(authority.discover(null), []);
    answer = () => ({ status: 200, body: body([link()]) });
    await links.refresh();
    assert.equal(state(), "granted");
    answer = () => ({ status: 403, body: {} });
    await links.refresh();
    assert.equal(state(), "unavailable");
    answer = () => ({ status: 200, body: body([]) });
    await links.refresh();
    assert.equal(state(), "gone");
    assert.equal(authority.forPair(query()), null);
  });

  it("may end between two looks at them", async () => {
    links.start();
    await until("the first answer", () => links.current);
    answer = () => "down";
    setting.clock.advance(119_999);
    const devices = { local: "dev_1", remote: "dev_9" };
    const before = setting.clock.monotonic();
    for (let looks = 0; looks < 6; looks += 1) {
      for (const use of [
        () => authority.discover(null),
        () => authority.known(),
        () => authority.forPair(query()),
        () => authority.forConnection(CONNECTION, query(), devices),
        () => authority.condition(),
      ]) {
        let left = looks;
        setting.clock.monotonic = () => {
          left -= 1;
          return left < 0 ? before + 1000 : before;
        };
        use();
      }
    }
    assert.equal(state(), "unavailable");
  });

  it("aren't used any more after a definite refusal, nor after a restart", async () => {
    verifies("SNAP-019");
    links.start();
    await until("the first answer", () => links.current);
    answer = () => ({
      status: 403,
      body: { error: { code: "device_disabled", message: "It was retired." } },
    });
    await links.refresh();
    assert.equal(state(), "unavailable");
    await links.close();
    answer = () => "down";
    ({ links, authority } = await opened());
    links.start();
    await links.refresh();
    assert.equal(links.current, null);
    assert.equal(state(), "unavailable");
    assert.deepEqual(authority.discover(null), []);
    // The service takes the device back.
    answer = () => ({ status: 200, body: body([link()]) });
    await links.refresh();
    assert.equal(state(), "granted");
  });

  it("say how the last question went, also while that can't be written", async () => {
    answer = () => ({ status: 401, body: {} });
    links.start();
    await until("the refusal", () => links.sync.error_code === "account_logged_out");
    await setting.settled();
    const { files } = setting;
    assert.ok(files instanceof SimulatedFiles);
    // What the question brought is written, and not how it went.
    files.fault = ({ name, path }) =>
      name === "create" && path.startsWith("/secrets/.connect.json") ? "ENOSPC" : null;
    answer = () => ({ status: 200, body: body([link()]) });
    await links.refresh();
    assert.equal(links.status, "ready");
    assert.equal(links.sync.error_code, null);
    answer = () => ({ status: 401, body: {} });
    await links.refresh();
    assert.equal(links.status, "unavailable");
    assert.equal(links.sync.error_code, "account_logged_out");
  });

  it("aren't used while they can't be written, and it is said why", async () => {
    const { files } = setting;
    assert.ok(files instanceof SimulatedFiles);
    files.fault = ({ name, path }) =>
      name === "create" && path.includes("connect_groups") ? "ENOSPC" : null;
    links.start();
    await until("the first answer", () => links.trouble);
    assert.equal(links.status, "unavailable");
    assert.equal(links.sync.error_code, "storage_full");
    files.fault = null;
    await links.refresh();
    assert.equal(links.status, "ready");
    assert.equal(links.trouble, null);
  });

  it("are asked for every minute, and after failures later and later, beside the directory", async () => {
    verifies("LIM-009");
    const { clock } = setting;
    const times: number[] = [];
    let given: Answer = { status: 200, body: body([link()]) };
    answer = () => {
      times.push(clock.now());
      return given;
    };
    links.start();
    await until("the first answer", () => links.current);
    const pauses: number[] = [];
    while (pauses.length < 9) {
      const before = clock.now();
      const count = times.length;
      if (pauses.length === 1) given = "down";
      if (pauses.length === 8) given = { status: 200, body: body([link()]) };
      await until("the next question", () => {
        if (times.length === count) clock.advanceToTimer();
        return times.length > count;
      });
      await setting.settled();
      pauses.push(Math.round((times.at(-1)! - before) / 1000));
    }
    assert.deepEqual(pauses, [60, 60, 5, 10, 20, 40, 60, 60, 60]);
  });

  it("have a state, which follows from the binding, the last answer and its time", async () => {
    verifies("EXT-016", "EXT-018");
    assert.equal(links.status, "syncing");
    answer = () => "down";
    links.start();
    await until("the first failure", () => links.sync.error_code);
    assert.equal(links.status, "unavailable");
    answer = () => ({ status: 200, body: body([]) });
    await links.refresh();
    assert.equal(links.status, "ready");
    answer = () => "down";
    await links.refresh();
    assert.equal(links.status, "ready");
    setting.clock.advance(121_000);
    assert.equal(links.status, "unavailable");
    answer = () => ({ status: 200, body: body([link()]) });
    await links.refresh();
    assert.equal(links.status, "ready");
    answer = () => ({ status: 403, body: {} });
    await links.refresh();
    assert.equal(links.status, "unavailable");
    await setting.membership.update((value) => ({
      ...value,
      logged_in: false,
      account_origin: null,
      device_id: null,
      device_token: null,
    }));
    assert.equal(links.status, "not_linked");
  });

  it("aren't taken from an answer that isn't about this instance", async () => {
    verifies("EXT-003", "EXT-004");
    const own = link();
    const wrong: object[] = [
      { ...body([own]), device_id: "dev_2" },
      { ...body([own]), account_origin: "https://other.example" },
      body([own, own]),
      body([{ ...own, target: own.source }]),
      body([{ ...own, source: { ...own.source, account_id: ACCOUNT } }]),
      body([{ ...own, target: { ...own.target, instance: setting.entry("dev_1", remote) } }]),
      { ...body([own]), expires_at: new Date(setting.clock.now() + 121_000).toISOString() },
    ];
    links.start();
    for (const given of wrong) {
      answer = () => ({ status: 200, body: given });
      await links.refresh();
      assert.equal(links.current, null, JSON.stringify(given));
      assert.notEqual(links.sync.error_code, null);
    }
  });

  it("are reported when their own Group is gone or replaced", async () => {
    verifies("EXT-028", "EXT-039", "EXT-042");
    const asked: unknown[] = [];
    answer = ({ method, body: sent }) => {
      if (method === "GET") return { status: 200, body: body([link()]) };
      asked.push(JSON.parse(Buffer.concat([...(sent?.parts ?? [])]).toString()));
      return { status: 200, body: body([]) };
    };
    links.start();
    await until("the first answer", () => links.current);
    assert.deepEqual(asked, []);
    for (const now of ["2", null]) {
      generation = now;
      await links.refresh();
      assert.deepEqual(links.current?.links, []);
    }
    assert.deepEqual(asked, [{ invalidated: [CONNECTION] }, { invalidated: [CONNECTION] }]);
  });

  it("are reported at once when their Group goes while a question is answered", async () => {
    verifies("EXT-039");
    const { files } = setting;
    assert.ok(files instanceof SimulatedFiles);
    const asked: string[] = [];
    answer = ({ method }) => {
      asked.push(method);
      return { status: 200, body: body(method === "GET" ? [link()] : []) };
    };
    links.start();
    await until("the first answer", () => links.current);
    await setting.settled();
    asked.length = 0;
    const held: (() => void)[] = [];
    files.later = (task) => void held.push(task);
    const refreshed = links.refresh();
    await until("the write", () => held.length > 0);
    generation = null;
    links.groupsChanged();
    files.later = (task) => void setImmediate(task);
    for (const task of held.splice(0)) task();
    await refreshed;
    await until("the report", () => asked.includes("POST"));
    assert.deepEqual(asked, ["GET", "GET", "POST"]);
    await setting.settled();
  });
});
