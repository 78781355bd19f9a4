/**
 * What the open Group's agents ask their person and what can be answered here. Read again whenever
 * the Group's Actors were read and one of them has a question.
 */
import type { Question } from "../../shared/operations/questions.ts";
import type { ArgumentsOf } from "../../shared/operations/registry.ts";
import { Store } from "../controls/store.ts";
import type { Host } from "../hosts/host.ts";
import type { OpenGroup } from "./open-group.ts";

export type Answer = Omit<ArgumentsOf<"actor_answer">, "group_id">;

/** What the person has begun to answer to one of the questions that an agent asks together. */
export interface Begun {
  /** The options that are chosen. */
  labels: readonly string[];
  /** The person's own words. */
  words: string;
}

export class OpenQuestions extends Store {
  readonly #host: Pick<Host, "call" | "page">;
  readonly #group: OpenGroup;
  #list: readonly Question[] = [];
  #seen: OpenGroup["actors"] = [];
  #reading = 0;
  /** What was begun, by question. */
  #kept: Readonly<Record<string, unknown>>;

  constructor(host: Pick<Host, "call" | "page">, group: OpenGroup) {
    super();
    this.#host = host;
    this.#group = group;
    const kept = host.page.get(this.#key);
    this.#kept = typeof kept === "object" && kept !== null ? { ...kept } : {};
    group.subscribe(() => {
      if (!group.loaded || group.actors === this.#seen) return;
      this.#seen = group.actors;
      void this.#read();
    });
  }

  /** Oldest first. */
  get list(): readonly Question[] {
    return this.#list;
  }

  of(actorId: string): readonly Question[] {
    return this.#list.filter(({ actor_id: id }) => id === actorId);
  }

  /** One for each of the questions that are asked together. Lasts over reloads of the page. */
  begun({ question_id: id, choices }: Question): readonly Begun[] {
    const kept = this.#kept[id];
    return choices.map((_choice, at) => readBegun(Array.isArray(kept) ? kept[at] : null));
  }

  begin({ question_id: id }: Question, begun: readonly Begun[]): void {
    this.#keep({ ...this.#kept, [id]: begun });
  }

  /** Throws `HostError`. The question is gone from here in any case, if it isn't open any more. */
  async answer(answer: Answer): Promise<void> {
    try {
      await this.#host.call("actor_answer", { ...answer, group_id: this.#group.groupId });
      this.#put(this.#list.filter(({ question_id: id }) => id !== answer.question_id));
    } finally {
      await this.#read();
    }
  }

  async #read(): Promise<void> {
    const reading = ++this.#reading;
    if (!this.#seen.some(({ presence }) => (presence.questions ?? 0) > 0)) {
      this.#put([]);
      return;
    }
    try {
      const { questions } = await this.#host.call("actor_questions", { group_id: this.#group.groupId });
      if (reading === this.#reading) this.#put(questions);
    } catch {
      // The connection shows that. Its return reads the Group again.
    }
  }

  get #key(): string {
    return `answers/${this.#group.groupId}`;
  }

  #keep(kept: Readonly<Record<string, unknown>>): void {
    this.#kept = kept;
    this.#host.page.set(this.#key, Object.keys(kept).length === 0 ? null : kept);
  }

  #put(list: readonly Question[]): void {
    const all = Object.entries(this.#kept);
    const open = all.filter(([id]) => list.some(({ question_id: one }) => one === id));
    if (open.length < all.length) this.#keep(Object.fromEntries(open));
    if (list.length === 0 && this.#list.length === 0) return;
    this.#list = list;
    this.changed();
  }
}

function readBegun(kept: unknown): Begun {
  const { labels, words } = (kept ?? {}) as Record<string, unknown>;
  return {
    labels: Array.isArray(labels) ? labels.filter((one) => typeof one === "string") : [],
    words: typeof words === "string" ? words : "",
  };
}
