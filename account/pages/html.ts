/** HTML from templates. Every value is escaped, unless it is HTML itself. */

export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Value = Html | string | number | null | false | readonly (Html | null | false)[];

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function textOf(value: Value): string {
  if (value instanceof Html) return value.text;
  if (value === null || value === false) return "";
  if (typeof value === "object") return value.map(textOf).join("");
  return String(value).replaceAll(/[&<>"']/gu, (character) => ESCAPES[character]!);
}

/** For values in text and in quoted attributes. Never for addresses that somebody else chose. */
export function html(parts: TemplateStringsArray, ...values: Value[]): Html {
  return new Html(parts.reduce((text, part, index) => text + textOf(values[index - 1]!) + part));
}
