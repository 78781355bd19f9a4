/**
 * Requirement ids as tests cite them. `verifies("EVT-008")` inside a test or a suite says that it
 * proves the row; the coverage report reads these citations from the sources, so an id must be a
 * literal.
 */
const ID = /^[A-Z]{2,5}-\d{3}$/;

export function verifies(...ids: string[]): void {
  for (const id of ids) if (!ID.test(id)) throw new Error(`${id} isn't a requirement id`);
}
