/** Links within the page. */

/** The person wants a link in another tab or window, which the browser does itself. */
export function opensElsewhere(event: MouseEvent): boolean {
  return event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
}
