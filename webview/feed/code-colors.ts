/**
 * Colors of program text. Loaded once there is any: the first load of the Workbench has none of it.
 * The text of a code block stays what it was. Only elements with classes come around its parts.
 */
import type { StreamParser } from "@codemirror/streamparser";
import { parserOf } from "./code-languages.ts";
import { type CodeRun, codeRuns } from "./code-runs.ts";

/** So long the page does nothing else, however many blocks there are. */
const SLICE_MS = 8;
/** Longer code stays plain. */
const CODE_MAX = 65_536;
/** After so many parts the rest of a block stays plain. */
const PARTS_MAX = 4000;
/** Blocks whose parts are kept, so that one that comes back into view has its colors at once. */
const KEPT = { blocks: 200, characters: 1_000_000 };

const LANGUAGE = /^language-(\S+)$/;

type Lines = readonly (readonly CodeRun[])[];

const kept = new Map<string, Lines>();
let keptCharacters = 0;

function keep(key: string, lines: Lines): void {
  if (kept.has(key)) return;
  kept.set(key, lines);
  keptCharacters += key.length;
  for (const oldest of kept.keys()) {
    if (kept.size <= KEPT.blocks && keptCharacters <= KEPT.characters) break;
    kept.delete(oldest);
    keptCharacters -= oldest.length;
  }
}

/** Blocks that are being read, or were. */
const begun = new WeakSet<Element>();
/** Ends when the blocks before have been read: one is read at a time. */
let turn: Promise<unknown> = Promise.resolve();
/** When the page has waited long enough. */
let sliceEnd = 0;

/**
 * Colors the code blocks inside the element whose class names a language that is known. Blocks that
 * have their colors, or are about to get them, are left alone. Never throws.
 */
export function colorCode(inside: Element): void {
  for (const code of inside.querySelectorAll('code[class^="language-"]')) {
    if (begun.has(code)) continue;
    begun.add(code);
    // What can't be loaded or read stays plain.
    color(code).catch(() => begun.delete(code));
  }
}

async function color(code: Element): Promise<void> {
  const language = LANGUAGE.exec(code.className)?.[1] ?? "";
  const text = code.textContent;
  if (text.length > CODE_MAX) return;
  const key = `${language} ${text}`;
  const known = kept.get(key);
  if (known !== undefined) {
    paint(code, text, known);
    return;
  }
  const parser = await parserOf(language);
  if (parser === null) return;
  const mine = turn.then(() => read(code, text, parser));
  turn = mine.catch(() => {});
  const lines = await mine;
  if (lines === null) {
    begun.delete(code);
    return;
  }
  keep(key, lines);
  paint(code, text, lines);
}

/** The parts of each line. Null if the block has left the document in the meantime. */
async function read(code: Element, text: string, parser: StreamParser<unknown>): Promise<Lines | null> {
  const lines: CodeRun[][] = [];
  let parts = 0;
  for (const runs of codeRuns(text, parser)) {
    lines.push(runs);
    parts += runs.length;
    if (parts > PARTS_MAX) break;
    if (performance.now() < sliceEnd) continue;
    await new Promise((resolve) => setTimeout(resolve, 0));
    if (!code.isConnected) return null;
    sliceEnd = performance.now() + SLICE_MS;
  }
  return lines;
}

function paint(code: Element, text: string, lines: Lines): void {
  const selection = getSelection();
  // Something else is shown by now, or the person has selected some of it, which would be undone.
  if (code.textContent !== text || (selection?.isCollapsed === false && selection.containsNode(code, true)))
    return;
  const painted = document.createDocumentFragment();
  let at = 0;
  let plain = "";
  const endPlain = () => {
    if (plain !== "") painted.append(plain);
    plain = "";
  };
  for (const runs of lines) {
    for (const { kind, length } of runs) {
      const part = text.slice(at, at + length);
      at += length;
      if (kind === null) {
        plain += part;
        continue;
      }
      endPlain();
      const span = document.createElement("span");
      span.className = `code-${kind}`;
      span.textContent = part;
      painted.append(span);
    }
    plain += text.slice(at, at + 1);
    at += 1;
  }
  plain += text.slice(at);
  endPlain();
  code.replaceChildren(painted);
}
