/**
 * Turns a query string into an operation's arguments. Which fields are numbers, booleans or lists follows from the input schema; the
 * schema itself then checks everything. A field that isn't a list may stand once; lists repeat the field or separate by commas.
 */
import type * as z from "zod";
import { Refusal } from "../../shared/errors.ts";

export type FieldKind = "text" | "number" | "boolean" | "list";

/** What a schema's fields are, by name. */
export function fieldKinds(input: z.ZodType): ReadonlyMap<string, FieldKind> {
  const shape = (input as Partial<z.ZodObject>).shape ?? {};
  return new Map(Object.entries(shape).map(([name, field]) => [name, kindOf(field as z.ZodType)]));
}

/** Throws `invalid_request` for a field that stands twice. Unknown fields stay as texts, for the schema to refuse. */
export function queryArguments(
  query: string,
  kinds: ReadonlyMap<string, FieldKind>,
): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  const seen = new Set<string>();
  for (const [name, text] of new URLSearchParams(query)) {
    const kind = kinds.get(name) ?? "text";
    if (name === "__proto__" || (seen.has(name) && kind !== "list")) {
      throw new Refusal("invalid_request", { details: { field: name.slice(0, 64).toWellFormed() } });
    }
    seen.add(name);
    if (kind === "list") {
      values[name] = [...((values[name] as string[] | undefined) ?? []), ...text.split(",")];
    } else values[name] = kind === "text" ? text : valueOf(text, kind);
  }
  return values;
}

/** What isn't a number or a boolean stays a text, so that the schema names the field. */
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
