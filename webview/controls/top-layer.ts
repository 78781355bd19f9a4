/** What lies over the page: dialogs and menus. */

/** Closes it, but for what `stays`. */
export function clearTopLayer(stays: (dialog: Element) => boolean = () => false): void {
  for (const dialog of document.querySelectorAll<HTMLDialogElement>("dialog[open]"))
    if (!stays(dialog)) dialog.close();
  for (const menu of document.querySelectorAll<HTMLElement>("[popover]:popover-open")) menu.hidePopover();
}
