/** The directory's state machine on a manual clock, against the test's own account service. */
import assert from "node:assert/strict";
import { readWhole, replaceFile } from "../../../platform/durable.ts";
import { PRODUCT_VERSION } from "../../../shared/version.ts";
import { verifies } from "../../requirements.ts";
import { enumerateCrashes } from "../../simulation/crash.ts";
import { SimulatedFiles } from "../../simulation/files.ts";
import { until } from "../../support/until.ts";
import { newIdentity } from "../receiver-setting.ts";
import { type Answer, DirectorySetting } from "./directory-setting.ts";

describe("the account's directory", () => {
  let setting: DirectorySetting;
  beforeEach(async () => {
    setting = await DirectorySetting.open();
  });
  afterEach(() => setting.directory.close());

  it("is asked for every minute, and after failures later and later", async () => {
    verifies("LIM-005", "LIM-006", "LIM-007", "SNAP-018", "SNAP-030", "VER-001", "DIR-065", "DIR-066");
    await setting.started();
    const [first] = setting.asked;
    assert.equal(first?.headers["svc-membership-version"], "1");
    assert.equal(first.milliseconds, 15_000);
    assert.equal(first?.headers["svc-client-version"], PRODUCT_VERSION);
    assert.equal(await setting.untilAsked(), 60);
    setting.answer = () => "down";
    const pauses: number[] = [await setting.untilAsked()];
    assert.ok(setting.directory.current !== null);
    assert.equal(setting.membership.value.account_label, "Ann");
    for (let failure = 0; failure < 6; failure += 1) pauses.push(await setting.untilAsked());
    assert.deepEqual(pauses, [60, 5, 10, 20, 40, 60, 60]);
    assert.equal(setting.directory.snapshot?.error_code, "account_unreachable");
    assert.equal(setting.directory.current, null);
    setting.answer = null;
    await setting.untilAsked();
    assert.ok(setting.directory.current !== null);
    assert.equal(await setting.untilAsked(), 60);
  });

  it("registers another origin within two seconds", async () => {
    verifies("LIM-004");
    await setting.started();
    await setting.settled();
    setting.origin = "https://here.example";
    assert.ok((await setting.untilAsked()) <= 2);
    const [body] = setting.asked.at(-1)!.body!.parts;
    const { public_origin: origin } = JSON.parse(Buffer.from(body!).toString()) as { public_origin: string };
    assert.equal(origin, setting.origin);
  });

  it("isn't used after its time, and is told of then", async () => {
    verifies("SNAP-020");
    await setting.started();
    setting.answer = () => new Promise(() => {});
    let told = 0;
    setting.directory.onChange(() => {
      told += 1;
    });
    setting.clock.advance(119_999);
    assert.ok(setting.directory.current !== null);
    setting.clock.advance(1);
    assert.equal(setting.directory.current, null);
    assert.equal(told, 1);
    setting.answer = null;
  });

  it("isn't used any longer after a restart, nor after a sleep of the machine", async () => {
    verifies("SNAP-020");
    await setting.started();
    await setting.settled();
    setting.clock.advance(50_000);
    await setting.reopen();
    setting.clock.advance(69_999);
    assert.ok(setting.directory.current !== null);
    setting.clock.advance(1);
    assert.equal(setting.directory.current, null);

    await setting.started();
    await setting.directory.refresh();
    assert.ok(setting.directory.current !== null);
    // The other clock may be two minutes off.
    setting.clock.set(240_001);
    assert.equal(setting.directory.current, null);
  });

  it("lasts from the question, however late its answer comes", async () => {
    verifies("EXT-033", "SNAP-020");
    setting.answer = () => {
      const body = setting.listing("dev_1");
      setting.clock.advance(10_000);
      return { status: 200, body };
    };
    await setting.started();
    await until("the directory", () => setting.directory.current);
    setting.answer = () => new Promise(() => {});
    setting.clock.advance(109_999);
    assert.ok(setting.directory.current !== null);
    setting.clock.advance(1);
    assert.equal(setting.directory.current, null);
    setting.answer = null;
  });

  it("is cleared by a definite refusal, with the account's label where the device is unknown", async () => {
    verifies("SNAP-019", "SNAP-029", "ERR-014");
    for (const [status, code, label] of [
      [401, "account_logged_out", null],
      [403, "device_disabled", null],
      [409, "instance_conflict", "Ann"],
      [426, "unsupported_version", "Ann"],
    ] as const) {
      setting.answer = null;
      await setting.reopen();
      await setting.started();
      await setting.directory.refresh();
      assert.ok(setting.directory.current !== null);
      const body = status === 409 ? { error: { code: "instance_conflict", message: "No." } } : {};
      setting.answer = () => ({ status, body });
      await setting.directory.refresh();
      assert.equal(setting.directory.snapshot?.directory, null);
      assert.equal(setting.directory.snapshot?.error_code, code);
      assert.notEqual(setting.directory.snapshot.error_message, null);
      assert.equal(setting.membership.value.account_label, label, code);
    }
  });

  it("isn't used after a definite refusal that can't be written", async () => {
    verifies("SNAP-019");
    const files = new SimulatedFiles();
    setting = await DirectorySetting.open({ files });
    await setting.started();
    await until("the directory", () => setting.directory.current);
    setting.answer = () => ({ status: 403, body: {} });
    files.fault = ({ name }) => (name === "create" || name === "write" ? "ENOSPC" : null);
    await setting.directory.refresh();
    assert.equal(setting.directory.current, null);
    assert.equal(setting.directory.snapshot?.directory, null);
    assert.equal(setting.directory.snapshot.error_code, "device_disabled");
    setting.answer = () => "down";
    await setting.directory.refresh();
    assert.equal(setting.directory.snapshot?.directory, null);
    assert.equal(setting.directory.snapshot.error_code, "account_unreachable");
    files.fault = null;
    await setting.directory.refresh();
    await setting.reopen();
    assert.equal(setting.directory.snapshot?.directory, null);
    assert.equal(setting.directory.snapshot.error_code, "account_unreachable");
    setting.answer = null;
    await setting.directory.refresh();
    assert.ok(setting.directory.current !== null);
  });

  it("says that the disk is full, and asks no sooner than the account service wants", async () => {
    const files = new SimulatedFiles();
    setting = await DirectorySetting.open({ files });
    const { directory } = setting;
    files.fault = ({ name }) => (name === "create" ? "ENOSPC" : null);
    directory.start();
    await until("the first answer", () => directory.trouble);
    assert.equal(directory.current, null);
    assert.equal(directory.snapshot?.error_code, "storage_full");
    await setting.settled();
    setting.answer = () => ({ status: 429, body: {}, headers: { "retry-after": "300" } });
    await setting.untilAsked();
    assert.equal(directory.snapshot?.error_code, "rate_limited");
    assert.equal(await setting.untilAsked(), 300);
    setting.answer = null;
    files.fault = null;
    await setting.untilAsked();
    assert.ok(directory.current !== null);
    assert.equal(directory.trouble, null);
  });

  it("takes no answer for an earlier binding, nor one after the end", async () => {
    verifies("SNAP-021", "SNAP-022", "LIM-004", "ID-006");
    await setting.started();
    const instance = setting.directory.snapshot?.instance_id;
    /** Waits for a question, and for its answer. */
    const gives: ((answer: Answer) => void)[] = [];
    setting.answer = () => new Promise((resolve) => gives.push(resolve));
    const old = setting.listing("dev_1");
    const isCleared = (): boolean => setting.directory.snapshot === null;
    const path = "/secrets/connect.json";
    const stored = readWhole(setting.files, path);
    setting.clock.advance(60_000);
    await until("asked", () => gives.length === 1);
    // It had come when the binding changed.
    setting.answersAborted = true;
    await setting.link("dev_2");
    gives[0]!({ status: 200, body: old });
    await until("asked for the new one", () => gives.length === 2);
    assert.ok(isCleared());
    assert.deepEqual(readWhole(setting.files, path), stored);
    gives[1]!({ status: 200, body: setting.listing("dev_2") });
    await until("the new binding's", () => setting.directory.current?.device_id === "dev_2");
    assert.equal(setting.directory.snapshot?.instance_id, instance);
    await setting.settled();

    const kept = setting.directory.snapshot;
    const running = setting.directory.refresh();
    await until("asked again", () => gives.length === 3);
    const closed = setting.directory.close();
    gives[2]!({ status: 403, body: {} });
    await Promise.all([running, closed]);
    assert.deepEqual(setting.directory.snapshot, kept);
  });

  it("isn't used when it is another's, or names an instance twice", async () => {
    verifies("SNAP-023", "SNAP-024", "SNAP-025", "SNAP-026");
    await setting.started();
    const good = setting.listing("dev_1");
    const wrong: object[] = [
      { ...good, device_id: "dev_9" },
      { ...good, protocol_version: 2 },
      { ...good, instances: [] },
      { ...good, instances: [...good.instances, { ...setting.entry("dev_3") }] },
      { ...good, expires_at: good.issued_at },
      { ...good, expires_at: new Date(setting.clock.now() + 3_600_000).toISOString() },
    ];
    for (const body of wrong) {
      setting.answer = () => ({ status: 200, body });
      await setting.directory.refresh();
      assert.notEqual(setting.directory.snapshot?.error_code, null, JSON.stringify(body));
    }
    assert.equal(setting.directory.current, null);
  });

  it("isn't used from its file when that is another's, or isn't valid", async () => {
    verifies("SNAP-023", "SNAP-024", "SNAP-025", "SNAP-026");
    const path = "/secrets/connect.json";
    const other = await newIdentity();
    setting.others = [setting.entry("dev_2", other)];
    await setting.started();
    await setting.settled();
    const stored = readWhole(setting.files, path)!;
    const changed = async (fields: object, directory: object = {}) => {
      const value = JSON.parse(stored.toString()) as { directory: object };
      const bent = { ...value, ...fields, directory: { ...value.directory, ...directory } };
      await setting.directory.close();
      await replaceFile(setting.files, path, Buffer.from(JSON.stringify(bent)));
      await setting.reopen();
      return setting.directory.current;
    };
    assert.notEqual(await changed({}), null);
    const [own, peer] = [setting.entry("dev_1"), setting.entry("dev_2", other)];
    const { issued_at: issued } = setting.listing("dev_1");
    const wrong: [object, object?][] = [
      [{ account_origin: "https://elsewhere.example" }],
      [{ device_id: "dev_9" }],
      [{ device_id: "dev_9" }, { device_id: "dev_9" }],
      [{ instance_id: other.instance_id }],
      [{}, { device_id: "dev_9" }],
      [{}, { protocol_version: 2 }],
      [{}, { expires_at: issued }],
      [{}, { expires_at: new Date(setting.clock.now() + 121_000).toISOString() }],
      [{}, { instances: [peer] }],
      [{}, { instances: [{ ...own, device_id: "dev_9" }, peer] }],
      [{}, { instances: [{ ...own, public_key: other.public_key }, peer] }],
      [{}, { instances: [own, peer, { ...peer, device_id: "dev_3" }] }],
      [{}, { instances: [own, { ...peer, device_id: "dev_1" }] }],
    ];
    for (const [fields, directory] of wrong)
      assert.equal(await changed(fields, directory), null, JSON.stringify([fields, directory]));
    assert.notEqual(await changed({}), null);
  });

  it("is whole in its file after a crash at any point", async () => {
    verifies("SNAP-003");
    const identity = await newIdentity();
    const other = await newIdentity();
    const { points, violations } = await enumerateCrashes({
      begin: () => ({ confirmed: false }),
      async run(files, witness) {
        const story = await DirectorySetting.open({ files, identity });
        await story.started();
        witness.confirmed = true;
        story.others = [story.entry("dev_2", other)];
        await story.directory.refresh();
        await story.directory.close();
      },
      async check(files, witness) {
        if (files.stat("/secrets") === null) return;
        const { membership, directory, members } = await DirectorySetting.found(files, identity);
        assert.equal(directory.trouble, null);
        assert.equal(members.problem, null);
        if (!witness.confirmed) return;
        assert.ok(membership.binding);
        assert.notEqual(directory.snapshot, null);
      },
    });
    assert.deepEqual(violations, []);
    assert.ok(points > 10, String(points));
  });

  it("says who joined since a person last looked, also after it was off", async () => {
    const other = async (deviceId: string, name: string) => ({
      ...setting.entry(deviceId, await newIdentity()),
      display_name: name,
    });
    const { members, membership } = setting;
    const joined = () =>
      setting.members.joined(membership.binding).map(({ name, retired }) => [name, retired]);
    setting.others = [await other("dev_old", "Old")];
    await setting.started();
    await until("who is there", () => members.since(membership.binding, "dev_old"));
    assert.deepEqual(joined(), []);

    const fresh = await other("dev_new", "svc \u00b7 abc123");
    setting.others = [...setting.others, fresh];
    await setting.directory.refresh();
    assert.deepEqual(joined(), [["svc \u00b7 abc123", false]]);
    setting.others = [{ ...fresh, display_name: "Builder" }];
    await setting.directory.refresh();
    assert.deepEqual(joined(), [["Builder", false]]);

    // Its directory has long expired when it comes back.
    setting.clock.advance(3_600_000);
    setting.others = [await other("dev_late", "Late")];
    await setting.reopen();
    assert.deepEqual(joined(), [["Builder", false]]);
    await setting.started();
    await until("who came", () => joined().length === 2);
    assert.deepEqual(joined(), [
      ["Builder", true],
      ["Late", false],
    ]);
    await setting.members.acknowledge(membership.binding, ["dev_new"]);
    await setting.directory.refresh();
    assert.deepEqual(joined(), [["Late", false]]);

    // Another link knows whoever it finds.
    await setting.link("dev_2");
    await until("the new link", () => setting.members.since(membership.binding, "dev_late"));
    assert.deepEqual(joined(), []);
  });
});
