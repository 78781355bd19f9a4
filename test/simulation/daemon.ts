/**
 * A simulated machine with its disk and clock, and the runs of the daemon on it: the services as
 * the daemon has them, over Direct.
 */

import { dirname } from "node:path";
import { homePaths } from "../../client/paths.ts";
import { create as createReceiver } from "../../daemon/assembly/services/receiver.ts";
import type { Supervisor } from "../../daemon/assembly/supervisor.ts";
import { InstanceIdentity } from "../../daemon/home/identity.ts";
import { type PeerPort, serveGroupCheck, serveIdentity, servePeer } from "../../daemon/http/api/peers.ts";
import { newExchange } from "../../daemon/http/exchange/exchange.ts";
import type { PeerReceiver } from "../../daemon/peers/transport.ts";
import type { Files } from "../../platform/files.ts";
import { refuse } from "../../platform/http/answer.ts";
import type { Log } from "../../platform/log.ts";
import type { Network } from "../../platform/network.ts";
import type { ProjectFiles } from "../../platform/project-files.ts";
import { Refusal } from "../../shared/errors.ts";
import { API_PREFIX } from "../../shared/names.ts";
import type { Caller } from "../../shared/operations/caller.ts";
import type { ArgumentsOf, OperationName, ResultOf } from "../../shared/operations/registry.ts";

import { type Chance, SeededRandom } from "../support/chance.ts";
import { homeAt, MESSAGING, NO_PROCESSES, type Parts, startServices, USER } from "../support/services.ts";

import type { Tree } from "./crash-states.ts";
import { served, type WebAnswer, type WebRequest } from "./exchange.ts";
import { type Call, SimulatedFiles } from "./files.ts";
import { type Host, machineAddress, type SimulatedNetwork } from "./network.ts";
import { originOf, type SimulatedWeb } from "./web.ts";
import { SimulatedClock, type Wall, type World } from "./world.ts";

const ROOT = "/home";

/** What stands between the services and the world, to put a fault in. */
export interface Mutation {
  files?: (files: Files) => Files;
}

/** How an operation ended: with nobody there to tell, when the daemon was killed meanwhile. */
export type Outcome<Name extends OperationName> =
  | { kind: "done"; result: ResultOf<Name> }
  | { kind: "refused"; refusal: Refusal }
  | { kind: "lost" };

const SIMULATED = [...MESSAGING, "receiver", "direct", "peers", "directListener"] as const;
const WITH_ACCOUNT = [...SIMULATED, "account"] as const;

/** What others ask of the Web listener, by path. */
const PEER_ROUTES: Readonly<
  Record<string, (endpoint: PeerPort, exchange: ReturnType<typeof newExchange>) => unknown>
> = {
  [`${API_PREFIX}/connect/identity`]: serveIdentity,
  [`${API_PREFIX}/connect/group-check`]: serveGroupCheck,
  [`${API_PREFIX}/connect/peer`]: servePeer,
};

/** One run of a daemon, from its start to its end. */
export class Run implements Host {
  readonly machine: string;
  readonly public_key: string;
  readonly clock: SimulatedClock;
  readonly files: SimulatedFiles;
  isOver = false;
  isReachable = true;
  /** Null until it has started. */
  supervisor: Supervisor<Parts> | null = null;

  /** Null until it has started. */
  get services(): Parts | null {
    return this.supervisor?.parts ?? null;
  }

  constructor(machine: string, publicKey: string, clock: SimulatedClock, files: SimulatedFiles) {
    this.machine = machine;
    this.public_key = publicKey;
    this.clock = clock;
    this.files = files;
  }
}

/**
 * With what a connection may hold it up before it ends, less than the 90 s after which nothing is
 * under way any more.
 */
const LATE_MS = 30_000;
/** Calls that may want room on the disk. */
const GROWING: ReadonlySet<Call["name"]> = new Set(["create", "mkdir", "write", "sync"]);

