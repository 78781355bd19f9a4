/**
 * Wrong arguments made from a contract: each has one wrong value in otherwise right ones, so that
 * the refusal has to name that value. What is wrong follows from the schema alone and is the same
 * in every run.
 */
import type * as z from "zod";

type Path = readonly (string | number)[];

export interface Malformed {
  /** What is wrong, in words. */
  what: string;
  /** Where the wrong value is; the refusal names this field, or one around or inside it. */
  path: Path;
  /** The arguments as JSON. */
  body: string;
  /** The JSON itself isn't taken, whatever it says: the refusal names no field. */
  isBadJson: boolean;
}

/** Stands in wrong values, so that an answer that quotes one is found. */
export const MARK = "never-quote-this";
/** Names that every JavaScript object has. */
export const PROTOTYPE_NAMES = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty"];

/** Texts that mean something to a file system, a terminal, a reader or to us. */
const ODD_TEXTS = [
  "",
  " ",
  ".",
  "..",
  "/",
  "~",
  "-",
  "../../etc/passwd",
  "/dev/stdin",
  "/proc/self/environ",
  "file:///etc/passwd",
  "\0",
  "a\0b",
  "\n",
  "\x1B[2J",
  "‮",
  "\u2028",
  "﻿",
  "%00",
  "%2e%2e%2f",
  "*",
  "@all",
  "@foreman",
  "user",
  "system",
  "g_000000000000",
  "connect:x",
  "null",
  "1e9",
  "true",
  "{}",
  "https://user:secret@127.0.0.1/",
  "https://[::1]:99999",
  "0.0.0.0:0",
  "::",
  "localhost",
  "direct-",
];
const VERY_LONG = 200_000;
const MANY = 40_000;
const NESTED = 70;
/** Replaced in the JSON by what JSON.stringify can't write. */
const RAW = "@raw@";

interface Definition {
  check?: string;
  type: string;
  format?: string;
  shape?: Record<string, z.ZodType>;
  catchall?: z.ZodType;
  innerType?: z.ZodType;
  in?: z.ZodType;
  out?: z.ZodType;
  entries?: Record<string, string>;
  element?: z.ZodType;
  valueType?: z.ZodType;
  checks?: readonly { _zod: { def: Check } }[];
}

interface Check {
  check: string;
  minimum?: number;
  maximum?: number;
  value?: number;
}

type Collect = (path: Path, what: string, value: unknown, raw?: string) => void;
type Add = (what: string, value: unknown, raw?: string) => void;

/** Arguments with one wrong value each. `right` fits the schema and has every possible member. */
export function malformed(schema: z.ZodType, right: Readonly<Record<string, unknown>>): Malformed[] {
  const found: Malformed[] = [];
  const collect: Collect = (path, what, value, raw) => {
    const body = JSON.stringify(withValue(right, path, value));
    found.push({
      what: `${path.length === 0 ? "the arguments" : path.join(".")}: ${what}`,
      path,
      body: raw === undefined ? body : body.replace(`"${RAW}"`, () => raw),
      isBadJson: raw !== undefined && !raw.startsWith("1e"),
    });
  };
  walk(schema, right, [], collect);
  return found;
}

/** Arguments with one value each that the schema may let through and that no program would send. */
export function odd(schema: z.ZodType, right: Readonly<Record<string, unknown>>): Malformed[] {
  const found: Malformed[] = [];
  oddValues(schema, right, [], (path, what, value) => {
    const body = JSON.stringify(withValue(right, path, value));
    found.push({ what: `${path.join(".")}: ${what}`, path, body, isBadJson: false });
  });
  return found;
}

