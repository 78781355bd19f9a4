/**
 * Members in the order in which a schema declares them, for a value that the schema refuses: a
 * strict parse gives that order only to what it accepts (docs/protocol.md#signatures).
 */
import * as z from "zod";

/**
 * `value` with the members of its objects as `schema` orders them, and defaults for those that are
 * absent. Members that it doesn't declare come last. What doesn't fit stays as it is.
 */
export function inDeclaredOrder(schema: z.core.$ZodType, value: unknown): unknown {
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional || schema instanceof z.ZodDefault)
    return inDeclaredOrder(schema.unwrap(), value);
  if (schema instanceof z.ZodExactOptional) return inDeclaredOrder(schema.unwrap(), value);
  if (schema instanceof z.ZodPipe) return inDeclaredOrder(schema.out, value);
  if (schema instanceof z.ZodArray)
    return Array.isArray(value) ? value.map((item) => inDeclaredOrder(schema.element, item)) : value;
  if (!(schema instanceof z.ZodObject) || !isPlain(value)) return value;
  const ordered: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(schema.shape)) {
    if (Object.hasOwn(value, name)) ordered[name] = inDeclaredOrder(field, value[name]);
    else if (field instanceof z.ZodDefault) ordered[name] = field.parse(undefined);
  }
  const others = Object.entries(value).filter(([name]) => !Object.hasOwn(ordered, name));
  return { ...ordered, ...Object.fromEntries(others) };
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
