/** What becomes of a device that an instance no longer is, whatever happens meanwhile. */
import assert from "node:assert/strict";
import { AccountLogin } from "../../../daemon/peers/account/account-login.ts";
import { verifies } from "../../requirements.ts";
import { SimulatedFiles } from "../../simulation/files.ts";
import { until } from "../../support/until.ts";
import { ORIGIN } from "../receiver-setting.ts";
import { type Answer, DirectorySetting, SILENT } from "./directory-setting.ts";

/** An account whose devices are `dev_1`, and `dev_2` once that is granted. */
class Devices {
  readonly retired = new Set<string>();
  /** Nobody can retire a device. */
  isBroken = true;
  /** What something in front of the account service answers instead. */
  page: Answer | null = null;
  readonly #setting: DirectorySetting;

  constructor(setting: DirectorySetting) {
    this.#setting = setting;
    setting.answer = () => this.#answer();
  }

  #answer(): Answer {
    const { url, headers } = this.#setting.asked.at(-1)!;
    const device = headers["authorization"]?.slice("Bearer token of ".length) ?? "";
    switch (new URL(url).pathname) {
      case "/v1/device/code": {
        const page = { verification_uri: `${ORIGIN}/device`, expires_in: 900, interval: 5 };
        return { status: 200, body: { device_code: "d".repeat(43), user_code: "BCDF-GHJK", ...page } };
      }
      case "/v1/device/token": {
        const token = { access_token: "token-of-dev_2", token_type: "Bearer" };
        return { status: 200, body: { ...token, device_id: "dev_2", hostname: "host" } };
      }
      case "/v1/device/disable":
        if (this.page !== null) return this.page;
        if (this.isBroken) return "down";
        this.retired.add(device);
        return { status: 200, body: { disabled: true } };
      case "/v1/connect/instances":
        if (device === "dev_2" && !this.retired.has("dev_1")) {
          const error = { code: "instance_conflict", message: "Another device has this instance." };
          return { status: 409, body: { error } };
        }
        return { status: 200, body: this.#setting.listing(device) };
      default:
        return { status: 500, body: {} };
    }
  }
}

