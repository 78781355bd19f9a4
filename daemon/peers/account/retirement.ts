/**
 * Devices that this instance was, or was granted and didn't become: they are retired in their
 * account, however often that fails and whenever the daemon ends meanwhile.
 */
import type { Clock, Timer } from "../../../platform/clock.ts";
import { errorFields, type Log } from "../../../platform/log.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { AccountClient } from "./account-client.ts";
import type { Binding, Membership } from "./membership.ts";

interface Dependencies {
  clock: Clock;
  log: Log;
  membership: Membership;
  client: Pick<AccountClient, "retire">;
}

const { backoffSeconds } = LIMITS.connect;

export class Retirement {
  readonly #deps: Dependencies;
  /** What runs, by the device's token. */
  readonly #running = new Map<string, Promise<void>>();
  #timer: Timer | null = null;
  #failures = 0;
  #isClosed = false;
  #stop: () => void = () => {};

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /** Goes on with those that the last run left. */
  start(): void {
    this.#stop = this.#deps.membership.onChange(() => this.#follow());
    this.#follow();
  }

  /** Ends what runs. Nothing is written after that. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stop();
    this.#timer?.cancel();
    await Promise.all(this.#running.values());
  }

  /** Tries it now for the devices of one account service. Resolves also if it fails. */
  async retire(origin: string): Promise<void> {
    const devices = this.#devices.filter((device) => device.account_origin === origin);
    await Promise.all(devices.map((device) => this.#retire(device)));
  }

  get #devices(): readonly Binding[] {
    return this.#deps.membership.value.retiring ?? [];
  }

  #follow(): void {
    if (this.#isClosed || this.#timer !== null) return;
    if (this.#devices.length === 0) {
      this.#failures = 0;
      return;
    }
    const last = Math.min(this.#failures, backoffSeconds.length) - 1;
    this.#timer = this.#deps.clock.after(
      (backoffSeconds[last] ?? 0) * 1000,
      () => {
        void Promise.all(this.#devices.map((device) => this.#retire(device))).then(() => {
          this.#failures += 1;
          this.#timer = null;
          this.#follow();
        });
      },
      { background: true },
    );
  }

  #retire(device: Binding): Promise<void> {
    const { device_token: token } = device;
    const running =
      this.#running.get(token) ??
      this.#attempt(device)
        .catch((error: unknown) => this.#deps.log.warn("account_retirement", errorFields(error)))
        .finally(() => this.#running.delete(token));
    this.#running.set(token, running);
    return running;
  }

  async #attempt(device: Binding): Promise<void> {
    const { membership, client, log } = this.#deps;
    if (this.#isClosed) return;
    const answer = await client.retire(device);
    if (this.#isClosed) return;
    if (!answer.ok) return log.warn("account_retirement", { code: answer.failure.code });
    await membership.update((value) => ({
      ...value,
      retiring: (value.retiring ?? []).filter((one) => one.device_token !== device.device_token),
    }));
  }
}
