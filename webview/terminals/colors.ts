/**
 * The terminal's colours from the editor's variables, with our own if neither the editor nor the
 * theme has one.
 */
import type { ITheme } from "@xterm/xterm";

const DARK: ITheme = {
  black: "#000000",
  red: "#f14c4c",
  green: "#23d18b",
  yellow: "#e5e510",
  blue: "#3b8eea",
  magenta: "#d670d6",
  cyan: "#29b8db",
  white: "#e5e5e5",
  brightBlack: "#8a8a8a",
  brightRed: "#f14c4c",
  brightGreen: "#23d18b",
  brightYellow: "#f5f543",
  brightBlue: "#3b8eea",
  brightMagenta: "#d670d6",
  brightCyan: "#29b8db",
  brightWhite: "#ffffff",
};

const LIGHT: ITheme = {
  black: "#000000",
  red: "#cd3131",
  green: "#107c10",
  yellow: "#7a6400",
  blue: "#0451a5",
  magenta: "#bc05bc",
  cyan: "#05708a",
  white: "#555555",
  brightBlack: "#666666",
  brightRed: "#cd3131",
  brightGreen: "#117a3c",
  brightYellow: "#7a6400",
  brightBlue: "#0451a5",
  brightMagenta: "#bc05bc",
  brightCyan: "#05708a",
  brightWhite: "#3b3b3b",
};

/** The current colours, read again when the theme changes. */
export function terminalColors(): ITheme {
  const style = getComputedStyle(document.body);
  const value = (name: string) => style.getPropertyValue(`--vscode-${name}`).trim();
  const base = document.body.className.includes("light") ? LIGHT : DARK;
  const own = Object.entries(base).map(([name, color]) => {
    const ansi = value(`terminal-ansi${name[0]!.toUpperCase()}${name.slice(1)}`);
    return [name, ansi === "" ? color : ansi];
  });
  const background = value("terminal-background") || value("editor-background");
  const foreground = value("terminal-foreground") || value("editor-foreground");
  return {
    ...(Object.fromEntries(own) as ITheme),
    background,
    foreground,
    cursor: foreground,
    cursorAccent: background,
    selectionBackground: value("editor-selectionBackground") || "#3a6ea580",
  };
}
