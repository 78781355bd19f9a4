/** `svc mcp`: the stdio server, as the Actor of the environment or of the folder's Group. */
import { Refusal } from "../../shared/errors.ts";
import { ENVIRONMENT } from "../../shared/names.ts";
import type { CommandContext } from "../context.ts";
import { groupOfFolder } from "../group-selection.ts";
import { groupNamed } from "../lookup.ts";
import { UsageError } from "../usage-error.ts";

/** The Actor is looked for when the client needs it: by then the daemon may run. */
export async function mcp(context: CommandContext): Promise<never> {
  const name = context.text("as");
  const folder = context.text("folder");
  const group = context.text("group");
  const { serve } = await import("../../mcp-server/main.ts");
  if (name === undefined) {
    if (folder !== undefined || group !== undefined)
      throw context.usage("--folder and --group say where the Actor of --as is. Give --as, too.");
    return serve(context.home);
  }
  const named = group ?? process.env[ENVIRONMENT.group] ?? "";
  return serve(context.home, async (person) => {
    try {
      const groupId =
        named === "" ? await groupOfFolder(person, folder ?? process.cwd()) : await groupNamed(person, named);
      return { group_id: groupId, actor_id: name };
    } catch (error) {
      // Nobody reads how to use a command here, but the agent reads why its tool failed.
      if (error instanceof UsageError) throw new Refusal("group_not_found", { specifics: error.message });
      throw error;
    }
  });
}
