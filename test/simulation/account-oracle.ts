/** What daemons may do with the answers of the account service, and must do without them. */
import { LIMITS } from "../../shared/limits.ts";
import type { SimulatedDaemon } from "./daemon.ts";
import type { Delivery } from "./delivery.ts";
import type { SimulatedService } from "./service.ts";
import type { World } from "./world.ts";

/** For how long an answer of the account service counts. */
const LEASE_MS = LIMITS.link.validSeconds * 1000;
/** Clocks of machines that are well differ so much, and a disk takes so long. */
export const SLACK_MS = 20_000;
/** So long after its end nothing may be accepted any more, in milliseconds. */
export const AFTER_END_MS = LEASE_MS + SLACK_MS;

/** What the account service says of a device that it doesn't take, for good. */
const DEFINITE: ReadonlySet<string | null> = new Set([
  "device_disabled",
  "account_logged_out",
  "instance_conflict",
]);

type Violate = (invariant: string, what: string) => void;

export class AccountOracle {
  readonly #world: World;
  readonly #daemons: readonly SimulatedDaemon[];
  readonly #service: SimulatedService | null;
  readonly #violate: Violate;
  /** True times at which connections and devices ended, by their ids. */
  readonly #ended = new Map<string, number>();
  /** Clocks that are wrong now, and the true time at which the last one was set right. */
  #wrongClocks = 0;
  #rightSince = 0;

  /** `service` is null when there is no account service. */
  constructor(
    world: World,
    daemons: readonly SimulatedDaemon[],
    { service, violate }: { service: SimulatedService | null; violate: Violate },
  ) {
    this.#world = world;
    this.#daemons = daemons;
    this.#service = service;
    this.#violate = violate;
  }

  /** The account service has confirmed that a connection or a device ended. */
  ended(id: string): void {
    if (!this.#ended.has(id)) this.#ended.set(id, this.#world.time);
  }

  /** What the account service knew of late is forgotten: what ended may be there again. */
  restored(): void {
    this.#ended.clear();
  }

  /** A clock goes wrong. Returns its end. */
  clockIsWrong(): () => void {
    this.#wrongClocks += 1;
    return () => {
      this.#wrongClocks -= 1;
      this.#rightSince = this.#world.time;
    };
  }

  /** Whether every clock has been right from that true time on. */
  areClocksRightSince(time: number): boolean {
    return this.#wrongClocks === 0 && this.#rightSince <= time;
  }

  /**
   * `writtenAt`: true time at which the target accepted it, at the latest. A restart with a wrong
   * clock may make an earlier answer last longer.
   */
  checkRevoked(
    { connection_id: connectionId, devices }: Pick<Delivery, "connection_id" | "devices">,
    { what, writtenAt }: { what: string; writtenAt: number },
  ): void {
    for (const id of [connectionId, ...devices]) {
      const ended = id === null ? undefined : this.#ended.get(id);
      if (ended === undefined || !this.areClocksRightSince(ended - AFTER_END_MS)) continue;
      const late = writtenAt - ended;
      if (late > AFTER_END_MS)
        this.#violate(
          "nothing is accepted after a revocation",
          `${what}, ${late / 1000} s after the end of ${id}`,
        );
    }
  }

  /** What the account service refused for good isn't used until its time is over. */
  checkRefused(): void {
    if (this.#service === null) return;
    for (const { name, services } of this.#daemons) {
      const connect = services?.account.status().connect ?? null;
      if (connect !== null && connect.directory !== null && DEFINITE.has(connect.error_code))
        this.#violate("a definite refusal counts", `${name} uses its directory after ${connect.error_code}`);
      const { status } = services?.account.external.condition() ?? {};
      const { error_code: refused = null } = connect?.group_sync ?? {};
      if (status === "ready" && DEFINITE.has(refused))
        this.#violate("a definite refusal counts", `${name} uses its connections after ${refused}`);
    }
  }

  /**
   * A daemon whose device the account service knows has its directory and connections again, by
   * itself.
   */
  async checkLinks(): Promise<void> {
    if (this.#service === null) return;
    for (const problem of this.#service.unexpected)
      this.#violate("nothing unexpected happens", `the account service: ${problem}`);
    const devices = await this.#service.operate((operator) => operator.devices());
    for (const daemon of this.#daemons) {
      const { account } = daemon.services!;
      const { device_id: id } = account.show();
      const device = devices.find((one) => one.id === id);
      const isActive = device !== undefined && !device.is_retired;
      // After a restore an earlier device has the instance again, until its person retires it.
      const isHeld = devices.some(
        (one) => one.id !== id && !one.is_retired && one.instance_id === daemon.instance_id,
      );
      if (isHeld && account.status().connect?.error_code === "instance_conflict") continue;
      const isConfirmed =
        account.directory.current !== null && account.external.condition().status === "ready";
      if (isActive !== isConfirmed)
        this.#violate("links recover alone", `${daemon.name} ${JSON.stringify(account.status().connect)}`);
    }
  }
}
