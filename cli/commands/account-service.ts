/** Runs and administers the account service. It is loaded only by these commands. */
import type { CommandContext } from "../context.ts";

function settings(context: CommandContext) {
  return {
    folder: context.text("folder"),
    host: context.text("host"),
    port: context.number("port"),
    origin: context.text("origin"),
    database: context.text("database"),
    proxies: context.number("proxies"),
  };
}

export async function run(context: CommandContext): Promise<number> {
  const { serve } = await import("../../account/main.ts");
  return serve(settings(context), context.out);
}
