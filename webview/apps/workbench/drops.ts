/**
 * Files dropped anywhere on the page. Without this the browser would leave the page and show the
 * file.
 */
import type { Host } from "../../hosts/host.ts";

/**
 * Follows drags until `signal` aborts: reports whether files are held over the page, and which were
 * dropped.
 */
export function takeDrops(
  host: Pick<Host, "holdsFiles" | "droppedFiles">,
  signal: AbortSignal,
  hold: (dragging: boolean) => void,
  drop: (files: Promise<readonly File[]>) => void,
): void {
  const withFiles = (event: DragEvent) =>
    event.dataTransfer !== null && host.holdsFiles(event.dataTransfer.types);
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
      const { dataTransfer } = event;
      if (dataTransfer === null || !withFiles(event)) return;
      event.preventDefault();
      drop(host.droppedFiles(dataTransfer));
    },
    { signal },
  );
}
