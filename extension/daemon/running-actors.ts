/** Which agents run in the daemon's terminals, and so end with it. */

import type { DaemonClient } from "../../client/client.ts";
import { actorName, hasTerminal } from "../../shared/actor-words.ts";
import { labelled, quoted } from "../../shared/voice.ts";
import { plain } from "../plain.ts";

/** Names of the Actors whose processes end with the daemon, as it says now. */
export async function runningActors(client: DaemonClient): Promise<string[]> {
  const { groups } = await client.result("group_list", {});
  const names: string[] = [];
  for (const { group_id: groupId, title } of groups) {
    const { actors } = await client.result("actor_list", { group_id: groupId });
    for (const actor of actors)
      if (hasTerminal(actor) && !["stopped", "failed"].includes(actor.presence.state))
        names.push(plain(`${labelled(actorName(actor))} in ${quoted(title)}`));
  }
  return names;
}
