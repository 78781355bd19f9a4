/**
 * The theme outside of VS Code: our own values for the editor's variables, chosen by the system or
 * the person. Inside VS Code the editor sets all of this itself.
 */
import { readThemeChoice, type ThemeChoice, type ThemeKind, themeFor } from "./appearance.ts";

const EDITOR_KIND: Record<ThemeKind, string> = {
  light: "vscode-light",
  dark: "vscode-dark",
  "hc-dark": "vscode-high-contrast",
  "hc-light": "vscode-high-contrast-light",
};
const dark = matchMedia("(prefers-color-scheme: dark)");
const contrast = matchMedia("(prefers-contrast: more)");

/**
 * Variables first, then the body's class and kind, because the toolkit reads the variables when the
 * class changes.
 */
function apply(choice: ThemeChoice): void {
  const kind = themeFor(choice, { dark: dark.matches, contrast: contrast.matches });
  document.documentElement.dataset["theme"] = kind;
  document.body.className = EDITOR_KIND[kind];
  document.body.dataset["vscodeThemeKind"] = EDITOR_KIND[kind];
}

/** Applies `remembered`, follows the system, and returns how the person chooses. */
export function followTheme(remembered: unknown): {
  choice: ThemeChoice;
  choose: (choice: ThemeChoice) => void;
} {
  const theme = {
    choice: readThemeChoice(remembered),
    choose: (choice: ThemeChoice) => {
      theme.choice = choice;
      apply(choice);
    },
  };
  const follow = () => apply(theme.choice);
  dark.addEventListener("change", follow);
  contrast.addEventListener("change", follow);
  follow();
  return theme;
}
