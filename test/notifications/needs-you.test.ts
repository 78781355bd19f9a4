/** What waits for the person: who may know it, what is new, and who announces it. */
import assert from "node:assert/strict";
import type { NeedsYouItem } from "../../shared/operations/notifications.ts";
import { BROWSER } from "../messaging/setting.ts";
import { USER } from "../support/services.ts";
import { Setting, TestPushService } from "./setting.ts";

const SINCE = "2026-01-01T00:00:00.000Z";
const LATER = "2026-01-01T00:05:00.000Z";
const WAITS = {
  state: "waiting",
  reason: "waits for permission to use Bash",
  since: SINCE,
  attention: true,
} as const;

describe("what waits for the person", () => {
  let service: TestPushService;
  let setting: Setting;
  let entered: NeedsYouItem[][];
  before(async () => (service = await TestPushService.open()));
  after(() => service.close());
  beforeEach(async () => {
    setting = await Setting.open(service);
    entered = follow(setting);
  });
  afterEach(() => setting.home.remove());

  function follow({ home }: Setting): NeedsYouItem[][] {
    const told: NeedsYouItem[][] = [];
    home.services.notifications.needsYou.onChange((items) => told.push([...items]));
    return told;
  }
  const names = () => entered.flat().map(({ kind, reason }) => [kind, reason]);

  it("is a request until it is answered, and names its message", async () => {
    const groupId = await setting.group("shop");
    const eventId = await setting.ask(groupId, "Which database?");
    const [item] = setting.list(USER);
    assert.deepEqual(
      { ...item, key: "", since: "" },
      {
        key: "",
        kind: "request",
        group_id: groupId,
        group_title: "shop",
        actor: { id: "ann", title: "" },
        reason: "",
        event_id: eventId,
        since: "",
      },
    );
    await setting.home.send(groupId, "an ordinary message", { to: ["ann"] });
    assert.deepEqual(names(), [["request", ""]]);
    await setting.home.call("reply", { group_id: groupId, event_id: eventId, text: "That one." });
    assert.deepEqual(setting.list(USER), []);
  });

  it("is an Actor's wait, one until it ends, whatever its reason", async () => {
    const groupId = await setting.group("shop");
    setting.does(groupId, WAITS);
    setting.does(groupId, { ...WAITS, reason: "waits for permission to use Edit" });
    assert.deepEqual(names(), [["waiting", WAITS.reason]]);
    assert.equal(setting.list(USER)[0]?.reason, "waits for permission to use Edit");
    setting.does(groupId, { state: "working" });
    assert.deepEqual(setting.list(USER), []);
    setting.does(groupId, { ...WAITS, since: LATER });
    setting.does(groupId, {
      state: "failed",
      reason: "its last turn failed",
      since: LATER,
      attention: true,
    });
    assert.deepEqual(names(), [
      ["waiting", WAITS.reason],
      ["waiting", WAITS.reason],
      ["failed", "its last turn failed"],
    ]);
  });

  it("is one wait when what an Actor asks is here before its hooks say that it waits", async () => {
    const groupId = await setting.group("shop");
    const working = { state: "working", reason: "uses Bash", since: SINCE, attention: true } as const;
    setting.does(groupId, { ...working, questions: 1 });
    setting.does(groupId, { ...WAITS, since: LATER, questions: 1 });
    assert.deepEqual(names(), [["waiting", ""]]);
    assert.equal(setting.list(USER)[0]?.reason, WAITS.reason);
  });

  it("isn't new when the same wait shows again a moment later", async () => {
    const groupId = await setting.group("shop");
    const trouble = {
      state: "working",
      reason: "the API is overloaded",
      since: SINCE,
      attention: true,
    } as const;
    setting.does(groupId, trouble);
    setting.does(groupId, { state: "working", since: SINCE });
    setting.home.clock.set(3_600_000);
    setting.does(groupId, trouble);
    assert.equal(entered.flat().length, 1, "the clock was only set");
    setting.does(groupId, { state: "working", since: SINCE });
    setting.home.clock.advance(11 * 60_000);
    setting.does(groupId, trouble);
    assert.equal(entered.flat().length, 2);
  });

  it("isn't new after a restart, and keeps its name", async () => {
    const groupId = await setting.group("shop");
    await setting.ask(groupId, "Which database?");
    const before = setting.list(USER);
    await setting.home.close();
    const { root, clock } = setting.home;
    setting = await Setting.open(service, { root, clock });
    entered = follow(setting);
    assert.deepEqual(setting.list(USER), before);
    await setting.home.send(groupId, "an ordinary message", { to: ["ann"] });
    assert.deepEqual(names(), []);
    await setting.ask(groupId, "And which port?");
    assert.equal(entered.flat().length, 1);
  });

  it("goes with its Group", async () => {
    const groupId = await setting.group("shop");
    await setting.ask(groupId, "Which database?");
    await setting.home.call("group_delete", { group_id: groupId, confirm: groupId });
    assert.deepEqual(setting.list(USER), []);
  });

  it("is announced by the first who claims it, once for each person", async () => {
    const groupId = await setting.group("shop");
    const other = await setting.group("other");
    await setting.ask(groupId, "Which database?");
    const key = setting.list(USER)[0]!.key;
    const member = await setting.person([groupId]);
    const stranger = await setting.person([other]);
    assert.deepEqual(
      [member, stranger].map((caller) => setting.list(caller).length),
      [1, 0],
    );
    const claim = async (as: typeof BROWSER, of = key) =>
      (await setting.home.call("notification_claim", { key: of }, { as })).claimed;
    assert.deepEqual(
      [
        await claim(BROWSER),
        await claim(USER),
        await claim(member),
        await claim(member),
        await claim(stranger),
      ],
      [true, false, true, false, false],
    );
    assert.equal(await claim(USER, `n_${"0".repeat(24)}`), false, "nothing of that name waits");
    await assert.rejects(claim(USER, "anything"), /key/);
    await assert.rejects(claim(setting.home.actor(groupId, "ann")), { code: "permission_denied" });
  });

  it("is at most some hundred things, the newest first", async () => {
    const groupId = await setting.group("shop");
    for (let asked = 0; asked < 130; asked += 1) {
      setting.home.clock.advance(1000);
      await setting.ask(groupId, `Question ${asked}`);
    }
    const items = setting.list(USER);
    assert.equal(items.length, 128);
    assert.ok(items[0]!.since > items[127]!.since);
  });
});
