/** The directory's state machine on a manual clock, against the test's own account service. */
import assert from "node:assert/strict";
import { InstanceIdentity } from "../../../daemon/home/identity.ts";
import { AccountClient } from "../../../daemon/peers/account/account-client.ts";
import { AccountDirectory } from "../../../daemon/peers/account/account-directory.ts";
import { Membership } from "../../../daemon/peers/account/membership.ts";
import type { HttpAsked, HttpClient, HttpOutcome } from "../../../platform/http/client.ts";
import type { Log } from "../../../platform/log.ts";
import { RealRandom } from "../../../platform/real-random.ts";
import { PRODUCT_VERSION } from "../../../shared/version.ts";
import { verifies } from "../../requirements.ts";
import { SimulatedFiles } from "../../simulation/files.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { until } from "../../support/until.ts";

const SERVICE = "https://account.example";
const SILENT: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

type Answer = { status: number; body: unknown; headers?: Record<string, string> } | "down";

class Setting implements HttpClient {
  readonly clock = new ManualClock();
  readonly files = new SimulatedFiles();
  readonly asked: (HttpAsked & { at: number })[] = [];
  /** What the service answers; the directory that fits if it is null. */
  answer: (() => Answer | Promise<Answer>) | null = null;
  origin: string | null = null;
  readonly #abort = new AbortController();
  identity!: InstanceIdentity;
  membership!: Membership;
  directory!: AccountDirectory;

  static async open(): Promise<Setting> {
    const setting = new Setting();
    setting.files.mkdir("/secrets");
    setting.identity = await InstanceIdentity.obtain(setting.files, new RealRandom(), "/identity");
    setting.membership = await Membership.open(setting.files, "/secrets/membership.json");
    await setting.link("dev_1");
    await setting.reopen();
    return setting;
  }

  async reopen(): Promise<void> {
    await this.directory?.close();
    this.directory = await AccountDirectory.open({
      files: this.files,
      clock: this.clock,
      random: { bytes: (count: number) => new Uint8Array(count), uuid: () => "" },
      log: SILENT,
      path: "/secrets/connect.json",
      identity: this.identity,
      membership: this.membership,
      client: new AccountClient(this, 15, this.#abort.signal),
      publicOrigin: () => this.origin,
    });
  }

  link(deviceId: string): Promise<void> {
    return this.membership.update((value) => ({
      ...value,
      logged_in: true,
      account_origin: SERVICE,
      device_id: deviceId,
      device_token: `token of ${deviceId}`,
    }));
  }

  async request(asked: HttpAsked): Promise<HttpOutcome> {
    this.asked.push({ ...asked, at: this.clock.now() });
    const { device_id: deviceId } = this.membership.value;
    const answer = (await this.answer?.()) ?? { status: 200, body: this.listing(deviceId ?? "") };
    if (answer === "down" || asked.signal.aborted)
      return { kind: "failed", why: "unreachable", escaped: false, reason: "It can't be reached." };
    const { status, body, headers = {} } = answer;
    return { kind: "answered", status, headers, body: Buffer.from(JSON.stringify(body)) };
  }

  close(): void {}

  listing(deviceId: string, more: object[] = []) {
    const now = this.clock.now();
    return {
      protocol_version: 1,
      account_id: "account-1",
      account_label: "Ann",
      device_id: deviceId,
      issued_at: new Date(now).toISOString(),
      expires_at: new Date(now + 120_000).toISOString(),
      instances: [this.entry(deviceId), ...more],
    };
  }

  entry(deviceId: string) {
    return {
      instance_id: this.identity.instance_id,
      device_id: deviceId,
      public_key: this.identity.public_key,
      client_version: PRODUCT_VERSION,
      public_origin: null,
      display_name: "Here",
      registered_at: new Date(this.clock.now()).toISOString(),
    };
  }

  /** Starts it and waits for its first answer. */
  async started(): Promise<void> {
    this.directory.start();
    await until("the first answer", () => this.directory.snapshot);
  }

  /** Lets time pass until the next request, and its answer be taken. Gives the seconds. */
  async untilAsked(): Promise<number> {
    const { length } = this.asked;
    const begun = this.clock.now();
    while (this.asked.length === length) {
      assert.ok(this.clock.advanceToTimer(), "nothing is planned");
      await new Promise((resolve) => setImmediate(resolve));
    }
    const seconds = (this.asked.at(-1)!.at - begun) / 1000;
    await this.settled();
    return seconds;
  }

  async settled(): Promise<void> {
    for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }
}

describe("the account's directory", () => {
  let setting: Setting;
  beforeEach(async () => {
    setting = await Setting.open();
  });
  afterEach(() => setting.directory.close());

  it("is asked for every minute, and after failures later and later", async () => {
    verifies("LIM-005", "LIM-006", "SNAP-018", "SNAP-030", "VER-001", "DIR-065", "DIR-066");
    await setting.started();
    const [first] = setting.asked;
    assert.equal(first?.headers["svc-membership-version"], "1");
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

  it("is cleared by a definite refusal, with the account's label where the device is unknown", async () => {
    verifies("SNAP-019", "SNAP-029");
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
      assert.equal(setting.membership.value.account_label, label, code);
    }
  });

  it("takes no answer for an earlier binding, nor one after the end", async () => {
    verifies("SNAP-021", "SNAP-022", "LIM-004");
    await setting.started();
    let give: (answer: Answer) => void = () => {};
    setting.answer = () =>
      new Promise((resolve) => {
        give = resolve;
      });
    const before = setting.asked.length;
    const old = setting.listing("dev_1");
    setting.clock.advance(60_000);
    await until("asked", () => setting.asked.length === before + 1);
    setting.answer = null;
    await setting.link("dev_2");
    give({ status: 200, body: old });
    await until("the new binding's", () => setting.directory.current?.device_id === "dev_2");

    setting.answer = () =>
      new Promise((resolve) => {
        give = resolve;
      });
    const kept = setting.directory.snapshot;
    const running = setting.directory.refresh();
    await until("asked again", () => setting.asked.length > before + 2);
    const closed = setting.directory.close();
    give({ status: 403, body: {} });
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
});
