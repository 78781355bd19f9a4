/**
 * Whether the message that is being written answers a request
 * (docs/interface.md#the-composer-never-loses-a-letter). To the one who asks, it does unless the
 * person says otherwise, and that is decided as the message is begun: a request that comes later is
 * only offered.
 */
import type { MessageEvent as Message } from "../../shared/events.ts";
import { type Draft, isBlank } from "./draft.ts";
import { addressedBy } from "./mention.ts";
import type { OpenGroup } from "./open-group.ts";
import type { OpenRequests } from "./open-requests.ts";
import { addressed } from "./send-plan.ts";

type Known = Pick<OpenGroup, "actors" | "group" | "loaded">;

export class Answering {
  readonly #group: Known;
  readonly #requests: Pick<OpenRequests, "list" | "loaded">;
  /** The request that the draft answers without the person having chosen it. */
  #bound: string | null = null;
  /** The person wants a new message. */
  #declined = false;
  /** It was begun before anyone knew what is open. */
  #early = false;

  constructor(group: Known, requests: Pick<OpenRequests, "list" | "loaded">) {
    this.#group = group;
    this.#requests = requests;
  }

  /** The message that the draft answers, or would if it were begun now. */
  of(draft: Readonly<Draft>): string | null {
    if (draft.replyTo !== null || !isBlank(draft) || this.#declined) return draft.replyTo;
    return this.#candidate(draft)?.id ?? null;
  }

  /** It answers because of whom it goes to. */
  isOffered(draft: Readonly<Draft>): boolean {
    return draft.replyTo === null || draft.replyTo === this.#bound;
  }

  /** A draft that wasn't begun is a new message. */
  decline(): void {
    this.#declined = true;
  }

  /** The draft after the person changed it. */
  settle(next: Draft, before: Readonly<Draft>): Draft {
    const isBegun = !isBlank({ ...next, replyTo: null });
    const wasBegun = !isBlank({ ...before, replyTo: null });
    if (next.replyTo !== null && next.replyTo !== this.#bound) {
      this.#bound = null;
      this.#declined = false;
      return next;
    }
    if (!isBegun) {
      if (wasBegun) this.#declined = false;
      this.#early = false;
      return this.#free(next);
    }
    if (wasBegun && before.replyTo !== null && next.replyTo === null) this.decline();
    if (this.#declined) return this.#free(next);
    if (wasBegun && this.#asked(next) === this.#asked(before)) return next;
    this.#early = !this.#isKnown;
    return this.#bind(next);
  }

  /** What is open is known now: a draft that was begun before gets its due. */
  late(draft: Draft): Draft {
    if (!this.#early || !this.#isKnown) return draft;
    this.#early = false;
    return draft.replyTo === null && !this.#declined ? this.#bind(draft) : draft;
  }

  get #isKnown(): boolean {
    return this.#group.loaded && this.#requests.loaded;
  }

  #bind(draft: Draft): Draft {
    this.#bound = this.#candidate(draft)?.id ?? null;
    return draft.replyTo === this.#bound ? draft : { ...draft, replyTo: this.#bound, quote: null };
  }

  #free(draft: Draft): Draft {
    const isBound = draft.replyTo !== null && draft.replyTo === this.#bound;
    this.#bound = null;
    return isBound ? { ...draft, replyTo: null, quote: null } : draft;
  }

  /** The newest request of the only one who gets the draft. */
  #candidate(draft: Readonly<Draft>): Message | undefined {
    const asked = this.#asked(draft);
    return asked === null ? undefined : this.#requests.list.find(({ by }) => by === asked);
  }

  /** The only Actor who gets it; null for several, for another Group, and for what asks itself. */
  #asked(draft: Readonly<Draft>): string | null {
    const { to, elsewhere, remote } = addressedBy(draft, this.#group.actors);
    if (elsewhere !== null || remote !== null || draft.mode === "request_reply") return null;
    const { actors, group } = this.#group;
    const [only, ...others] = addressed({ to, actors, group });
    return only === undefined || others.length > 0 ? null : only.id;
  }
}
