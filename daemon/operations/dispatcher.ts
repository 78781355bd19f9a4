/**
 * The one way in (docs/architecture.md#rules): turns a name and raw arguments into an envelope. In
 * order: the operation, who may call it, its arguments, the caller's Groups, the permit, the
 * handler. Nothing here waits if it needn't.
 */

import type { Log } from "../../platform/log.ts";
import type { Mutex } from "../../platform/mutex.ts";
import { Refusal } from "../../shared/errors.ts";
import { type CallContext, type Caller, isAnybody } from "../../shared/operations/caller.ts";
import type { OperationContract } from "../../shared/operations/contract.ts";
import type { HandlersOf } from "../../shared/operations/handlers.ts";
import { failure, type Outcome } from "../../shared/operations/outcome.ts";
import { OPERATIONS, type OperationName } from "../../shared/operations/registry.ts";
import { invalidArguments, refusalOf } from "./failures.ts";
import { Permits } from "./permits.ts";
import { RECORDING } from "./recording.ts";

/** A call as its port knows it. */
export interface Call extends CallContext {
  /** Appears in the log and in the details of `internal_error`. */
  readonly requestId: string;
}

type AnyHandler = (input: unknown, context: CallContext) => unknown;

/** Outcomes since the start. */
export interface OperationCount {
  done: number;
  refused: number;
}

interface Entry extends OperationCount {
  contract: OperationContract;
}

export type ActorCaller = Extract<Caller, { kind: "actor" }>;

export interface DispatcherOptions {
  /** Read at each call, because services may join while the daemon starts. */
  handlers: Partial<HandlersOf<OperationName>>;
  log: Log;
  /** An open Group's permit; throws `group_not_found` or `group_unavailable`. */
  permitOf(groupId: string): Mutex;
  /** Throws `ledger_damaged` while nothing may be recorded in the Group. */
  checkWritable?(groupId: string): void;
  /**
   * Called for every call of an Actor before anything else: it keeps the Actor's session alive, and
   * the call is evidence.
   */
  touch?(caller: ActorCaller): void;
  /**
   * Why the caller's credential is no longer valid; null if it is. Checked before every call,
   * because a port may have waited for the request's body, and again after a call waited for its
   * permit.
   */
  lapsed?(caller: Caller): Refusal | null;
  /** Checks every result against its schema and fails loudly; for tests. */
  checkOutputs?: boolean;
}

export class Dispatcher {
  readonly #entries = new Map<string, Entry>();
  readonly #permits: Permits;
  readonly #log: Log;
  readonly #handlers: Partial<HandlersOf<OperationName>>;
  readonly #checkWritable: ((groupId: string) => void) | undefined;
  readonly #touch: ((caller: ActorCaller) => void) | undefined;
  readonly #lapsed: ((caller: Caller) => Refusal | null) | undefined;
  readonly #checkOutputs: boolean;

  constructor(options: DispatcherOptions) {
    this.#log = options.log;
    this.#handlers = options.handlers;
    this.#permits = new Permits((groupId) => options.permitOf(groupId));
    this.#checkWritable = options.checkWritable?.bind(options);
    this.#touch = options.touch?.bind(options);
    this.#lapsed = options.lapsed?.bind(options);
    this.#checkOutputs = options.checkOutputs ?? false;
    for (const [name, contract] of OPERATIONS) {
      this.#entries.set(name, { contract, done: 0, refused: 0 });
    }
  }

  /**
   * Never throws and never rejects. Returns a promise only if the handler or a permit has to wait.
   */
  call(name: string, raw: unknown, call: Call): Outcome | Promise<Outcome> {
    try {
      const lapsed = this.#lapsed?.(call.caller) ?? null;
      if (lapsed !== null) return this.#fail(name, lapsed, call);
      if (call.caller.kind === "actor") this.#touch?.(call.caller);
      const entry = this.#entries.get(name);
      if (entry === undefined) return failure(new Refusal("unknown_operation"));
      const { contract } = entry;
      const barred = barredFrom(contract, call.caller);
      if (barred !== null) return this.#fail(name, barred, call);
      const parsed = contract.input.safeParse(raw);
      if (!parsed.success) return this.#fail(name, invalidArguments(parsed.error), call);
      const groupId = (parsed.data as { group_id?: string }).group_id;
      if (groupId !== undefined && !mayEnter(call.caller, groupId)) {
        return this.#fail(name, foreignGroup(groupId), call);
      }
      if (groupId !== undefined && RECORDING.has(name)) this.#checkWritable?.(groupId);
      const permit = this.#permits.acquire(contract.lock, groupId);
      if (permit instanceof Promise) return this.#wait(entry, parsed.data, call, permit);
      return this.#run(entry, parsed.data, call, permit);
    } catch (error) {
      return this.#fail(name, error, call);
    }
  }

