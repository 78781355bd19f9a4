/**
 * Somebody who has copied a machine, with its keys and what it was granted, and goes on after the
 * end: nothing that is checked on the sending side holds them up.
 */
import type { Grant } from "../../daemon/peers/authority.ts";
import { PeerSender } from "../../daemon/peers/requests/peer-sender.ts";
import { LIMITS } from "../../shared/limits.ts";
import { ConnectMessage } from "../../shared/wire/v1/message.ts";
import { type Chance, SeededRandom } from "../support/chance.ts";
import { PLAIN_MESSAGE } from "../support/plain-message.ts";
import { AFTER_END_MS } from "./account-oracle.ts";
import type { SimulatedDaemon } from "./daemon.ts";
import { short } from "./delivery.ts";
import type { Oracle } from "./oracle.ts";
import type { World } from "./world.ts";

const MINUTE = 60_000;
const PERSON = { id: "user", title: "somebody", generation: "", enabled: true, role: null };

export class Intruder {
  readonly #world: World;
  readonly #chance: Chance;
  readonly #random: SeededRandom;
  readonly #oracle: Oracle;

  constructor(world: World, chance: Chance, oracle: Oracle) {
    this.#world = world;
    this.#chance = chance;
    this.#random = new SeededRandom(chance.stream("random"));
    this.#oracle = oracle;
  }

  /** These devices and connections have just ended: whatever used them is used again, too late. */
  goOn(daemons: Iterable<SimulatedDaemon>, ended: readonly string[]): void {
    const all = [...daemons];
    for (const daemon of all) {
      for (const grant of daemon.services?.outbound.authorities.all() ?? []) {
        const used = [grant.connection_id, grant.local.device_id, grant.remote.device_id];
        if (grant.authority === "direct" || !used.some((id) => id !== null && ended.includes(id))) continue;
        const target = all.find(({ instance_id: instanceId }) => instanceId === grant.remote.instance_id);
        if (target === undefined) continue;
        const late = AFTER_END_MS + this.#chance.between(1000, 3 * MINUTE);
        this.#world.after(late, () => void this.#send(daemon, target, grant));
      }
    }
  }

  async #send(from: SimulatedDaemon, to: SimulatedDaemon, grant: Grant): Promise<void> {
    const { run, identity } = from;
    if (run === null) return;
    const message = this.#messageOf(from, to, grant);
    if (message === null) return;
    const sender = new PeerSender({
      clock: run.clock,
      random: this.#random,
      log: { debug: () => {}, info: () => {}, warn: () => {}, error: (event) => this.#failed(event) },
      identity,
      contacts: { answered: () => {}, denied: () => {} },
    });
    this.#world.tell(
      `somebody sends ${short(message.delivery_id)} to ${to.name} with what ${from.name} was granted`,
    );
    this.#oracle.forged(message);
    const operation = { op: "deliver" as const, message, blobs: [] };
    await sender.ask(grant, operation, new AbortController().signal, { isStillGranted: () => true });
  }

  #failed(event: string): void {
    this.#oracle.violate("nothing unexpected happens", `what was stolen can't be used: ${event}`);
  }

  /** Null when there are no Groups to write from and to. */
  #messageOf(from: SimulatedDaemon, to: SimulatedDaemon, grant: Grant): ConnectMessage | null {
    const source = grant.pair?.local_group_id ?? firstGroupOf(from);
    const target = grant.pair?.remote_group_id ?? firstGroupOf(to);
    if (source === null || target === null) return null;
    const { connection_id: connectionId, local, remote } = grant;
    const now = this.#world.now + from.wall.offset;
    const at = (seconds: number): string => new Date(now + seconds * 1000).toISOString();
    return ConnectMessage.parse({
      ...(connectionId !== null && { connection_id: connectionId }),
      delivery_id: this.#random.uuid(),
      account_origin: grant.account_origin,
      account_id: grant.account_id,
      source: { instance_id: local.instance_id, device_id: local.device_id, group_id: source, title: "" },
      sender: PERSON,
      source_event_id: this.#random.uuid(),
      target: { instance_id: remote.instance_id, device_id: remote.device_id, group_id: target, title: "" },
      recipients: [PERSON],
      text: "still here",
      ...PLAIN_MESSAGE,
      created_at: at(0),
      deliver_before: at(LIMITS.connect.deliverSeconds),
      reply_before: at(LIMITS.connect.replySeconds),
    });
  }
}

function firstGroupOf({ services }: SimulatedDaemon): string | null {
  return services?.groups.registry.list()[0]?.group_id ?? null;
}
