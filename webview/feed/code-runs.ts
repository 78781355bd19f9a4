/**
 * The parts of program text by what they are. Pure. It reads line by line, so that whoever asks can
 * pause after each, and each costs little: what reads a language looks at one line at a time.
 */
import { type StreamParser, StringStream } from "@codemirror/streamparser";

/** What a part is: the ending of its class in feed.css. */
export type CodeKind = "comment" | "keyword" | "string" | "number" | "name" | "type" | "property";

/** So many characters of a line are one part. */
export interface CodeRun {
  readonly kind: CodeKind | null;
  readonly length: number;
}

/** A longer line stays plain: nobody wrote it by hand. */
const LINE_MAX = 500;
/** A parser that stands still for so many steps takes one character as plain. */
const STILL_MAX = 10;

/** The first word of a parser's style decides. */
const KINDS: Readonly<Record<string, CodeKind>> = {
  atom: "number",
  attribute: "property",
  bool: "number",
  builtin: "type",
  className: "type",
  comment: "comment",
  def: "name",
  keyword: "keyword",
  meta: "comment",
  number: "number",
  property: "property",
  propertyName: "property",
  regexp: "string",
  string: "string",
  tag: "keyword",
  tagName: "keyword",
  type: "type",
  typeName: "type",
};

/** The runs of each line of the code, one line after the other. */
export function* codeRuns(code: string, parser: StreamParser<unknown>): Generator<CodeRun[], void> {
  const state = parser.startState?.(2) ?? {};
  for (const line of code.split("\n")) {
    if (line === "") parser.blankLine?.(state, 2);
    yield line.length > LINE_MAX ? [{ kind: null, length: line.length }] : lineRuns(line, parser, state);
  }
}

function lineRuns(line: string, parser: StreamParser<unknown>, state: unknown): CodeRun[] {
  const runs: CodeRun[] = [];
  const stream = new StringStream(line, 4, 2);
  let still = 0;
  while (!stream.eol()) {
    stream.start = stream.pos;
    const style = parser.token(stream, state);
    if (stream.pos > stream.start) {
      still = 0;
    } else {
      still += 1;
      if (still < STILL_MAX) continue;
      stream.next();
    }
    const kind = KINDS[style?.split(/[ .]/, 1)[0] ?? ""] ?? null;
    const last = runs.at(-1);
    const length = stream.pos - stream.start;
    if (last?.kind === kind) runs[runs.length - 1] = { kind, length: last.length + length };
    else runs.push({ kind, length });
  }
  return runs;
}
