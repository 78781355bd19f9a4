/** Members of the simulated account service: what they do on its pages and with their instances. */
import type { TestBrowser } from "../account/service.ts";
import type { Chance } from "../support/chance.ts";
import type { SimulatedDaemon } from "./daemon.ts";
import { Intruder } from "./intruder.ts";
import type { Oracle } from "./oracle.ts";
import type { SimulatedService } from "./service.ts";
import type { World } from "./world.ts";

const MINUTE = 60_000;
const INVITED = /svc connect accept ([0-9a-f-]{36})/gu;

/** Two Groups of two accounts. */
export interface GroupEnd {
  daemon: SimulatedDaemon;
  group_id: string;
}

export class Accounts {
  readonly service: SimulatedService;
  readonly #world: World;
  readonly #chance: Chance;
  readonly #oracle: Oracle;
  readonly #intruder: Intruder;
  /** Whose each daemon is. */
  readonly #people = new Map<SimulatedDaemon, number>();
  /** Under which name each person is a member now. */
  readonly #names = ["ann", "bea"];
  /** Called when the account service has confirmed the end of something. */
  revoked: () => void = () => {};

  constructor(
    world: World,
    chance: Chance,
    { service, oracle }: { service: SimulatedService; oracle: Oracle },
  ) {
    this.service = service;
    this.#world = world;
    this.#chance = chance;
    this.#oracle = oracle;
    this.#intruder = new Intruder(world, chance.stream("intruder"), oracle);
  }

  /** Somebody has this daemon. */
  add(daemon: SimulatedDaemon): void {
    this.#people.set(daemon, this.#chance.below(this.#names.length));
  }

  areOfOne(one: SimulatedDaemon, other: SimulatedDaemon): boolean {
    return this.#people.get(one) === this.#people.get(other);
  }

  /** Links the daemon if it isn't. True once the account's directory has it. */
  async link(daemon: SimulatedDaemon): Promise<boolean> {
    const shown = await daemon.call("account_show", {});
    if (shown.kind !== "done" || !this.service.isUsable) return false;
    if (shown.result.state === "linked") {
      await this.#retireOthers(daemon, shown.result.device_id);
      return daemon.services?.account.directory.current !== null;
    }
    const begun = await daemon.call("account_link", { account_origin: this.service.origin });
    if (begun.kind !== "done") return false;
    const browser = await this.#browser(daemon);
    if (browser === null) return false;
    await browser.approve(begun.result.user_code).catch(() => null);
    for (let waited = 0; waited < 2 * MINUTE; waited += 2000) {
      await this.wait(2000);
      if (daemon.services?.account.directory.current) {
        this.#world.tell(`${daemon.name} is linked`);
        return true;
      }
    }
    return false;
  }

  /** Retires the daemon's device, on the page or from the daemon itself. */
  async retire(daemon: SimulatedDaemon): Promise<void> {
    const shown = await daemon.call("account_show", {});
    if (shown.kind !== "done" || shown.result.device_id === null) return;
    const { device_id: device } = shown.result;
    if (this.#chance.happens(0.4)) {
      const unlinked = await daemon.call("account_unlink", {});
      if (unlinked.kind !== "done") return;
    } else {
      const answer = await this.#submit(daemon, "/", "/devices/retire", { device });
      if (answer?.status !== 303) return;
    }
    this.#world.tell(`${daemon.name} is retired`);
    this.#ended(device);
  }

