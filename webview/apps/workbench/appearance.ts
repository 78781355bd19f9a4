/** Which of the four themes is shown: the system's, or the person's own choice. Pure. */
export type ThemeKind = "light" | "dark" | "hc-dark" | "hc-light";
export type ThemeChoice = ThemeKind | "system";

export const THEME_CHOICES: readonly { value: ThemeChoice; label: string }[] = [
  { value: "system", label: "System" },
  { value: "light", label: "Light" },
  { value: "dark", label: "Dark" },
  { value: "hc-light", label: "High contrast, light" },
  { value: "hc-dark", label: "High contrast, dark" },
];

export function readThemeChoice(value: unknown): ThemeChoice {
  return THEME_CHOICES.find((choice) => choice.value === value)?.value ?? "system";
}

export function themeFor(choice: ThemeChoice, system: { dark: boolean; contrast: boolean }): ThemeKind {
  if (choice !== "system") return choice;
  if (system.contrast) return system.dark ? "hc-dark" : "hc-light";
  return system.dark ? "dark" : "light";
}