export class SimulatedDaemon {
  readonly name: string;
  readonly world: World;
  readonly network: SimulatedNetwork;
  readonly wall: Wall = { offset: 0 };
  readonly #chance: Chance;
  readonly #disk: Chance;
  readonly #mutation: Mutation;
  /** Where there are accounts, the way to the account service and to origins of others. */
  readonly #web: SimulatedWeb | null;
  identity!: InstanceIdentity;
  tree: Tree = { directories: [ROOT, dirname(homePaths(ROOT).membership)], files: new Map() };
  run: Run | null = null;
  /** True times at which the last run began, and at which each one ended. */
  startedAt = 0;
  readonly ends: number[] = [];
  /** Without power: nothing answers. */
  isDark = false;
  isDiskFull = false;
  /** Of a call that changes something. */
  diskFailures = 0;
  /** How often a sync takes its time. */
  slowSyncs = 0.02;
  /** How often a request comes late, and again. */
  copies = 0;
  /** Called once, when a request was answered and nobody has heard the answer. */
  ambush: (() => void) | null = null;
  runs = 0;
  readonly log: string[] = [];

  constructor(
    world: World,
    { network, web }: { network: SimulatedNetwork; web: SimulatedWeb | null },
    name: string,
    mutation: Mutation,
  ) {
    this.name = name;
    this.world = world;
    this.network = network;
    this.#mutation = mutation;
    this.#web = web;
    web?.add(name, {
      host: () => (this.services === null ? null : this.run),
      isDark: () => this.isDark,
      copies: () => this.copies,
      answer: (request) => this.#serve(request),
    });
    this.#chance = world.chance.stream(`daemon ${name}`);
    this.#disk = world.chance.stream(`disk ${name}`);
  }

  get address(): string {
    return `${machineAddress(this.name)}:8847`;
  }

  get instance_id(): string {
    return this.identity.instance_id;
  }

  /** The services of a run that has started. */
  get services(): Parts | null {
    return this.run?.services ?? null;
  }

