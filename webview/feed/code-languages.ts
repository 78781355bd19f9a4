/**
 * The languages whose code has colors, by the names that code blocks and files give them. Each is
 * loaded when it is first met.
 */
import type { StreamParser } from "@codemirror/streamparser";

type Parser = StreamParser<unknown>;

const clike = () => import("@codemirror/legacy-modes/mode/clike");
const css = () => import("@codemirror/legacy-modes/mode/css");
const javascript = () => import("@codemirror/legacy-modes/mode/javascript");
const xml = () => import("@codemirror/legacy-modes/mode/xml");

const LANGUAGES: readonly [names: string, load: () => Promise<Parser>][] = [
  ["c h", async () => (await clike()).c],
  ["cpp c++ cc cxx hpp", async () => (await clike()).cpp],
  ["cs csharp c#", async () => (await clike()).csharp],
  ["java", async () => (await clike()).java],
  ["kotlin kt kts", async () => (await clike()).kotlin],
  ["css", async () => (await css()).css],
  ["scss", async () => (await css()).sCSS],
  ["less", async () => (await css()).less],
  ["dockerfile docker", async () => (await import("@codemirror/legacy-modes/mode/dockerfile")).dockerFile],
  ["go golang", async () => (await import("@codemirror/legacy-modes/mode/go")).go],
  ["html htm", async () => (await xml()).html],
  ["xml svg", async () => (await xml()).xml],
  [
    "ini cfg conf env properties",
    async () => (await import("@codemirror/legacy-modes/mode/properties")).properties,
  ],
  ["javascript js jsx mjs cjs typescript ts tsx mts cts", async () => (await javascript()).typescript],
  ["json jsonc json5", async () => (await javascript()).json],
  ["python py", async () => (await import("@codemirror/legacy-modes/mode/python")).python],
  ["ruby rb", async () => (await import("@codemirror/legacy-modes/mode/ruby")).ruby],
  ["rust rs", async () => (await import("@codemirror/legacy-modes/mode/rust")).rust],
  ["shell sh bash zsh", async () => (await import("@codemirror/legacy-modes/mode/shell")).shell],
  ["sql", async () => (await import("@codemirror/legacy-modes/mode/sql")).standardSQL],
  ["toml", async () => (await import("@codemirror/legacy-modes/mode/toml")).toml],
  ["yaml yml", async () => (await import("@codemirror/legacy-modes/mode/yaml")).yaml],
];

const byName = new Map(LANGUAGES.flatMap(([names, load]) => names.split(" ").map((name) => [name, load])));
const loaded = new Map<() => Promise<Parser>, Promise<Parser>>();

/** Whether code by this name has colors. */
export function isLanguage(name: string): boolean {
  return byName.has(name);
}

/** What reads the language; null if its code stays plain. Throws if it can't be loaded now. */
export async function parserOf(name: string): Promise<Parser | null> {
  const load = byName.get(name.toLowerCase());
  if (load === undefined) return null;
  const parser = loaded.get(load) ?? load();
  loaded.set(load, parser);
  try {
    return await parser;
  } catch (error) {
    // The next block tries again.
    loaded.delete(load);
    throw error;
  }
}
