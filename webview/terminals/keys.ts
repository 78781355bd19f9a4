/**
 * The keys that phones have none of, and what a terminal sends for them. Pure.
 */

interface TerminalKey {
  label: string;
  /** What it is, for screen readers and on hover. */
  name: string;
  /** The last letter of its sequence, if it is an arrow. */
  arrow?: "A" | "B" | "C" | "D";
  data: string;
}

export const TERMINAL_KEYS = [
  { label: "Esc", name: "Esc", data: "\u001b" },
  { label: "Tab", name: "Tab", data: "\t" },
  { label: "←", name: "Left", arrow: "D", data: "" },
  { label: "↑", name: "Up", arrow: "A", data: "" },
  { label: "↓", name: "Down", arrow: "B", data: "" },
  { label: "→", name: "Right", arrow: "C", data: "" },
] as const satisfies readonly TerminalKey[];

/**
 * What the key sends. Arrows depend on the program's mode (DECCKM) and on whether Ctrl is held.
 */
export function keyData(
  { arrow, data }: TerminalKey,
  held: { application: boolean; control: boolean },
): string {
  if (arrow === undefined) return data;
  if (held.control) return `\u001b[1;5${arrow}`;
  return held.application ? `\u001bO${arrow}` : `\u001b[${arrow}`;
}

/** What was typed as if Ctrl had been held. Anything but one character stays as it is. */
export function withControl(data: string): string {
  if (data.length !== 1) return data;
  if (data === " ") return "\u0000";
  if (data === "?") return "\u007f";
  const code = data.toUpperCase().charCodeAt(0);
  return code >= 0x40 && code <= 0x5f ? String.fromCharCode(code & 0x1f) : data;
}