function oddValues(schema: z.ZodType, right: unknown, path: Path, collect: Collect): void {
  const { definition, isNullable, isOptional } = unwrapped(schema);
  const add: Add = (what, value) => collect(path, what, value);
  const { checks } = definition;
  const defs = (checks ?? []).map(({ _zod }) => _zod.def);
  if (isNullable) add("null", null);
  if (typeof path.at(-1) === "string" && isOptional) add("it is missing", undefined);
  switch (definition.type) {
    case "string": {
      const limit = defs.find(({ check }) => check === "max_length")?.maximum;
      if (limit !== undefined) add("as long as it may be", "x".repeat(limit));
      const known = String(right);
      add("the form of another", known.replaceAll(/[0-9a-f]/g, "0"));
      for (const text of isForm(definition) ? PROTOTYPE_NAMES : [...PROTOTYPE_NAMES, ...ODD_TEXTS])
        add(JSON.stringify(text), text);
      break;
    }
    case "number":
      for (const { value } of defs) if (value !== undefined) add(`the bound ${value}`, value);
      for (const value of [0, 1, 2 ** 31, Number.MAX_SAFE_INTEGER]) add(String(value), value);
      break;
    case "boolean":
      add("the other", right !== true);
      break;
    case "enum":
      for (const word of Object.values(definition.entries!)) add(word, word);
      break;
    case "array": {
      const items = right as readonly unknown[];
      const most = defs.find(({ check }) => check === "max_length")?.maximum ?? 2;
      add("an entry twice", [...items, ...items]);
      add(
        "as many of one as there may be",
        Array.from({ length: most }, () => items[0]),
      );
      add("nothing", []);
      oddValues(definition.element!, items[0], [...path, 0], collect);
      break;
    }
    case "record":
      add("nothing", {});
      for (const name of PROTOTYPE_NAMES.slice(1)) add(`a name ${name}`, { [name]: "x" });
      break;
    case "object":
      for (const [name, member] of Object.entries(definition.shape!))
        oddValues(member, (right as Record<string, unknown>)[name], [...path, name], collect);
      break;
    case "literal":
    case "union":
      break;
    default:
      throw new Error(`${path.join(".")} has a schema that isn't known here: ${definition.type}`);
  }
}

/** A copy of `whole` with this value at the path. */
function withValue(whole: unknown, path: Path, value: unknown): unknown {
  const [first, ...rest] = path;
  if (first === undefined) return value;
  if (Array.isArray(whole)) return whole.with(Number(first), withValue(whole[Number(first)], rest, value));
  const members = whole as Record<string, unknown>;
  return { ...members, [first]: withValue(members[first], rest, value) };
}

function walk(schema: z.ZodType, right: unknown, path: Path, collect: Collect): void {
  const { definition, isNullable } = unwrapped(schema);
  const add: Add = (what, value, raw) => collect(path, what, value, raw);
  if (path.length > 0) wrongTypes(definition.type, isNullable, add);
  switch (definition.type) {
    case "string":
      wrongTexts(definition, String(right), add);
      break;
    case "number":
      wrongNumbers(definition, add);
      break;
    case "enum":
    case "literal":
      for (const name of [...PROTOTYPE_NAMES, "", MARK, String(right).toUpperCase(), ` ${String(right)}`])
        add(`not one of the words: ${name}`, name);
      break;
    case "array":
      wrongLists(definition, right as readonly unknown[], add);
      walk(definition.element!, (right as readonly unknown[])[0], [...path, 0], collect);
      break;
    case "record": {
      const [name, value] = Object.entries(right as object)[0]!;
      for (const wrong of ["", "a b", "1", "A\u0000B", "A\u202eB", "x".repeat(VERY_LONG)])
        add("a wrong name", { [wrong]: value });
      add("too many names", Object.fromEntries(Array.from({ length: MANY }, (_, at) => [`n${at}`, "v"])));
      add("many wrong names", Object.fromEntries(Array.from({ length: MANY }, (_, at) => [`-${at}`, 1])));
      walk(definition.valueType!, value, [...path, name], collect);
      break;
    }
    case "object": {
      const members = right as Record<string, unknown>;
      if (definition.catchall?._zod.def.type === "never") unknownMembers(members, add);
      for (const [name, member] of Object.entries(definition.shape!)) {
        const isThere = Object.hasOwn(members, name);
        if (!isThere) throw new Error(`the right arguments lack ${[...path, name].join(".")}`);
        if (!unwrapped(member).isOptional) collect([...path, name], "it is missing", undefined);
        walk(member, members[name], [...path, name], collect);
      }
      break;
    }
    case "boolean":
    // What fits none of its members is tried; each member of the wire has vectors of its own.
    case "union":
      break;
    default:
      throw new Error(`${path.join(".")} has a schema that isn't known here: ${definition.type}`);
  }
}

/** Without defaults, options and what follows a first check. */
function unwrapped(schema: z.ZodType): { definition: Definition; isNullable: boolean; isOptional: boolean } {
  let definition = schema._zod.def as unknown as Definition;
  let isNullable = false;
  let isOptional = false;
  for (;;) {
    if (definition.type === "nullable") isNullable = true;
    if (definition.type === "optional" || definition.type === "default") isOptional = true;
    const first = definition.in?._zod.def.type === "transform" ? definition.out : definition.in;
    const inner = definition.innerType ?? first;
    if (inner === undefined) return { definition, isNullable, isOptional };
    definition = inner._zod.def;
  }
}

