/** What keeps an Actor's agent from starting, and what helps. */
import type { Actor } from "../shared/model.ts";
import { type MissingWords, missingWords } from "../shared/start-words.ts";
import type { CommandContext } from "./context.ts";

/** What an Actor's agent still needs before it can work. Nothing for an Actor's own command. */
export async function missingOf(
  { client }: CommandContext,
  groupId: string,
  { id, runner, runtime, command }: Pick<Actor, "id" | "runner" | "runtime" | "command">,
): Promise<MissingWords[]> {
  if (runner !== "pty" || command.length > 0) return [];
  const listed = await client.call("runtime_list", { group_id: groupId, actor_id: id });
  const known = listed.ok ? listed.result.runtimes.find((one) => one.runtime === runtime) : undefined;
  return known === undefined ? [] : missingWords(known);
}

export function missingNote({ what, command, remedy }: MissingWords): string {
  return `svc: ${what} ${remedy}${command === undefined ? "" : ` To log in, run '${command}'.`}`;
}

/** The same for its program, with the way out. */
export function programNote(context: CommandContext, { what, command }: MissingWords, id: string): string {
  const install = command === undefined ? "Install it" : `Install it with '${command}'`;
  return `svc: ${what} ${install}, or give ${id} another command: ${context.command("actor", "update", id)} -- COMMAND`;
}