  async begin(): Promise<void> {
    const files = new SimulatedFiles(this.tree);
    const random = new SeededRandom(this.#chance.stream("identity"));
    this.identity = await InstanceIdentity.obtain(files, random, homePaths(ROOT).identity);
    this.tree = files.tree();
  }

  /** Starts a run over what the disk holds. Rejects when that is refused. */
  async start(): Promise<void> {
    const { world, identity } = this;
    this.runs += 1;
    this.startedAt = world.time;
    this.isDark = false;
    const files = new SimulatedFiles(this.tree);
    const clock = new SimulatedClock(world, this.wall);
    const run = new Run(this.name, identity.public_key, clock, files);
    this.run = run;
    files.fault = (call) => (run.isOver ? null : this.#faultOf(call));
    files.later = (task) => {
      const done = (): void => {
        if (!run.isOver) task();
      };
      if (this.#disk.happens(this.slowSyncs)) world.after(this.#disk.duration(1, 5000), done);
      else world.turns.put(done);
    };
    try {
      const supervisor = await this.#start(run);
      if (run.isOver) return;
      run.supervisor = supervisor;
    } catch (error) {
      if (run.isOver) return;
      this.end("power");
      throw error;
    }
  }

  #faultOf(call: Call): string | null {
    if (this.isDiskFull && GROWING.has(call.name)) return "ENOSPC";
    if (this.diskFailures > 0 && GROWING.has(call.name) && this.#disk.happens(this.diskFailures))
      return "EIO";
    return null;
  }

  /**
   * The run ends at once: its process is killed and the disk keeps what was written, or its machine
   * loses its power and what wasn't synced may be lost.
   */
  end(how: "killed" | "power"): void {
    const { run } = this;
    if (run === null || run.isOver) return;
    this.tree = how === "killed" ? run.files.tree() : this.#afterPowerCut(run.files);
    run.isOver = true;
    run.isReachable = how === "killed";
    run.clock.isOver = true;
    this.isDark = how === "power";
    this.run = null;
    this.ends.push(this.world.time);
    this.network.gone(run);
  }

  #afterPowerCut(files: SimulatedFiles): Tree {
    const style = this.#disk.one(["none", "all", "beginning", "any", "names", "data"] as const);
    let left = this.#disk.between(0, 6);
    return files.crashState((kind) => {
      left -= 1;
      switch (style) {
        case "none":
          return false;
        case "all":
          return true;
        case "beginning":
          return left >= 0;
        case "any":
          return this.#disk.happens(0.5);
        case "names":
          return kind === "name";
        case "data":
          return kind === "data";
      }
    });
  }

  /** An orderly stop; a disk that fails at its end changes nothing. */
  async stop(): Promise<void> {
    const { run } = this;
    if (run === null || run.supervisor === null) return this.end("killed");
    try {
      await run.supervisor.stop();
    } catch (error) {
      this.log.push(`stopped with errors: ${String(error)}`);
    }
    if (!run.isOver) this.end("killed");
  }

  async call<Name extends OperationName>(
    name: Name,
    input: ArgumentsOf<Name>,
    as: Caller = USER,
  ): Promise<Outcome<Name>> {
    const { run } = this;
    const services = run?.services ?? null;
    if (run === null || services === null) return { kind: "lost" };
    const call = { caller: as, signal: new AbortController().signal, requestId: "r" };
    const outcome = await services.operations.call(name, input, call);
    if (run.isOver) return { kind: "lost" };
    if (outcome.ok) return { kind: "done", result: outcome.result as ResultOf<Name> };
    if (outcome.error.code === "internal_error") throw new Error(`internal error: ${this.log.at(-1)}`);
    return { kind: "refused", refusal: outcome.refusal };
  }

  /**
   * Requests overtake each other on their way, and some come twice, the second time perhaps to a
   * later run.
   */
  #late(receiver: PeerReceiver): PeerReceiver {
    const later = (): Promise<void> =>
      new Promise((resolve) => void this.world.after(this.#chance.duration(1, LATE_MS), resolve));
    return {
      receive: async (request, arrival) => {
        if (this.#chance.happens(this.copies)) {
          const again = async (): Promise<void> => {
            await later();
            await this.services?.receiver.receive(request, arrival).catch(() => undefined);
          };
          if (this.#chance.happens(0.7)) void again();
          if (this.#chance.happens(0.7)) await later();
        }
        const answer = await receiver.receive(request, arrival);
        this.#answered();
        return answer;
      },
      refuse: (broken, arrival) => receiver.refuse(broken, arrival),
    };
  }

  #answered(): void {
    const { ambush } = this;
    this.ambush = null;
    ambush?.();
  }

  /** A request to the Web listener, as its routes for other instances answer it. */
  async #serve(request: WebRequest): Promise<WebAnswer> {
    const { run, services } = this;
    const route = PEER_ROUTES[request.url.pathname];
    const answer = await served((asked, response) => {
      const exchange = newExchange(asked, response, "r");
      const serve = async (): Promise<void> => {
        if (route === undefined || services === null) throw new Refusal("not_found");
        await route(services.account.endpoint, exchange);
      };
      serve().catch((error: unknown) => {
        if (error instanceof Refusal) refuse(asked, response, error, "r");
        else this.log.push(`a request failed: ${String(error)}`);
      });
    }, request);
    // With its process the answer is gone.
    if (run?.isOver !== false) return new Promise(() => {});
    if (route === servePeer) this.#answered();
    return run.isOver ? new Promise(() => {}) : answer;
  }

  /**
   * The daemon's own services over this machine, but for those that run processes or serve people.
   */
  async #start(run: Run): Promise<Supervisor<Parts>> {
    const { clock } = run;
    const files = this.#mutation.files?.(run.files) ?? run.files;
    const random = new SeededRandom(this.#chance.stream(`run ${this.runs}`));
    const note = (event: string, fields?: object): void => {
      if (!run.isOver) this.log.push(`${event} ${JSON.stringify(fields ?? {})}`);
    };
    const log: Log = { debug: () => {}, info: () => {}, warn: note, error: note };
    return startServices(
      {
        files,
        clock,
        random,
        projects: NO_PROJECTS,
        log,
        home: {
          ...(await homeAt(ROOT, files, this.#web === null ? null : originOf(this.name))),
          identity: this.identity,
        },
        ...(this.#web !== null && { http: this.#web.clientOf(run), environment: {} }),
        program: ["svc"],
        links: this.network.linksOf(run),
        network: {
          interfaces: () => [{ name: "eth0", address: machineAddress(this.name), internal: false }],
        } as unknown as Network,
        hostname: `machine-${this.name}`,
        ledgerLimits: { extendBytes: 8 * 1024 },
      },
      {
        only: this.#web === null ? SIMULATED : WITH_ACCOUNT,
        instead: {
          ...NO_PROCESSES,
          receiver: (parts) => {
            const { part, ...made } = createReceiver(parts);
            return { ...made, part: { ...part, ...this.#late(part) } };
          },
        },
      },
    );
  }
}

const NO_PROJECTS: ProjectFiles = {
  canonical: () => null,
  isDirectory: () => false,
  ownFolder: () => "/",
  folders: async () => ({ names: [], more: false }),
  gitOrigin: () => null,
  isSamePlace: () => false,
  openBelow: (root) => {
    throw Object.assign(new Error(`ENOENT: ${root}`), { code: "ENOENT" });
  },
};