function wrongTypes(type: string, isNullable: boolean, add: Add): void {
  const isText = type === "string" || type === "enum" || type === "literal";
  if (!isText) add("a text", MARK);
  if (type === "number") add("a number as a text", "1");
  if (type === "boolean") for (const value of [0, 1, "true", "false"]) add(`no boolean: ${value}`, value);
  if (type !== "number") add("a number", 7);
  if (type !== "boolean") add("a boolean", true);
  if (type !== "array") for (const value of [[], [MARK], [[]]]) add("a list", value);
  if (type === "array") add("an object like a list", { length: 1, 0: MARK });
  if (type !== "object" && type !== "record")
    for (const value of [{}, { toString: MARK }]) add("an object", value);
  if (!isNullable) add("null", null);
  add("lists in lists", RAW, `${"[".repeat(NESTED)}"${MARK}"${"]".repeat(NESTED)}`);
  add("objects in objects", RAW, `${'{"a":'.repeat(NESTED)}1${"}".repeat(NESTED)}`);
  add("a member named __proto__", RAW, `{"__proto__":{"a":"${MARK}"}}`);
  add("a member twice", RAW, `{"a":"${MARK}","a":"${MARK}"}`);
}

/** A text of one form, such as a UUID. */
function isForm({ check, checks }: Definition): boolean {
  return [check, ...(checks ?? []).map(({ _zod }) => _zod.def.check)].includes("string_format");
}

function wrongTexts(definition: Definition, right: string, add: Add): void {
  const checks = (definition.checks ?? []).map(({ _zod }) => _zod.def);
  const limit = checks.find(({ check }) => check === "max_length")?.maximum;
  const hasForm = isForm(definition);
  add("half of a surrogate pair", RAW, `"${MARK}\\ud800"`);
  add("a half of a pair at the wrong side", RAW, `"\\udc00${MARK}"`);
  add("an unfinished escape", RAW, `"${MARK}\\u00"`);
  add("a bare control character", RAW, `"${MARK}\u0000"`);
  add("a very long text", "x".repeat(VERY_LONG));
  if (limit !== undefined) add("one character too many", "x".repeat(limit + 1));
  else if (!hasForm) throw new Error("a text has no limit");
  if (hasForm || checks.some(({ check, minimum = 0 }) => check === "min_length" && minimum > 0))
    add("an empty text", "");
  if (!hasForm) return;
  for (const wrong of [
    MARK.repeat(8),
    `${right}\n`,
    ` ${right}`,
    `${right}\u0000`,
    `${right.slice(0, -1)}\u0660`,
    `../${right}`,
    "\u202e",
    "00000000-0000-4000-8000-00000000000",
    "{00000000-0000-4000-8000-000000000000}",
    "2026-02-30T25:61:61Z",
  ])
    add(`another form: ${JSON.stringify(wrong)}`, wrong);
}

function wrongNumbers(definition: Definition, add: Add): void {
  const checks = (definition.checks ?? []).map(({ _zod }) => _zod.def);
  const least = checks.find(({ check }) => check === "greater_than")?.value;
  const most = checks.find(({ check }) => check === "less_than")?.value;
  if (least !== undefined) for (const value of [least - 1, -1e300]) add(`too small: ${value}`, value);
  if (most !== undefined) add("one too many", most + 1);
  if (definition.format === "safeint")
    for (const value of [0.5, 2 ** 53, 1e300]) add(`no whole number: ${value}`, value);
  add("beyond every number", RAW, "1e400");
}

function wrongLists(definition: Definition, right: readonly unknown[], add: Add): void {
  const checks = (definition.checks ?? []).map(({ _zod }) => _zod.def);
  const most = checks.find(({ check }) => check === "max_length")?.maximum;
  const least = checks.find(({ check }) => check === "min_length")?.minimum ?? 0;
  if (most !== undefined)
    add(
      "one entry too many",
      Array.from({ length: most + 1 }, () => right[0]),
    );
  if (least > 0) add("no entry", []);
  add("a wrong entry at the end", [...right, null]);
  add("a list in the list", [right]);
  // Each would have a problem of its own, if anybody looked.
  add(
    "very many wrong entries",
    Array.from({ length: MANY * 10 }, () => 1),
  );
}

function unknownMembers(members: Record<string, unknown>, add: Add): void {
  for (const name of [...PROTOTYPE_NAMES.slice(1), "by", "id_", "x".repeat(VERY_LONG), "\u0000", "\u202e"]) {
    if (!Object.hasOwn(members, name))
      add("a member that doesn't belong there", { ...members, [name]: MARK });
  }
  const many = Object.fromEntries(Array.from({ length: MANY }, (_, at) => [`unknown${at}`, 1]));
  add("very many members that don't belong there", { ...members, ...many });
}
