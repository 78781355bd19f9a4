/**
 * Files dropped anywhere on the page. Without this the browser would leave the page and show the
 * file.
 */

/**
 * Follows drags until `signal` aborts: reports whether files are held over the page, and which were
 * dropped.
 */
export function takeDrops(
  signal: AbortSignal,
  hold: (dragging: boolean) => void,
  drop: (files: readonly File[]) => void,
): void {
  const withFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") === true;
  document.addEventListener(
    "dragover",
    (event) => {
      if (!withFiles(event)) return;
      event.preventDefault();
      hold(true);
    },
    { signal },
  );
  document.addEventListener(
    "dragleave",
    // Into nothing, which means out of the window.
    (event) => {
      if (event.relatedTarget === null) hold(false);
    },
    { signal },
  );
  document.addEventListener(
    "drop",
    (event) => {
      hold(false);
      if (!withFiles(event)) return;
      event.preventDefault();
      drop([...(event.dataTransfer?.files ?? [])]);
    },
    { signal },
  );
}