describe("a device that an instance no longer is", () => {
  let files: SimulatedFiles;
  let setting: DirectorySetting;
  let devices: Devices;
  let login: AccountLogin;
  const paths = () => setting.asked.map(({ url }) => new URL(url).pathname);
  const waiting = () => setting.membership.value.retiring?.map((device) => device.device_id);

  beforeEach(async () => {
    files = new SimulatedFiles();
    setting = await DirectorySetting.open({ files });
    await new Promise((resolve) => files.syncDir("/", resolve));
    devices = new Devices(setting);
    const { clock, membership, client } = setting;
    login = new AccountLogin({ clock, log: SILENT, hostname: "", membership, client });
    // Something that isn't the account said that the device is unknown.
    await membership.update((value) => ({ ...value, logged_in: false }));
    await login.begin(ORIGIN);
  });
  afterEach(async () => {
    await login.close();
    await setting.retirement.close();
    await setting.directory.close();
  });

  it("is retired after the new grant was saved, also after a crash", async () => {
    verifies("DIR-029", "DIR-030");
    await setting.started();
    setting.retirement.start();
    setting.clock.advance(5000);
    // It is saved although the earlier device can't be retired.
    await until("the new binding", () => setting.membership.binding?.device_id === "dev_2");
    await until("the refusal", () => setting.directory.snapshot?.error_code === "instance_conflict");
    assert.deepEqual(waiting(), ["dev_1"]);

    files = new SimulatedFiles(files.crashState(() => false));
    await login.close();
    await setting.retirement.close();
    await setting.directory.close();
    setting = await DirectorySetting.found(files, setting.identity);
    assert.equal(setting.membership.binding?.device_id, "dev_2");
    devices = new Devices(setting);
    devices.isBroken = false;
    setting.directory.start();
    await until("the directory", () => setting.directory.current);
    assert.deepEqual(paths(), ["/v1/device/disable", "/v1/connect/instances"]);
    assert.deepEqual(waiting(), []);
  });

  it("is retired as soon as its account service can be reached, also without a link", async () => {
    await login.cancel();
    setting.retirement.start();
    const { membership, clock } = setting;
    await membership.update((value) => ({
      ...value,
      retiring: [{ account_origin: ORIGIN, device_id: "dev_2", device_token: "token of dev_2" }],
    }));
    const times: number[] = [];
    for (let tries = 1; tries <= 4; tries += 1) {
      await setting.untilAsked();
      times.push(clock.now());
    }
    assert.deepEqual(
      times.map((at) => (at - times[0]!) / 1000),
      [0, 5, 15, 35],
    );
    devices.isBroken = false;
    await setting.untilAsked();
    assert.deepEqual([...devices.retired], ["dev_2"]);
    assert.deepEqual(waiting(), []);
    assert.equal(clock.timers, 0);
  });

  it("isn't taken for retired because a page of a proxy says something", async () => {
    await login.cancel();
    setting.retirement.start();
    await setting.membership.update((value) => ({
      ...value,
      retiring: [{ account_origin: ORIGIN, device_id: "dev_2", device_token: "token of dev_2" }],
    }));
    for (const page of [
      { status: 404, body: "Not found" },
      { status: 401, body: {} },
      { status: 403, body: { error: "Forbidden" } },
      { status: 200, body: {} },
    ]) {
      devices.page = page;
      await setting.untilAsked();
      assert.deepEqual(waiting(), ["dev_2"], String(page.status));
    }
    // The account service's own word counts.
    const error = { code: "unauthenticated", message: "The device's credential is unknown." };
    devices.page = { status: 401, body: { error } };
    await setting.untilAsked();
    assert.deepEqual(waiting(), []);
  });

  it("is given back when nobody waited for it any more", async () => {
    setting.retirement.start();
    const answer = setting.answer!;
    // The code is cancelled while the account service answers that it was confirmed.
    setting.answer = async () => {
      const given = await answer();
      if (paths().at(-1) === "/v1/device/token") await login.cancel();
      return given;
    };
    setting.clock.advance(5000);
    await until("the device that is left", () => waiting()?.includes("dev_2"));
    assert.equal(setting.membership.binding?.device_id, "dev_1");
    devices.isBroken = false;
    await setting.untilAsked();
    assert.deepEqual([...devices.retired], ["dev_2"]);
    assert.deepEqual(waiting(), []);
  });

  it("is given back when it can't be saved, and the login says so and ends", async () => {
    const { clock, membership } = setting;
    devices.isBroken = false;
    files.fault = ({ name }) => (name === "create" ? "ENOSPC" : null);
    clock.advance(5000);
    await until("its retirement", () => devices.retired.has("dev_2"));
    await until("the next attempt", () => clock.timers > 0);
    assert.match(login.trouble ?? "", /confirmed, but couldn't be saved.*Free space/u);
    const asked = paths().length;
    files.fault = null;
    clock.advance(5000);
    await until("its end", () => membership.value.pending_login === null);
    assert.equal(
      membership.value.last_error?.message,
      "It was confirmed, but couldn't be saved here. Free space on the disk, then link again.",
    );
    assert.equal(login.trouble, null);
    assert.equal(membership.binding?.device_id, "dev_1");
    assert.equal(paths().length, asked);
  });

  it("is waited for while its account service can't be reached, and it is said why", async () => {
    const { clock, membership } = setting;
    const granting = setting.answer;
    for (const [answer, words] of [
      ["down", /It can't be reached/u],
      [{ status: 404, body: {} }, /isn't an account service \(status 404\)/u],
      [{ status: 403, body: {} }, /isn't an account service \(status 403\)/u],
      [{ status: 503, body: {} }, /status 503/u],
    ] as const) {
      setting.answer = () => answer;
      await setting.untilAsked();
      assert.match(login.trouble ?? "", words);
    }
    setting.answer = () => ({ status: 400, body: { error: "authorization_pending" } });
    await setting.untilAsked();
    assert.equal(login.trouble, null);
    setting.answer = granting;
    clock.advance(5000);
    await until("the new binding", () => membership.binding?.device_id === "dev_2");
  });
});
