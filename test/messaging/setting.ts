/**
 * What tests of messaging share: a real Home on disk with Groups, messaging and the dispatcher as
 * the daemon has them.
 */
import assert from "node:assert/strict";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Given } from "../../daemon/assembly/given.ts";
import type { Subset, Supervisor } from "../../daemon/assembly/supervisor.ts";
import type { LaunchTokens } from "../../daemon/groups/launch-tokens.ts";
import type { GroupRegistry } from "../../daemon/groups/registry.ts";
import type { InstanceIdentity } from "../../daemon/home/identity.ts";
import type { LedgerLimits } from "../../daemon/ledger/types.ts";
import type { MessagingLimits } from "../../daemon/messaging/group-chat.ts";
import type { Messaging } from "../../daemon/messaging/messaging.ts";
import type { Files } from "../../platform/files.ts";
import type { ProjectFiles } from "../../platform/project-files.ts";
import { RealFiles } from "../../platform/real-files.ts";
import { RealProjectFiles } from "../../platform/real-project-files.ts";
import { RealRandom } from "../../platform/real-random.ts";
import type { Refusal } from "../../shared/errors.ts";
import type { Caller } from "../../shared/operations/caller.ts";
import type { ArgumentsOf, OperationName, ResultOf } from "../../shared/operations/registry.ts";
import { MemoryLog } from "../operations/support.ts";
import { ManualClock } from "../support/manual-clock.ts";
import {
  callOperation,
  homeAt,
  MESSAGING,
  NO_PEERS,
  NO_PROCESSES,
  type Parts,
  startServices,
  USER,
} from "../support/services.ts";

export const BROWSER: Caller = { kind: "user", by: "user", via: "web", token_id: "t1" };

/**
 * A daemon's services over one Home. `kill` forgets it as a crash would; `TestHome.open` on the
 * same root starts again.
 */
export class TestHome {
  readonly root: string;
  readonly clock: ManualClock;
  readonly services: Parts;
  readonly log: MemoryLog;
  readonly #supervisor: Supervisor<Parts>;

  private constructor(parts: {
    root: string;
    clock: ManualClock;
    services: Supervisor<Parts>;
    log: MemoryLog;
  }) {
    this.root = parts.root;
    this.clock = parts.clock;
    this.#supervisor = parts.services;
    this.services = parts.services.parts;
    this.log = parts.log;
  }

  get registry(): GroupRegistry {
    return this.services.groups.registry;
  }

  get messaging(): Messaging {
    return this.services.messaging;
  }

  get launchTokens(): LaunchTokens {
    return this.services.access.launchTokens;
  }

  static async open(
    options: {
      root?: string;
      clock?: ManualClock;
      ledgerLimits?: Partial<LedgerLimits>;
      limits?: Partial<MessagingLimits>;
      files?: Files;
      projects?: ProjectFiles;
      identity?: InstanceIdentity;
      push?: Given["push"];
      /** Services above messaging, and what stands in for some. */
      above?: Subset<Given, Parts>;
    } = {},
  ): Promise<TestHome> {
    const root = options.root ?? fs.mkdtempSync(join(tmpdir(), "svc-messaging-"));
    const clock = options.clock ?? new ManualClock();
    const files = options.files ?? new RealFiles();
    const random = new RealRandom();
    const projects = options.projects ?? new RealProjectFiles(root);
    const log = new MemoryLog();
    const { above, identity } = options;
    const services = await startServices(
      {
        files,
        clock,
        random,
        projects,
        log,
        home: { ...(await homeAt(root, files)), ...(identity === undefined ? {} : { identity }) },
        program: ["svc"],
        checkOutputs: true,
        ledgerLimits: { extendBytes: 64 * 1024, ...options.ledgerLimits },
        ...(options.push === undefined ? {} : { push: options.push }),
        ...(options.limits === undefined ? {} : { messagingLimits: options.limits }),
      },
      {
        only: [...MESSAGING, ...(above?.only ?? [])],
        instead: { ...NO_PROCESSES, ...(above === undefined ? NO_PEERS : {}), ...above?.instead },
      },
    );
    return new TestHome({ root, clock, services, log });
  }

  async call<Name extends OperationName>(
    name: Name,
    input: ArgumentsOf<Name>,
    options: Parameters<typeof callOperation>[4] = {},
  ): Promise<ResultOf<Name>> {
    return (await callOperation(this.services, this.log, name, input, options)) as ResultOf<Name>;
  }

  /** A Group with these Actors, all enabled. */
  async group(...actors: string[]): Promise<string> {
    const group = await this.call("group_create", { title: "Test" });
    for (const actorId of actors)
      await this.call("actor_add", { group_id: group.group_id, actor_id: actorId });
    return group.group_id;
  }

  actor(groupId: string, actorId: string, session: string | null = "s1"): Caller & { kind: "actor" } {
    const { generation } = this.registry.get(groupId).actor(actorId);
    return { kind: "actor", by: actorId, group_id: groupId, actor_id: actorId, generation, session };
  }

  async send(groupId: string, text: string, more: Partial<ArgumentsOf<"send">> = {}, as: Caller = USER) {
    return this.call("send", { group_id: groupId, text, ...more }, { as });
  }

  /** The texts that a read hands out now. */
  async read(
    groupId: string,
    actorId: string,
    more: Partial<ArgumentsOf<"inbox_read">> = {},
    session = "s1",
  ) {
    const as = this.actor(groupId, actorId, session);
    const reading = await this.call("inbox_read", { group_id: groupId, ...more }, { as });
    return { ...reading, texts: textsOf(reading.messages.map(({ event }) => event)) };
  }

  async status(groupId: string, eventId: string) {
    const { statuses } = await this.call("ledger_statuses", { group_id: groupId, event_ids: [eventId] });
    const status = statuses[eventId];
    assert.ok(status !== undefined);
    return status;
  }

  /** What calls set going behind their answers (acknowledgements by a later call) is done. */
  async settled(): Promise<void> {
    for (const group of this.registry.list()) {
      for (const { id } of group.record.actors) {
        await this.messaging
          .get(group.group_id)
          .inbox(id)
          .inTurn(() => Promise.resolve());
      }
    }
  }

  async close(): Promise<void> {
    await this.#supervisor.stop();
  }

  /** Stops and starts the daemon's services; time goes on. */
  async restarted(files: Files = new RealFiles()): Promise<TestHome> {
    await this.close();
    return TestHome.open({ root: this.root, clock: this.clock, files });
  }

  async remove(): Promise<void> {
    await this.close();
    fs.rmSync(this.root, { recursive: true, force: true });
  }
}

export function textsOf(events: readonly { data: Record<string, unknown> }[]): unknown[] {
  return events.map(({ data }) => data.text ?? data.kind);
}

/** For `assert.rejects`. */
export function refusal(code: string, details: Record<string, unknown> = {}) {
  return (error: unknown): boolean => {
    const refused = error as Refusal;
    assert.equal(refused.code, code, refused.stack);
    for (const [name, value] of Object.entries(details)) assert.deepEqual(refused.details[name], value);
    return true;
  };
}
