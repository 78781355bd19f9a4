/** A text as a QR code in a terminal: two modules in each character, dark on light. */
import { create } from "qrcode";

/** Light modules around the code that readers need. */
const QUIET = 2;
const DARK_ON_LIGHT = "\u001b[30;47m";
const USUAL = "\u001b[0m";
const BLOCKS = [" ", "\u2584", "\u2580", "\u2588"] as const;

export function qrCode(text: string): string[] {
  const { modules } = create(text, { errorCorrectionLevel: "L" });
  const isDark = (row: number, column: number): boolean =>
    row >= 0 && column >= 0 && row < modules.size && column < modules.size && modules.get(row, column) === 1;
  const lines: string[] = [];
  for (let row = -QUIET; row < modules.size + QUIET; row += 2) {
    let line = "";
    for (let column = -QUIET; column < modules.size + QUIET; column += 1) {
      line += BLOCKS[(isDark(row, column) ? 2 : 0) + (isDark(row + 1, column) ? 1 : 0)];
    }
    lines.push(`${DARK_ON_LIGHT}${line}${USUAL}`);
  }
  return lines;
}