  /** Outcomes by operation since the start. */
  get counts(): ReadonlyMap<string, OperationCount> {
    return this.#entries;
  }

  /** Waiting calls are refused with `shutting_down`, and so are later ones that need a permit. */
  close(): void {
    this.#permits.close();
  }

  async #wait(entry: Entry, input: unknown, call: Call, permit: Promise<() => void>): Promise<Outcome> {
    try {
      const release = await permit;
      const lapsed = this.#lapsed?.(call.caller) ?? null;
      if (lapsed === null) return await this.#run(entry, input, call, release);
      release();
      return this.#fail(entry.contract.name, lapsed, call);
    } catch (error) {
      return this.#fail(entry.contract.name, error, call);
    }
  }

  #run(entry: Entry, input: unknown, call: Call, release: () => void): Outcome | Promise<Outcome> {
    let pending: unknown;
    try {
      const { name } = entry.contract;
      const handler = this.#handlers[name as OperationName] as AnyHandler | undefined;
      if (handler === undefined) throw new Error(`the operation ${name} has no handler`);
      pending = handler(input, call);
    } catch (error) {
      release();
      return this.#fail(entry.contract.name, error, call);
    }
    if (pending instanceof Promise) {
      return pending.then(
        (result: unknown) => {
          release();
          return this.#success(entry, result, call);
        },
        (error: unknown) => {
          release();
          return this.#fail(entry.contract.name, error, call);
        },
      );
    }
    release();
    return this.#success(entry, pending, call);
  }

  #success(entry: Entry, result: unknown, call: Call): Outcome {
    const { contract } = entry;
    if (this.#checkOutputs) {
      const checked = contract.output.safeParse(result);
      if (!checked.success) {
        const where = checked.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
        this.#log.error("output", { operation: contract.name, problems: where.join("; ") });
        return this.#fail(contract.name, new Error(`${contract.name} answers ${where.join("; ")}`), call);
      }
    }
    entry.done += 1;
    return { ok: true, result };
  }

  #fail(operation: string, error: unknown, call: Call): Outcome {
    const entry = this.#entries.get(operation);
    if (entry !== undefined) entry.refused += 1;
    return failure(refusalOf(error, this.#log, { operation, id: call.requestId }));
  }
}

/** Why this caller may not call the operation at all; null if it may. */
function barredFrom({ callers, decision }: OperationContract, caller: Caller): Refusal | null {
  if (!callers.includes(caller.kind)) {
    return caller.kind === "actor" ? onlyForPeople(caller) : new Refusal("permission_denied");
  }
  return decision ? undecided(caller) : null;
}

function onlyForPeople({ actor_id: actorId, descends }: ActorCaller): Refusal {
  const specifics = descends
    ? `Only a person may do this, and this process was started by the Actor '${actorId}'.`
    : "Only a person may do this, not an Actor.";
  return new Refusal("permission_denied", { specifics, details: { actor_id: actorId } });
}

/** Why the caller can't decide as the user; null if it can, or doesn't speak as the user. */
export function undecided(caller: Caller): Refusal | null {
  if (!isAnybody(caller)) return null;
  return new Refusal("permission_denied", {
    specifics: "Only a person may do this, and svc can't tell that one asks.",
    remedy: "Do it in the Workbench, in the editor, or in a terminal of your own.",
  });
}

/** Whether a caller is a person who can do something about what waits. */
export function isPerson({ kind }: Caller): boolean {
  return kind === "user" || kind === "member";
}

/**
 * Whether a caller's credential reaches this Group at all. A Group out of reach answers like one
 * that doesn't exist, whether or not it exists, so that nothing can be probed.
 */
export function mayEnter(caller: Caller, groupId: string): boolean {
  switch (caller.kind) {
    case "user":
      return true;
    case "actor":
      return caller.group_id === groupId;
    case "member":
    case "exhibit":
      return caller.groups.has(groupId);
  }
}

export function foreignGroup(groupId: string): Refusal {
  return new Refusal("group_not_found", { details: { group_id: groupId } });
}
