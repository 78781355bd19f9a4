/**
 * What ledger tests share: a clock and randomness that repeat themselves, a projection that counts,
 * ready options.
 */

import { Ledger } from "../../daemon/ledger/ledger.ts";
import type {
  EventHead,
  LedgerLimits,
  LedgerOptions,
  NewEvent,
  Projection,
} from "../../daemon/ledger/types.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Files } from "../../platform/files.ts";
import type { Random } from "../../platform/random.ts";
import { RealClock } from "../../platform/real-clock.ts";
import type { ChatMessage, LedgerEvent } from "../../shared/events.ts";
import { Chance, SeededRandom } from "../support/chance.ts";
import { chatMessage, textOf } from "../support/events.ts";
import { ManualClock } from "../support/manual-clock.ts";

export const GROUP = "g_0123456789ab";

/** For this one a slice of work is over after two looks. */
export class HastyClock extends RealClock {
  #looks = 0;

  override monotonic(): number {
    this.#looks += 1;
    return this.#looks;
  }
}

/** How many turns the event loop makes while `work` goes on. */
export async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  const count = (): void => {
    turns += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  await work();
  clearImmediate(next);
  return turns;
}

/**
 * Texts by sender, and replies per event: order and content of everything it saw show in its
 * checkpoint.
 */
export class Tally implements Projection {
  readonly name: string = "tally";
  readonly version: number = 1;
  seen: [number, string, string, string | undefined][] = [];

  wants(kind: string): boolean {
    return kind === "chat.message" || kind === "mail.read";
  }

  apply(event: EventHead, ordinal: number): void {
    this.seen.push([
      ordinal,
      event.id,
      event.by,
      event.string("reply_to") ?? JSON.stringify(event.data["to"]),
    ]);
  }

  reset(): void {
    this.seen = [];
  }

  checkpoint(): Uint8Array {
    return Buffer.from(JSON.stringify(this.seen));
  }

  restore(bytes: Uint8Array): void {
    this.seen = JSON.parse(Buffer.from(bytes).toString("utf8")) as Tally["seen"];
  }

  fresh(): Tally {
    return new Tally();
  }
}

/** The key of a message is who said it and the `client_id`. */
export function keyOf(event: EventHead): string | undefined {
  const clientId = event.kind === "chat.message" ? event.string("client_id") : undefined;
  return clientId === undefined ? undefined : `${event.by}\n${clientId}`;
}

export function message(
  text: string,
  more: Partial<ChatMessage> = {},
  by = "user",
): NewEvent<"chat.message"> {
  const data = chatMessage({ to: ["a"], to_generations: { a: "1" }, text, ...more });
  const { client_id: clientId } = more;
  return {
    kind: "chat.message",
    scope_key: "",
    by,
    data,
    ...(clientId === undefined ? {} : { key: `${by}\n${clientId}` }),
  };
}

export interface Setting {
  deps: { files: Files; clock: Clock; random: Random };
  directory: string;
  options: LedgerOptions;
  tally: Tally;
  /** Opens with a projection of its own. */
  open: () => Promise<Ledger>;
}

export function setting(
  files: Files,
  directory: string,
  limits: Partial<LedgerLimits> = {},
  random: Random = new SeededRandom(new Chance("ledger")),
): Setting {
  const deps = { files, clock: new ManualClock({ tick: 1 }), random };
  const made: Setting = {
    deps,
    directory,
    tally: new Tally(),
    options: { group_id: GROUP, projections: [], keyOf, limits },
    open() {
      made.tally = new Tally();
      made.options = { ...made.options, projections: [made.tally] };
      return Ledger.open(deps, directory, made.options);
    },
  };
  return made;
}

/** Every event, oldest first. */
export function all(ledger: Ledger): LedgerEvent[] {
  return ledger.readMany(Array.from({ length: ledger.count }, (_, ordinal) => ordinal));
}

export function texts(ledger: Ledger): string[] {
  return all(ledger).map((event) => textOf(event) ?? "");
}
