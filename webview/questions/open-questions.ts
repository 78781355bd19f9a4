/**
 * What the open Group's agents ask their person and what can be answered here. Read again whenever
 * the Group's Actors were read and one of them has a question.
 */
import type { Question } from "../../shared/operations/questions.ts";
import type { ArgumentsOf } from "../../shared/operations/registry.ts";
import { Store } from "../controls/store.ts";
import type { OpenGroup } from "../groups/open-group.ts";
import type { Host } from "../hosts/host.ts";

export type Answer = Omit<ArgumentsOf<"actor_answer">, "group_id">;

export class OpenQuestions extends Store {
  readonly #host: Pick<Host, "call">;
  readonly #group: OpenGroup;
  #list: readonly Question[] = [];
  #seen: OpenGroup["actors"] = [];
  #reading = 0;

  constructor(host: Pick<Host, "call">, group: OpenGroup) {
    super();
    this.#host = host;
    this.#group = group;
    group.subscribe(() => {
      if (group.actors === this.#seen) return;
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

  #put(list: readonly Question[]): void {
    if (list.length === 0 && this.#list.length === 0) return;
    this.#list = list;
    this.changed();
  }
}
