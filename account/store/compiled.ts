/** Statements that every request of a daemon needs: built once, run with new values each time. */
import type { CompiledQuery, InferResult } from "kysely";
import type { Queries } from "./store.ts";

/** Stands for a value while the statement is built. */
class Place {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

interface Compilable {
  compile(): CompiledQuery;
}

/** Answers what stands for the value of this name. Kysely takes it as a parameter. */
export type Places<Values> = <Name extends keyof Values & string>(name: Name) => Values[Name];

/**
 * Building a statement takes about as long as asking PostgreSQL, so `build` runs only once for the
 * store.
 */
export class Compiled<Values extends object, Query extends Compilable> {
  readonly #query: CompiledQuery;

  constructor(db: Queries, build: (db: Queries, value: Places<Values>) => Query) {
    this.#query = build(db, (name) => new Place(name) as never).compile();
  }

  /** Runs it, in a transaction or by itself. */
  async rows(db: Queries, values: Values): Promise<InferResult<Query>> {
    const parameters = this.#query.parameters.map((parameter) =>
      parameter instanceof Place ? values[parameter.name as keyof Values] : parameter,
    );
    const { rows } = await db.executeQuery({ ...this.#query, parameters });
    return rows as InferResult<Query>;
  }
}
