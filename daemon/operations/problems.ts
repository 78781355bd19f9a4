/**
 * What is wrong with a value, in our words: the rest of a sentence that begins with the field
 * ("'limit' must be at most 200."), for schemas without their own words. Values are never quoted.
 */
import type * as z from "zod";

const TYPES: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  tuple: "a list",
  object: "an object",
  record: "an object",
  null: "null",
};
const FORMATS: Readonly<Record<string, string>> = {
  url: "isn't a URL",
  datetime: "isn't a time such as 2026-01-31T12:00:00.000Z",
  uuid: "isn't a UUID",
};
const OPTIONS_SHOWN = 16;

function typeName(expected: string): string {
  return TYPES[expected] ?? expected;
}

function oneOf(options: readonly unknown[]): string {
  const names = options.slice(0, OPTIONS_SHOWN).map((option) => String(option));
  if (options.length > OPTIONS_SHOWN) names.push("…");
  return names.length === 1 ? `must be ${names[0]}` : `must be one of ${names.join(", ")}`;
}

type Issue = z.core.$ZodRawIssue;
type Bound = Extract<Issue, { code: "too_small" | "too_big" }>;

function bound(issue: Bound, limit: number | bigint, words: { number: string; other: string }): string {
  const { origin, exact } = issue;
  const unit = origin === "string" ? "character" : origin === "number" || origin === "int" ? "" : "entry";
  if (unit === "") return `must be ${words.number} ${limit}`;
  const count = `${limit} ${limit === 1 ? unit : unit === "entry" ? "entries" : "characters"}`;
  return exact === true ? `must have exactly ${count}` : `${words.other} ${count}`;
}

function union(issue: Extract<Issue, { code: "invalid_union" }>): string {
  const { options } = issue;
  if (Array.isArray(options)) return oneOf(options);
  const types = issue.errors.map(([first]) =>
    first?.code === "invalid_type" && first.path.length === 0 ? typeName(first.expected) : null,
  );
  const named = [...new Set(types)];
  return named.length > 0 && !named.includes(null)
    ? `must be ${named.join(" or ")}`
    : "has none of the accepted forms";
}

export function problemOf(issue: Issue): string {
  switch (issue.code) {
    case "invalid_type":
      if (issue.input === undefined) return "is missing";
      return `must be ${typeName(issue.expected)}`;
    case "invalid_value":
      return issue.input === undefined ? "is missing" : oneOf(issue.values);
    case "too_small":
      if (issue.origin === "string" && issue.minimum === 1) return "is empty";
      return bound(issue, issue.minimum, {
        number: issue.inclusive === false ? "more than" : "at least",
        other: "has fewer than",
      });
    case "too_big":
      return bound(issue, issue.maximum, {
        number: issue.inclusive === false ? "less than" : "at most",
        other: "has more than",
      });
    case "invalid_format":
      return FORMATS[issue.format] ?? "doesn't have the right form";
    case "not_multiple_of":
      return `must be a multiple of ${issue.divisor}`;
    case "unrecognized_keys":
      return "has a field that doesn't belong there";
    case "invalid_union":
      return issue.input === undefined ? "is missing" : union(issue);
    case "invalid_key":
      return issue.issues[0]?.message ?? "isn't an accepted name";
    case "invalid_element":
    case "custom":
      return "is wrong";
  }
}
