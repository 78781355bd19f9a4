/** Asks for colors where there is code to color, and loads what colors it only then. */

/** Colors the code blocks inside the element. Offline, what isn't loaded yet leaves them plain. */
export function colored(inside: Element): void {
  if (inside.querySelector('code[class^="language-"]') === null) return;
  import("./code-colors.ts").then(({ colorCode }) => colorCode(inside)).catch(() => {});
}
