/** As much of a source map (ECMA-426) as a breakpoint needs. */
import { pathToFileURL } from "node:url";

export interface SourceMap {
  sources: string[];
  sourceRoot?: string;
  mappings: string;
}

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** The numbers of one segment, in base 64 VLQ. */
function numbersOf(segment: string): number[] {
  const numbers: number[] = [];
  let value = 0;
  let shift = 0;
  for (const letter of segment) {
    const digit = DIGITS.indexOf(letter);
    value += (digit & 31) << shift;
    shift += 5;
    if (digit >= 32) continue;
    numbers.push(value & 1 ? -(value >> 1) : value >> 1);
    value = 0;
    shift = 0;
  }
  return numbers;
}

/**
 * Where the code of a line of a source begins in the script at `url`: line and column, both counted
 * from 0. Empty when it has none.
 */
export function generatedPositions(
  { sources, sourceRoot = "", mappings }: SourceMap,
  url: string,
  { file, line }: { file: string; line: number },
): [line: number, column: number][] {
  const path = pathToFileURL(file).href;
  const wanted = sources.findIndex((source) => new URL(sourceRoot + source, url).href === path);
  if (wanted === -1) return [];
  const found: [number, number][] = [];
  let [source, originalLine] = [0, 0];
  for (const [generatedLine, segments] of mappings.split(";").entries()) {
    let column = 0;
    for (const segment of segments.split(",").filter((text) => text !== "")) {
      const [columnStep, sourceStep = 0, lineStep = 0] = numbersOf(segment);
      column += columnStep!;
      source += sourceStep;
      originalLine += lineStep;
      if (source === wanted && originalLine === line - 1) found.push([generatedLine, column]);
    }
  }
  return found.slice(0, 1);
}
