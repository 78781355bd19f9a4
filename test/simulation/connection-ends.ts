/** What connections of two Groups connect, from what the daemons have in force. */
import { isDirect } from "../../shared/wire/v1/fields.ts";
import type { SimulatedDaemon } from "./daemon.ts";
import type { Delivery, GroupEnd } from "./delivery.ts";

/** No Group is this one. */
const NO_END: GroupEnd = { instance_id: "", group_id: "", generation: "" };

export class ConnectionEnds {
  readonly #daemons: readonly SimulatedDaemon[];
  readonly #known = new Map<string, GroupEnd[]>();

  constructor(daemons: readonly SimulatedDaemon[]) {
    this.#daemons = daemons;
  }

  /** The end of the delivery's connection at this daemon; null if the connection has none. */
  at(
    { connection_id: connectionId }: Pick<Delivery, "connection_id">,
    { instance_id: instanceId }: { instance_id: string },
  ): GroupEnd | null {
    if (connectionId === null) return null;
    return this.of(connectionId).find((end) => end.instance_id === instanceId) ?? NO_END;
  }

  /**
   * Both ends of a connection, as a side has them that knows both: over Direct the one that joined,
   * which has known both from the beginning. None while no daemon has been seen to know it.
   */
  of(id: string): readonly GroupEnd[] {
    let ends = this.#known.get(id);
    if (ends !== undefined) return ends;
    ends = isDirect(id) ? this.#direct(id) : this.#external(id);
    if (ends.length > 0) this.#known.set(id, ends);
    return ends;
  }

  #direct(id: string): GroupEnd[] {
    const relation = this.#daemons
      .flatMap(({ services }) => services?.direct.status(undefined).relations ?? [])
      .find((one) => one.id === id && one.remote !== null);
    return relation === undefined ? [] : [relation.local, relation.remote!];
  }

  #external(id: string): GroupEnd[] {
    const grant = this.#daemons
      .flatMap(({ services }) => services?.account.external.discover(null) ?? [])
      .find((one) => one.connection_id === id);
    if (grant === undefined || grant.pair === null) return [];
    const { local, remote, pair } = grant;
    return [
      { instance_id: local.instance_id, group_id: pair.local_group_id, generation: pair.local_generation },
      { instance_id: remote.instance_id, group_id: pair.remote_group_id, generation: pair.remote_generation },
    ];
  }
}