  /** What the daemon asks its person for when another device has its instance. */
  async #retireOthers(daemon: SimulatedDaemon, own: string | null): Promise<void> {
    if (daemon.services?.account.status().connect?.error_code !== "instance_conflict") return;
    const devices = await this.service.operate((operator) => operator.devices());
    const other = devices.find(
      (one) => one.id !== own && !one.is_retired && one.instance_id === daemon.instance_id,
    );
    if (other === undefined) return;
    const answer = await this.#submit(daemon, "/", "/devices/retire", { device: other.id });
    if (answer?.status !== 303) return;
    this.#world.tell(`an earlier device of ${daemon.name} is retired`);
    this.#ended(other.id);
  }

  /** The person loses the account, and comes back under another name. */
  async disable(daemon: SimulatedDaemon): Promise<void> {
    if (!this.service.isUsable) return;
    const person = this.#people.get(daemon)!;
    const name = this.#names[person]!;
    const devices = await this.service.operate(async (operator) => {
      const member = (await operator.members()).find((one) => one.name === name);
      if (member === undefined || member.is_disabled) return null;
      const own = (await operator.devices()).filter((one) => one.member === name);
      await operator.disableMember(member.id);
      return own;
    });
    if (devices === null) return;
    this.#names[person] = `${name}+`;
    this.#world.tell(`${name} is no longer a member`);
    this.#ended(...devices.map(({ id }) => id));
  }

  /** Connects two Groups of two members. True when both have confirmed it. */
  async connect(one: GroupEnd, other: GroupEnd): Promise<boolean> {
    const recipient = other.daemon.services?.account.directory.current?.account_id;
    const ticket = await this.#select(one);
    if (ticket === null || recipient === undefined) return false;
    const invited = await this.#submit(one.daemon, "/connect", "/connect/select", { ticket, recipient });
    if (invited?.status !== 200) return false;
    const page = await (await this.#browser(other.daemon))?.get("/connect").catch(() => null);
    const [invitation] = [...String(page?.body).matchAll(INVITED)].map(([, id]) => id!);
    const own = invitation === undefined ? null : await this.#select(other, invitation);
    if (own === null) return false;
    if (this.#chance.happens(0.1)) {
      await this.#submit(other.daemon, "/connect", `/connect/invitations/${invitation}/reject`, {});
      return false;
    }
    const fields = { ticket: own, invitation: invitation! };
    const accepted = await this.#submit(other.daemon, "/connect", "/connect/select", fields);
    if (accepted?.status !== 200) return false;
    for (let waited = 0; waited < 3 * MINUTE; waited += 2000) {
      await this.wait(2000);
      if (this.isConnected(one, other) && this.isConnected(other, one)) {
        this.#world.tell(`${one.daemon.name} and ${other.daemon.name} are connected by their accounts`);
        return true;
      }
    }
    return false;
  }

  /** Whether the daemon has a connection of its Group to that one now. */
  isConnected(own: GroupEnd, other: GroupEnd): boolean {
    return this.#links(own).some(({ remote, pair }) => {
      return remote.instance_id === other.daemon.instance_id && pair?.remote_group_id === other.group_id;
    });
  }

  /** Ends one of the Group's connections, by the daemon's person. */
  async disconnect(own: GroupEnd): Promise<void> {
    const [link] = this.#links(own);
    const id = link?.connection_id;
    if (id === undefined || id === null) return;
    const answer = await this.#submit(own.daemon, "/connect", `/connect/${id}/disconnect`, {});
    if (answer?.status !== 303) return;
    this.#world.tell(`${own.daemon.name} ends the connection ${id.slice(0, 8)}`);
    this.#ended(id);
  }

  wait(milliseconds: number): Promise<void> {
    return new Promise((resolve) => void this.#world.after(milliseconds, resolve));
  }

  #ended(...ids: string[]): void {
    for (const id of ids) this.#oracle.accounts.ended(id);
    this.#intruder.goOn(this.#people.keys(), ids);
    this.revoked();
  }

  #links({ daemon, group_id: groupId }: GroupEnd) {
    const generation = daemon.services?.groups.registry.find(groupId)?.record.generation;
    if (generation === undefined) return [];
    return daemon.services!.account.external.discover({ group_id: groupId, generation });
  }

  /** The ticket of a selection. */
  async #select({ daemon, group_id: groupId }: GroupEnd, invitation?: string): Promise<string | null> {
    const selected = await daemon.call("connect_group_select", {
      group_id: groupId,
      ...(invitation !== undefined && { invitation }),
    });
    return selected.kind === "done" ? new URL(selected.result.url).searchParams.get("ticket") : null;
  }

  /** A browser of the daemon's person; null when the pages can't be used. */
  async #browser(daemon: SimulatedDaemon): Promise<TestBrowser | null> {
    if (!this.service.isUsable) return null;
    return this.service.member(this.#names[this.#people.get(daemon)!]!).catch(() => null);
  }

  /** Opens a page and sends a form from it; null when it has none, or can't be used. */
  async #submit(daemon: SimulatedDaemon, page: string, action: string, fields: Record<string, string>) {
    const browser = await this.#browser(daemon);
    return browser === null ? null : browser.submit(page, action, fields).catch(() => null);
  }
}
