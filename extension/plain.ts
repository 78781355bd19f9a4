/**
 * Other people's names and texts in the editor's own controls. Some of those read `$(name)` as an
 * icon and `[text](command:...)` as a link that runs a command: what an agent calls itself must do
 * neither.
 */
import { shownName } from "../shared/foreign-text.ts";

/** A name or sentence that is shown as it is, on one line. */
export function plain(text: string): string {
  return shownName(text).replaceAll("](", "] (").replaceAll("$(", "$ (");
}
