/**
 * One entry in the text of an agent's configuration: set or removed, and everything else stays as
 * it is, comments and other entries included. Nothing here trusts its own edit: what the new text
 * says is read again and compared with what it should say.
 */
import { isDeepStrictEqual } from "node:util";
import {
  createScanner,
  findNodeAtLocation,
  type Node,
  type ParseError,
  parse as parseJson,
  parseTree,
  printParseErrorCode,
} from "jsonc-parser";
import { getStaticTOMLValue, parseTOML } from "toml-eslint-parser";
import {
  type AgentClient,
  type Entry,
  type EntryValue,
  tomlTable,
  tomlValue,
} from "../../shared/agent-clients.ts";

type Place = Pick<AgentClient, "format" | "keys">;
type Table = Record<string, unknown>;

interface Edit {
  from: number;
  to: number;
  put: string;
}

const JSON_OPTIONS = { allowTrailingComma: true };

/** Some editors begin a file with it. It stays, and is part of no JSON or TOML. */
const BYTE_ORDER_MARK = "\uFEFF";

/** A text that can't be changed safely. */
export class ConfigProblem extends Error {}

/** What the text says at the place; undefined without an entry. Throws ConfigProblem. */
export function readEntry(text: string, place: Place): Table | undefined {
  let found: unknown = read(text, place.format);
  for (const key of place.keys) {
    if (!isTable(found)) throw new ConfigProblem(`There is something else where ${key} belongs.`);
    if (!Object.hasOwn(found, key)) return undefined;
    found = found[key];
  }
  if (!isTable(found)) throw new ConfigProblem(`${place.keys.join(".")} isn't an entry for a server.`);
  return found;
}

/** The text with the entry. What else an earlier one holds stays. Throws ConfigProblem. */
export function withEntry(text: string, place: Place, entry: Entry): string {
  if (text.startsWith(BYTE_ORDER_MARK))
    return BYTE_ORDER_MARK + withEntry(text.slice(BYTE_ORDER_MARK.length), place, entry);
  const before = readEntry(text, place);
  const expected = read(text, place.format);
  put(expected, place.keys, { ...before, ...entry });
  const changed =
    place.format === "toml"
      ? withTomlEntry(text, place.keys, entry, before !== undefined)
      : withJsonEntry(text, place.keys, entry);
  return verified(changed, place, expected);
}

/** The text without the entry. Throws ConfigProblem. */
export function withoutEntry(text: string, place: Place): string {
  if (text.startsWith(BYTE_ORDER_MARK))
    return BYTE_ORDER_MARK + withoutEntry(text.slice(BYTE_ORDER_MARK.length), place);
  if (readEntry(text, place) === undefined) return text;
  const expected = read(text, place.format);
  const parent = place.keys.slice(0, -1).reduce<Table>((table, key) => table[key] as Table, expected);
  delete parent[place.keys.at(-1)!];
  const changed =
    place.format === "toml"
      ? withoutTomlEntry(text, place.keys)
      : withoutJsonProperty(text, findNodeAtLocation(parseTree(text, [], JSON_OPTIONS)!, [...place.keys])!);
  return verified(changed, place, expected);
}

