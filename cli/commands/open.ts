/** The Workbench in a browser, by a one-time link. */
import { openInBrowser } from "../browser.ts";
import type { CommandContext } from "../context.ts";

export async function open(context: CommandContext): Promise<number> {
  const envelope = await context.client.call("login_link_create", {});
  if (!envelope.ok || context.out.json) return context.show(envelope, () => undefined);
  const { url } = envelope.result;
  const isOpened = !context.has("print") && (await openInBrowser(context, url));
  context.out.line(isOpened ? "Opened the Workbench in the browser." : url);
  return 0;
}
