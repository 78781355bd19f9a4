/** What a person decides about the files of a Home. */
import { nameInHome, neededFiles } from "../../client/home-files.ts";
import { homePaths } from "../../client/paths.ts";
import { quotedName } from "../../shared/foreign-text.ts";
import type { CommandContext } from "../context.ts";

/** From now on the daemon starts without this file, and makes a new one. */
export async function forget(context: CommandContext): Promise<number> {
  const paths = homePaths(context.home);
  const name = context.arg(0);
  const needed = neededFiles(paths).find(({ path }) => nameInHome(paths, path) === name);
  if (needed === undefined) {
    const names = neededFiles(paths).map(({ path }) => nameInHome(paths, path));
    throw context.usage(`'${quotedName(name)}' is none of the needed files: ${names.join(", ")}.`);
  }
  if (context.text("confirm") !== name)
    throw context.usage(`${needed.lost} Repeat its name: --confirm ${name}.`);
  const { forgetHomeFile } = await import("../../daemon/main.ts");
  const aside = await forgetHomeFile(context.home, needed.path);
  if (context.out.json) context.out.document({ ok: true, result: { file: name, aside } });
  else {
    if (aside !== null) context.out.line(`What was in its place is now ${aside}.`);
    context.out.line(`The daemon starts without ${name}. ${needed.lost}`);
  }
  return 0;
}