/** Nothing is left that anybody wrote. */
export function isBlank(text: string, place: Place): boolean {
  const isEmpty = (value: unknown): boolean => isTable(value) && Object.values(value).every(isEmpty);
  return isEmpty(read(text, place.format)) && !/\/[/*]|#/.test(text);
}

function isTable(value: unknown): value is Table {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function read(given: string, format: Place["format"]): Table {
  const text = given.startsWith(BYTE_ORDER_MARK) ? given.slice(BYTE_ORDER_MARK.length) : given;
  if (text.trim() === "") return {};
  if (format === "toml") {
    try {
      return getStaticTOMLValue(parseTOML(text));
    } catch (error) {
      throw new ConfigProblem(`It isn't valid TOML: ${(error as Error).message}.`);
    }
  }
  const errors: ParseError[] = [];
  const value: unknown = parseJson(text, errors, JSON_OPTIONS);
  const [first] = errors;
  if (first !== undefined) {
    const line = text.slice(0, first.offset).split("\n").length;
    throw new ConfigProblem(`It isn't valid JSON: ${printParseErrorCode(first.error)} in line ${line}.`);
  }
  if (!isTable(value)) throw new ConfigProblem("It isn't a JSON object.");
  return value;
}

function put(into: Table, keys: readonly string[], value: Table): void {
  const [key, ...rest] = keys;
  if (rest.length === 0) into[key!] = value;
  else put((into[key!] ??= {}) as Table, rest, value);
}

/** An empty table that TOML no longer names is the same as none. */
function verified(text: string, { format, keys }: Place, expected: Table): string {
  const plain = (table: Table): Table => {
    const outer = table[keys[0]!];
    const { [keys[0]!]: _none, ...others } = table;
    return isTable(outer) && Object.keys(outer).length === 0 ? others : table;
  };
  if (isDeepStrictEqual(plain(read(text, format)), plain(expected))) return text;
  throw new ConfigProblem(`${keys.join(".")} is written in a way that svc can't change safely.`);
}

function eolOf(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
}

function withJsonEntry(text: string, keys: readonly string[], entry: Entry): string {
  if (text.trim() === "") return `${JSON.stringify(nested(keys, entry), null, 2)}${eolOf(text)}`;
  const root = parseTree(text, [], JSON_OPTIONS)!;
  const own = findNodeAtLocation(root, [...keys]);
  if (own !== undefined) {
    const edits: Edit[] = [];
    for (const [name, value] of Object.entries(entry)) {
      const earlier = findNodeAtLocation(own, [name]);
      if (earlier === undefined) edits.push(firstProperty(text, own, keys.length, name, jsonValue(value)));
      else if (!isDeepStrictEqual(readEntry(text, { format: "json", keys })?.[name], value))
        edits.push({
          from: earlier.offset,
          to: earlier.offset + earlier.length,
          put: jsonValue(value),
        });
    }
    return edited(text, edits);
  }
  // The deepest table that is there gets the rest.
  let depth = keys.length - 1;
  let table = findNodeAtLocation(root, keys.slice(0, depth));
  while (table === undefined) table = findNodeAtLocation(root, keys.slice(0, --depth));
  const lines = JSON.stringify(nested(keys.slice(depth + 1), entry), null, indentOf(text)).split("\n");
  const value = lines.join(`${eolOf(text)}${indentOf(text).repeat(depth + 1)}`);
  return edited(text, [firstProperty(text, table, depth, keys[depth]!, value)]);
}

/**
 * A property in front of the others: what stands behind the last one, a comma or a comment, stays
 * with it.
 */
function firstProperty(text: string, table: Node, depth: number, name: string, value: string): Edit {
  const start = table.offset + 1;
  const isEmpty = (table.children ?? []).length === 0;
  const eol = eolOf(text);
  const indent = indentOf(text);
  const put = `${eol}${indent.repeat(depth + 1)}${JSON.stringify(name)}: ${value}${isEmpty ? "" : ","}`;
  // A comment on the line of the brace is about the table.
  const comment = /^[ \t]*\/\/.*/.exec(text.slice(start, lineEnd(text, start)))?.[0].length ?? 0;
  const from = start + comment;
  const isLineOver = /^[ \t]*\r?\n/.test(text.slice(from));
  const closes = `${eol}${indent.repeat(depth)}`;
  const after = isLineOver ? "" : isEmpty ? closes : `${closes}${indent}`;
  const space = isLineOver ? 0 : (/^[ \t]*/.exec(text.slice(from))?.[0].length ?? 0);
  return { from, to: from + space, put: `${put}${after}` };
}

function withoutJsonProperty(text: string, value: Node): string {
  const property = value.parent!;
  const siblings = property.parent!.children!;
  const index = siblings.indexOf(property);
  const end = property.offset + property.length;
  const comma = commaAfter(text, end);
  const edits: Edit[] = [];
  if (comma === null && index > 0) {
    const before = siblings[index - 1]!;
    const separator = commaAfter(text, before.offset + before.length)!;
    edits.push({ from: separator, to: separator + 1, put: "" });
  }
  const last = comma === null ? end : comma + 1;
  const isAlone = /^[ \t]*\r?\n/.test(text.slice(last));
  const spaceBefore = /(?:\r?\n)?[ \t]*$/.exec(text.slice(0, property.offset))?.[0].length ?? 0;
  edits.push({ from: isAlone ? property.offset - spaceBefore : property.offset, to: last, put: "" });
  return edited(text, edits);
}

/** Where the next token is a comma, comments aside; null where it isn't one. */
function commaAfter(text: string, at: number): number | null {
  const scanner = createScanner(text, true);
  scanner.setPosition(at);
  scanner.scan();
  const found = scanner.getTokenOffset();
  return text[found] === "," ? found : null;
}

function nested(keys: readonly string[], entry: Entry): object {
  return keys.reduceRight<object>((inner, key) => ({ [key]: inner }), entry);
}

function jsonValue(value: EntryValue): string {
  if (!Array.isArray(value)) return JSON.stringify(value);
  return `[${value.map((one) => JSON.stringify(one)).join(", ")}]`;
}

/** One step of indentation, as the text has it. */
function indentOf(text: string): string {
  return /^([ \t]+)["}]/m.exec(text)?.[1] ?? "  ";
}

/** The tables of the entry in the order of the text: its own, and those below it. */
function tomlTables(text: string, keys: readonly string[]) {
  return parseTOML(text).body[0].body.filter(
    (node) => node.type === "TOMLTable" && keys.every((key, index) => node.resolvedKey[index] === key),
  );
}

function withTomlEntry(text: string, keys: readonly string[], entry: Entry, isThere: boolean): string {
  const eol = eolOf(text);
  if (!isThere) {
    const before = text.trim() === "" ? "" : `${text.replace(/(?:\r?\n)*$/, "")}${eol}${eol}`;
    return `${before}${tomlTable(keys, entry).replaceAll("\n", eol)}${eol}`;
  }
  const own = tomlTables(text, keys).find(
    (node) => node.type === "TOMLTable" && node.resolvedKey.length === keys.length,
  );
  // It is written in another form, which `verified` then says.
  if (own?.type !== "TOMLTable") return text;
  const edits: Edit[] = [];
  for (const [name, value] of Object.entries(entry)) {
    const line = own.body.find(
      ({ key }) =>
        key.keys.length === 1 &&
        key.keys.every((part) => (part.type === "TOMLBare" ? part.name : part.value) === name),
    );
    if (line !== undefined) {
      const [from, to] = line.value.range;
      edits.push({ from, to, put: tomlValue(value) });
    } else {
      const [, headerEnd] = own.key.range;
      const from = lineEnd(text, headerEnd);
      edits.push({ from, to: from, put: `${eol}${name} = ${tomlValue(value)}` });
    }
  }
  return edited(text, edits);
}

function withoutTomlEntry(text: string, keys: readonly string[]): string {
  return edited(
    text,
    tomlTables(text, keys).map(({ range: [from, last] }) => {
      const end = lineEnd(text, last);
      const rest = /^(?:\r?\n)*/.exec(text.slice(end))?.[0].length ?? 0;
      return { from, to: end + rest, put: "" };
    }),
  );
}

/** Where the line of this place ends: comments at its end belong to it. */
function lineEnd(text: string, at: number): number {
  const found = text.slice(at).search(/\r?\n|$/);
  return at + found;
}

function edited(text: string, edits: readonly Edit[]): string {
  return [...edits]
    .sort((one, other) => other.from - one.from)
    .reduce((now, { from, to, put: words }) => now.slice(0, from) + words + now.slice(to), text);
}
