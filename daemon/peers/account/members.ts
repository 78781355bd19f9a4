/**
 * Which instances of the account this one has seen, and who joined since a person last looked
 * (`state/connect/instances.json`). Someone who got a device linked by a trick is seen here,
 * however long this instance was off in between.
 */
import * as z from "zod";
import { type Clock, timestamp } from "../../../platform/clock.ts";
import { JsonDocument } from "../../../platform/documents.ts";
import type { Files } from "../../../platform/files.ts";
import { errorFields, type Log } from "../../../platform/log.ts";
import { HomeProblem } from "../../../platform/problem.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { Directory } from "../../../shared/wire/v1/account.ts";
import type { Binding } from "./membership.ts";

const Seen = z.object({ device_id: z.string(), since: z.string() });
const Joined = z.object({
  device_id: z.string(),
  instance_id: z.string(),
  name: z.string(),
  at: z.string(),
  /** It is no longer in the account. */
  retired: z.boolean(),
});
const Document = z.object({
  account_origin: z.string(),
  /** This instance's own: a new link begins anew. */
  device_id: z.string(),
  seen: z.array(Seen),
  /** Newest last. */
  joined: z.array(Joined),
});
type Document = z.infer<typeof Document>;
export type Joined = z.infer<typeof Joined>;

interface Dependencies {
  files: Files;
  clock: Clock;
  log: Log;
  path: string;
}

export class AccountMembers {
  readonly #deps: Dependencies;
  #document: JsonDocument<Document> | null;
  /** Why the file can't be read, in words. It stays as it is then, and no one is announced. */
  readonly problem: string | null;

  private constructor(deps: Dependencies, document: JsonDocument<Document> | null, problem: string | null) {
    this.#deps = deps;
    this.#document = document;
    this.problem = problem;
  }

  static async open(deps: Dependencies): Promise<AccountMembers> {
    try {
      return new AccountMembers(deps, await JsonDocument.read(options(deps)), null);
    } catch (error) {
      if (!(error instanceof HomeProblem)) throw error;
      return new AccountMembers(deps, null, error.message);
    }
  }

  /** Who joined since a person last looked, newest last. */
  joined(binding: Binding | null): readonly Joined[] {
    return this.#of(binding)?.joined ?? [];
  }

  /** Since when this instance knows the device; null if it doesn't. */
  since(binding: Binding | null, deviceId: string): string | null {
    return this.#of(binding)?.seen.find((one) => one.device_id === deviceId)?.since ?? null;
  }

  /**
   * Takes what the account service confirmed for this binding. Whoever is there at the first time
   * didn't join. A failure is logged: the next directory tells the same.
   */
  async take(binding: Binding, directory: Directory, isCurrent: () => boolean): Promise<void> {
    if (this.problem !== null) return;
    const { clock, log } = this.#deps;
    const now = timestamp(clock);
    const first: Document = {
      account_origin: binding.account_origin,
      device_id: binding.device_id,
      seen: directory.instances.map(({ device_id: deviceId }) => ({ device_id: deviceId, since: now })),
      joined: [],
    };
    try {
      if (this.#document === null) this.#document = await JsonDocument.create(options(this.#deps), first);
      else
        await this.#document.update((value) => {
          if (!isCurrent()) return value;
          return isOf(value, binding) ? next(value, directory, now) : first;
        });
    } catch (error) {
      log.warn("account_members", errorFields(error));
    }
  }

  /** A person has seen that these joined. Throws storage_full, storage_failed. */
  async acknowledge(binding: Binding | null, deviceIds: readonly string[]): Promise<void> {
    await this.#document?.update((value) => {
      const joined = value.joined.filter(({ device_id: deviceId }) => !deviceIds.includes(deviceId));
      const isSame = binding === null || !isOf(value, binding) || joined.length === value.joined.length;
      return isSame ? value : { ...value, joined };
    });
  }

  #of(binding: Binding | null): Readonly<Document> | null {
    const value = this.#document?.value;
    return binding !== null && value !== undefined && isOf(value, binding) ? value : null;
  }
}

function next(value: Readonly<Document>, { instances }: Directory, now: string): Document {
  const since = new Map(value.seen.map((one) => [one.device_id, one.since]));
  const byDevice = new Map(instances.map((entry) => [entry.device_id, entry]));
  const earlier = value.joined.map((one) => {
    const entry = byDevice.get(one.device_id);
    // It names itself right after it has joined.
    return entry === undefined ? { ...one, retired: true } : { ...one, name: entry.display_name };
  });
  const announced = new Set(earlier.map((one) => one.device_id));
  const joined = instances
    .filter(({ device_id: deviceId }) => !since.has(deviceId) && !announced.has(deviceId))
    .map((entry) => ({
      device_id: entry.device_id,
      instance_id: entry.instance_id,
      name: entry.display_name,
      at: now,
      retired: false,
    }));
  const after: Document = {
    ...value,
    seen: instances.map(({ device_id: deviceId }) => ({
      device_id: deviceId,
      since: since.get(deviceId) ?? now,
    })),
    joined: [...earlier, ...joined].slice(-LIMITS.link.joined),
  };
  return JSON.stringify(after) === JSON.stringify(value) ? value : after;
}

function options({ files, path }: Dependencies) {
  return { files, path, version: 1, schema: Document };
}

function isOf(value: Readonly<Document>, binding: Binding): boolean {
  return value.account_origin === binding.account_origin && value.device_id === binding.device_id;
}
