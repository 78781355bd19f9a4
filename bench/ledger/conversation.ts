/**
 * A Group as it grows in use: four Actors and the person write, take, accept and read messages;
 * with the projection that the daemon has.
 */
import { Ledger } from "../../daemon/ledger/ledger.ts";
import type { NewEvent } from "../../daemon/ledger/types.ts";
import { messageData } from "../../daemon/messaging/messages/message-event.ts";
import { keyOf, messageKey } from "../../daemon/messaging/projection/message-keys.ts";
import { MessageProjection } from "../../daemon/messaging/projection/projection.ts";
import { RealClock } from "../../platform/real-clock.ts";
import { RealFiles } from "../../platform/real-files.ts";
import { RealRandom } from "../../platform/real-random.ts";
import type { MessageMode } from "../../shared/model.ts";
import { BATCH_EVENTS, textOf } from "./setting.ts";

const ACTORS = ["builder", "reviewer", "planner", "tester"];
const PEOPLE = ["user", ...ACTORS];
const SCOPE = "s_0123456789ab";

const random = new RealRandom();

function newId(): string {
  return random.uuid().replaceAll("-", "");
}

/** Numbers below `limit` in an order that every run repeats. */
function dice(): (limit: number) => number {
  let state = 12345;
  return (limit) => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state >>> 8) % limit;
  };
}

/** The next event, again and again. */
class Conversation {
  readonly #roll = dice();
  readonly #generations = new Map(ACTORS.map((actor) => [actor, random.uuid()]));
  /** What waits, by recipient: Mail and the person's messages, and direct messages to Actors. */
  readonly #unread = new Map<string, string[]>(PEOPLE.map((name) => [name, []]));
  readonly #pending = new Map<string, string[]>(ACTORS.map((name) => [name, []]));
  readonly #asked: { id: string; by: string; to: string }[] = [];
  readonly #deliveries: NewEvent[] = [];
  #number = 0;
  #last = "";

  next(): NewEvent {
    this.#number += 1;
    if (this.#deliveries.length === 0) this.#deliver();
    const delivery = this.#deliveries.shift();
    if (delivery !== undefined) return delivery;
    return (this.#roll(16) === 0 ? this.#read() : null) ?? this.#message();
  }

  /** One who has several direct messages takes and accepts them. */
  #deliver(): void {
    for (const [actorId, waiting] of this.#pending) {
      if (waiting.length < 3) continue;
      const batchId = random.uuid();
      const taken = waiting.splice(0);
      for (const state of ["claimed", "accepted"] as const) {
        for (const sourceEventId of taken) {
          const actorGeneration = this.#generations.get(actorId) ?? "";
          const about = {
            actor_id: actorId,
            actor_generation: actorGeneration,
            source_event_id: sourceEventId,
            delivery_id: random.uuid(),
            state,
          };
          const data = { ...about, transport: "external" as const, reason: "", batch_id: batchId };
          this.#deliveries.push({ kind: "runtime.delivery", scope_key: SCOPE, by: "system", data });
        }
      }
    }
  }

  /** Someone reads everything, if there is anything. */
  #read(): NewEvent | null {
    const actorId = PEOPLE[this.#roll(PEOPLE.length)]!;
    const eventId = this.#unread.get(actorId)!.splice(0).at(-1);
    if (eventId === undefined) return null;
    const actorGeneration = this.#generations.get(actorId);
    const data = {
      actor_id: actorId,
      ...(actorGeneration === undefined ? {} : { actor_generation: actorGeneration }),
      event_id: eventId,
    };
    return { kind: "mail.read", scope_key: SCOPE, by: actorId, data };
  }

  #message(): NewEvent {
    const asked = this.#roll(3) === 0 ? this.#asked.shift() : undefined;
    const by = asked?.to ?? PEOPLE[this.#roll(PEOPLE.length)]!;
    const to = asked === undefined ? this.#recipients(by) : [asked.by];
    const replyTo = asked?.id ?? (this.#roll(5) === 0 && this.#last !== "" ? this.#last : undefined);
    let mode: MessageMode = by === "user" || to.includes("user") ? "send" : "mail";
    if (replyTo === undefined && this.#roll(25) === 0) mode = "request_reply";
    const id = newId();
    for (const name of to) {
      (mode === "mail" || name === "user" ? this.#unread : this.#pending).get(name)!.push(id);
      if (mode === "request_reply") this.#asked.push({ id, by, to: name });
    }
    this.#last = id;
    const generation = this.#generations.get(by);
    const author = { by, title: by, ...(generation === undefined ? {} : { generation }) };
    const clientId = this.#roll(2) === 0 ? random.uuid() : undefined;
    const text = `${textOf(this.#number)} ${textOf(this.#number + 7)}`.repeat(1 + this.#roll(3));
    const data = messageData({
      mode,
      audience: { to, to_generations: this.#generationsOf(to) },
      author,
      said: { text, format: "markdown", attachments: [], paths: [], refs: [], client_id: clientId },
      attachments: [],
      reply_to: replyTo,
      digest: clientId === undefined ? undefined : "0f".repeat(32),
    });
    const key = clientId === undefined ? {} : { key: messageKey(author, clientId) };
    return { id, kind: "chat.message", scope_key: SCOPE, by, data, ...key };
  }

  #recipients(by: string): string[] {
    const others = PEOPLE.filter((name) => name !== by);
    if (this.#roll(10) < 7) return [others[this.#roll(others.length)]!];
    const actors = others.filter((name) => name !== "user");
    return this.#roll(2) === 0 ? actors : actors.slice(this.#roll(actors.length));
  }

  #generationsOf(to: readonly string[]): Record<string, string> {
    const known = to.map((name) => [name, this.#generations.get(name)] as const);
    return Object.fromEntries(known.filter((entry): entry is [string, string] => entry[1] !== undefined));
  }
}

/** The ledger of a Group, as the daemon opens it. */
export function openGroup(directory: string): Promise<Ledger> {
  const deps = {
    files: new RealFiles(),
    clock: new RealClock(),
    random,
  };
  return Ledger.open(deps, directory, {
    group_id: "g_0123456789ab",
    projections: [new MessageProjection()],
    keyOf,
  });
}

/** A closed ledger of this many events in `directory`. */
export async function fillGroup(directory: string, events: number): Promise<void> {
  const ledger = await openGroup(directory);
  const conversation = new Conversation();
  for (let from = 0; from < events; from += BATCH_EVENTS) {
    const count = Math.min(BATCH_EVENTS, events - from);
    await ledger.appendAll(Array.from({ length: count }, () => conversation.next()));
  }
  await ledger.compact();
  await ledger.close();
}
