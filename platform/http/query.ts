/**
 * Turns a query string into an operation's arguments. The input schema says which fields are
 * numbers, booleans or lists, and then checks everything. A field that isn't a list may be given
 * only once. Lists repeat the field or use commas.
 */
import type { IncomingMessage } from "node:http";
import type * as z from "zod";
import { fieldSentence, Refusal } from "../../shared/errors.ts";
import { shownName } from "../../shared/foreign-text.ts";

export type FieldKind = "text" | "number" | "boolean" | "list";

/**
 * `invalid_args` for one field, worded like the schemas' refusals: the problem is a verb phrase.
 */
export function wrongField(field: string, problem: string): Refusal {
  const name = shownName(field.slice(0, 64).toWellFormed());
  return new Refusal("invalid_args", { specifics: fieldSentence(name, problem), details: { field: name } });
}

/** The part after the question mark; empty without one. */
export function queryOf(request: IncomingMessage): string {
  const url = request.url ?? "";
  const mark = url.indexOf("?");
  return mark === -1 ? "" : url.slice(mark + 1);
}

/** A query that may contain only these fields, each once. Throws `invalid_args`. */
export function queryFields(query: string, allowed: readonly string[]): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(query)) {
    if (!allowed.includes(name)) throw wrongField(name, "isn't a parameter of this address");
    if (fields.has(name)) throw wrongField(name, "may be given only once");
    fields.set(name, value);
  }
  return fields;
}

/** The fields of a schema, by name. */
export function fieldKinds(input: z.ZodType): ReadonlyMap<string, FieldKind> {
  const shape = (input as Partial<z.ZodObject>).shape ?? {};
  return new Map(Object.entries(shape).map(([name, field]) => [name, kindOf(field as z.ZodType)]));
}

/**
 * Throws `invalid_args` for a repeated field. Unknown fields stay as texts, for the schema to
 * refuse.
 */
export function queryArguments(
  query: string,
  kinds: ReadonlyMap<string, FieldKind>,
): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  const seen = new Set<string>();
  for (const [name, text] of new URLSearchParams(query)) {
    const kind = kinds.get(name) ?? "text";
    if (name === "__proto__") throw wrongField(name, "isn't a field of this operation");
    if (seen.has(name) && kind !== "list") throw wrongField(name, "may be given only once");
    seen.add(name);
    if (kind === "list") {
      values[name] = [...((values[name] as string[] | undefined) ?? []), ...text.split(",")];
    } else values[name] = kind === "text" ? text : valueOf(text, kind);
  }
  return values;
}

/** Anything that isn't a number or boolean stays a text, so that the schema names the field. */
function valueOf(text: string, kind: "number" | "boolean"): unknown {
  if (kind === "number") return /^-?[0-9]{1,15}(?:\.[0-9]{1,15})?$/.test(text) ? Number(text) : text;
  if (text === "true" || text === "1") return true;
  return text === "false" || text === "0" ? false : text;
}

function kindOf(schema: z.ZodType): FieldKind {
  const { def } = schema._zod as unknown as {
    def: { type: string; innerType?: z.ZodType; in?: z.ZodType };
  };
  if (def.innerType !== undefined) return kindOf(def.innerType);
  switch (def.type) {
    case "pipe":
      return def.in === undefined ? "text" : kindOf(def.in);
    case "number":
    case "int":
      return "number";
    case "boolean":
      return "boolean";
    case "array":
      return "list";
    default:
      return "text";
  }
}
