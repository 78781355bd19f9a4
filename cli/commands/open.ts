/** The Workbench in a browser, by a one-time link, at what the person names. */
import { addressQuery, NOWHERE } from "../../shared/address.ts";
import { openInBrowser } from "../browser.ts";
import type { CommandContext } from "../context.ts";
import { groupNamed } from "../lookup.ts";

/** What the command names of a Group, as the Workbench's address has it. */
async function addressOf(context: CommandContext): Promise<string> {
  const [named] = context.args;
  const { message, terminal, search } = context.given("message", "terminal", "search");
  if ([named, message, terminal, search].every((one) => one === undefined)) return "";
  const groupId = named === undefined ? await context.group() : await groupNamed(context.client, named);
  // What doesn't exist is refused here, and not on a page.
  await context.client.result("group_show", { group_id: groupId });
  return addressQuery({
    ...NOWHERE,
    groupId,
    eventId: message === undefined ? null : await context.event(groupId, message),
    actorId: terminal === undefined ? null : await context.actor(groupId, terminal),
    search: search ?? null,
  });
}

export async function open(context: CommandContext): Promise<number> {
  return openWorkbench(context, await addressOf(context));
}

/** Opens it at an address's query, or prints the one-time link. Returns the exit code. */
export async function openWorkbench(context: CommandContext, query: string): Promise<number> {
  const envelope = await context.client.call("login_link_create", {});
  if (envelope.ok) envelope.result.url = envelope.result.url.replace("/#", `/${query}#`);
  if (!envelope.ok || context.out.json) return context.show(envelope, () => undefined);
  const { url } = envelope.result;
  const isOpened = !context.has("print") && (await openInBrowser(context, url));
  context.out.line(isOpened ? "Opened the Workbench in the browser." : url);
  return 0;
}
