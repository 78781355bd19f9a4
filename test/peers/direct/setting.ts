/**
 * Direct of several instances over a network in memory, with real files and time in the test's
 * hand.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { homePaths } from "../../../client/paths.ts";
import { InstanceIdentity } from "../../../daemon/home/identity.ts";
import { Direct } from "../../../daemon/peers/direct/direct.ts";
import { encodeFrame as frameOf } from "../../../daemon/peers/direct/frames.ts";
import type { Links } from "../../../daemon/peers/direct/link.ts";
import type { PeerReceiver, PeerRequest } from "../../../daemon/peers/transport.ts";
import { RealFiles } from "../../../platform/real-files.ts";
import { RealRandom } from "../../../platform/real-random.ts";
import type { DirectRelation } from "../../../shared/operations/direct.ts";
import { type DirectInvitation, parseInvitationText } from "../../../shared/wire/v1/direct.ts";
import type { ConnectPeerResponse } from "../../../shared/wire/v1/peer.ts";
import { MemoryLog } from "../../operations/support.ts";
import { FaultyFiles } from "../../support/faulty-files.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { until } from "../../support/until.ts";
import { MemoryNetwork } from "./memory-links.ts";

export const GROUP = "g_00000000000a";
export const MINUTE = 60_000;

/** Lets everything that is under way without a timer come to rest. */
export async function rest(turns = 200): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

export class World {
  readonly clock = new ManualClock();
  readonly network = new MemoryNetwork();
  readonly instances: Instance[] = [];

  async instance(name: string, options: { from?: string } = {}): Promise<Instance> {
    const instance = await Instance.make(this, name, options.from ?? "192.0.2.1");
    this.instances.push(instance);
    return instance;
  }

  /** Two instances, invited and joined and not approved: "host" listens at 192.0.2.10:8847. */
  async joined(
    made?: Instance,
  ): Promise<{ host: Instance; joiner: Instance; id: string; invitation: string }> {
    const host = made ?? (await this.instance("host"));
    const joiner = await this.instance("joiner");
    await host.direct.configure(LISTENER, undefined, undefined);
    const invitation = await host.direct.invite(GROUP, undefined);
    const id = await joiner.direct.join(GROUP, invitation);
    await until("the host knows who came", () => host.relation(id).state === "pending");
    return { host, joiner, id, invitation };
  }

  /** The same, approved and online at both ends. */
  async connected(
    made?: Instance,
  ): Promise<{ host: Instance; joiner: Instance; id: string; invitation: string }> {
    const all = await this.joined(made);
    await all.host.direct.approve(GROUP, all.id);
    await rest();
    this.clock.advance(5000);
    await until(
      "both are online",
      () => all.host.relation(all.id).online && all.joiner.relation(all.id).online,
    );
    return all;
  }

  async close(): Promise<void> {
    for (const instance of this.instances) await instance.close();
  }
}

export const LISTENER = { bind: "192.0.2.10:8847", address: "192.0.2.10:8847" };

export class Instance {
  readonly root: string;
  identity: InstanceIdentity;
  readonly groups = new Map([[GROUP, { generation: "generation-1", title: "Group" }]]);
  readonly files = new FaultyFiles();
  readonly received: PeerRequest[] = [];
  readonly log = new MemoryLog();
  /** Answers requests; to be replaced by tests that want more. */
  answer: (request: PeerRequest) => Promise<ConnectPeerResponse> = async (request) => responseTo(request);
  direct!: Direct;
  readonly #world: World;
  readonly #name: string;
  readonly #from: string;
  links: Links;

  private constructor(world: World, name: string, root: string, identity: InstanceIdentity, from: string) {
    this.#world = world;
    this.#name = name;
    this.#from = from;
    this.root = root;
    this.identity = identity;
    this.links = world.network.linksOf(identity.public_key, from);
  }

  static async make(world: World, name: string, from: string): Promise<Instance> {
    const root = mkdtempSync(join(tmpdir(), "svc-direct-"));
    const { identity } = homePaths(root);
    const key = await InstanceIdentity.obtain(new RealFiles(), new RealRandom(), identity);
    const instance = new Instance(world, name, root, key, from);
    await instance.open();
    return instance;
  }

  async open(): Promise<void> {
    const receiver: PeerReceiver = {
      receive: (request) => {
        this.received.push(request);
        return this.answer(request);
      },
      refuse: () => Promise.reject(new Error("nothing broken is sent in this setting")),
    };
    this.direct = await Direct.open({
      files: this.files,
      clock: this.#world.clock,
      random: new RealRandom(),
      log: this.log,
      links: this.links,
      paths: homePaths(this.root),
      identity: this.identity,
      hostname: this.#name,
      interfaces: () => [{ name: "eth0", address: "192.0.2.10", internal: false }],
      findGroup: (groupId) => this.groups.get(groupId) ?? null,
      receiver,
      allowance: () => ({ records: 0, bytes: 0 }),
    });
    await this.direct.start();
  }

  relation(id: string): DirectRelation {
    const found = this.direct.status(undefined).relations.find((relation) => relation.id === id);
    if (found === undefined) throw new Error(`no relation ${id}`);
    return found;
  }

  async restart(): Promise<void> {
    await this.direct.close();
    await this.open();
  }

  /** Another key: its file is lost, and the next start makes one. */
  async rekey(): Promise<void> {
    await this.direct.close();
    const { identity } = homePaths(this.root);
    rmSync(identity);
    this.identity = await InstanceIdentity.obtain(new RealFiles(), new RealRandom(), identity);
    this.links = this.#world.network.linksOf(this.identity.public_key, this.#from);
    await this.open();
  }

  async close(): Promise<void> {
    await this.direct.close();
    rmSync(this.root, { recursive: true, force: true });
  }
}

/** A response that fits the frame; signatures are the receiver's business. */
export function responseTo(request: PeerRequest): ConnectPeerResponse {
  return {
    request_id: request.proof.request_id,
    request_sha256: "0".repeat(64),
    result: { ok: true, result: { receipt: null } },
    signature: Buffer.alloc(64).toString("base64"),
  };
}

/** A frame in one piece. */
export function encodeFrame(value: unknown, limit: number): Buffer {
  const { parts } = frameOf(value, limit);
  const all: Uint8Array[] = [];
  for (let part = parts.next(); part.done !== true; part = parts.next()) all.push(Buffer.from(part.value));
  return Buffer.concat(all);
}

export const refuses = (code: string) => (error: unknown) => (error as { code?: string }).code === code;

export function invitationOf(text: string): DirectInvitation {
  const invitation = parseInvitationText(text);
  if (invitation === null) throw new Error("no invitation");
  return invitation;
}

/** Of the connection, as authority of its pair. */
export function stateOf(
  here: Instance,
  there: Instance,
  id: string,
  localGeneration = "generation-1",
): string {
  const query = {
    local_group_id: GROUP,
    local_generation: localGeneration,
    remote_instance_id: there.identity.instance_id,
    remote_group_id: GROUP,
  };
  return here.direct.authority.forConnection(id, query, { local: "", remote: "" }).state;
}
