/**
 * Named character references, such as `&copy;`, decoded by the browser. The build puts this in
 * place of the table that the Markdown parser would bring: 15 KiB of every first load.
 */

/** Nothing in it is shown, loaded or run. */
const place = document.implementation.createHTMLDocument("").createElement("span");

/** The one or two characters that a reference with its semicolon names; itself if it names none. */
export function decodeHTMLStrict(reference: string): string {
  if (!/^&[a-z][a-z0-9]{1,31};$/i.test(reference)) return reference;
  place.innerHTML = reference;
  const decoded = place.textContent;
  // A browser also takes the beginning of a name: `&ampx;` would become `&x;`.
  return Array.from(decoded).length <= 2 ? decoded : reference;
}
