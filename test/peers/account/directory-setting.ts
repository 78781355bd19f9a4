/**
 * The account's directory on a manual clock, with an account service that answers what a test says.
 */
import assert from "node:assert/strict";
import type { InstanceIdentity } from "../../../daemon/home/identity.ts";
import { requestSeconds } from "../../../daemon/peers/account/account.ts";
import { AccountClient } from "../../../daemon/peers/account/account-client.ts";
import { AccountDirectory } from "../../../daemon/peers/account/account-directory.ts";
import { AccountMembers } from "../../../daemon/peers/account/members.ts";
import { Membership } from "../../../daemon/peers/account/membership.ts";
import { Retirement } from "../../../daemon/peers/account/retirement.ts";
import type { Files } from "../../../platform/files.ts";
import type { HttpAsked, HttpClient, HttpOutcome } from "../../../platform/http/client.ts";
import type { Log } from "../../../platform/log.ts";
import { PRODUCT_VERSION } from "../../../shared/version.ts";
import { SimulatedFiles } from "../../simulation/files.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { until } from "../../support/until.ts";
import { ACCOUNT, newIdentity, ORIGIN } from "../receiver-setting.ts";

export const SILENT: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

export type Answer = { status: number; body: unknown; headers?: Record<string, string> } | "down";

export class DirectorySetting implements HttpClient {
  readonly clock: ManualClock;
  readonly files: Files;
  readonly asked: (HttpAsked & { at: number })[] = [];
  /** What the service answers; the directory that fits if it is null. */
  answer: (() => Answer | Promise<Answer>) | null = null;
  /** Whether its answer comes all the same when the request has been given up. */
  answersAborted = false;
  origin: string | null = null;
  /** Entries that the directory has beside this instance's own. */
  others: object[] = [];
  readonly client = new AccountClient(this, requestSeconds(undefined), new AbortController().signal);
  readonly identity: InstanceIdentity;
  membership!: Membership;
  directory!: AccountDirectory;
  members!: AccountMembers;
  retirement!: Retirement;

  private constructor(files: Files, clock: ManualClock, identity: InstanceIdentity) {
    this.files = files;
    this.clock = clock;
    this.identity = identity;
  }

  /** Linked as `device`, not started. */
  static async open({
    files = new SimulatedFiles(),
    clock = new ManualClock(),
    identity,
    device = "dev_1",
  }: {
    files?: Files;
    clock?: ManualClock;
    identity?: InstanceIdentity;
    device?: string;
  } = {}): Promise<DirectorySetting> {
    const setting = new DirectorySetting(files, clock, identity ?? (await newIdentity()));
    setting.files.mkdir("/secrets");
    setting.membership = await Membership.open(setting.files, "/secrets/membership.json");
    await setting.link(device);
    await setting.reopen();
    return setting;
  }

  /** What is on the disk, read and not started. */
  static async found(files: Files, identity: InstanceIdentity): Promise<DirectorySetting> {
    const setting = new DirectorySetting(files, new ManualClock(), identity);
    setting.membership = await Membership.open(files, "/secrets/membership.json");
    await setting.reopen();
    return setting;
  }

  async reopen(): Promise<void> {
    await Promise.all([this.directory?.close(), this.retirement?.close()]);
    this.members = await AccountMembers.open({
      files: this.files,
      clock: this.clock,
      log: SILENT,
      path: "/secrets/instances.json",
    });
    const { clock, membership, client } = this;
    this.retirement = new Retirement({ clock, log: SILENT, membership, client });
    this.directory = await AccountDirectory.open({
      files: this.files,
      clock: this.clock,
      random: { bytes: (count: number) => new Uint8Array(count), uuid: () => "" },
      log: SILENT,
      path: "/secrets/connect.json",
      identity: this.identity,
      membership,
      client,
      members: this.members,
      retireEarlier: (origin) => this.retirement.retire(origin),
      publicOrigin: () => this.origin,
    });
  }

  link(deviceId: string): Promise<void> {
    return this.membership.update((value) => ({
      ...value,
      logged_in: true,
      account_origin: ORIGIN,
      device_id: deviceId,
      device_token: `token of ${deviceId}`,
    }));
  }

  async request(asked: HttpAsked): Promise<HttpOutcome> {
    this.asked.push({ ...asked, at: this.clock.now() });
    const { device_id: deviceId } = this.membership.value;
    const answer = (await this.answer?.()) ?? { status: 200, body: this.listing(deviceId ?? "") };
    if (answer === "down" || (asked.signal.aborted && !this.answersAborted))
      return { kind: "failed", why: "unreachable", escaped: false, reason: "It can't be reached." };
    const { status, body, headers = {} } = answer;
    return { kind: "answered", status, headers, body: Buffer.from(JSON.stringify(body)) };
  }

  close(): void {}

  listing(deviceId: string) {
    const now = this.clock.now();
    return {
      protocol_version: 1,
      account_id: ACCOUNT,
      account_label: "Ann",
      device_id: deviceId,
      issued_at: new Date(now).toISOString(),
      expires_at: new Date(now + 120_000).toISOString(),
      instances: [this.entry(deviceId), ...this.others],
    };
  }

  entry(deviceId: string, identity = this.identity) {
    return {
      instance_id: identity.instance_id,
      device_id: deviceId,
      public_key: identity.public_key,
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
