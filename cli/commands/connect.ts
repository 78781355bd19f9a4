/** Other instances and their Groups, as this daemon knows them. */

import { labelled } from "../../shared/voice.ts";
import { openInBrowser } from "../browser.ts";
import type { CommandContext } from "../context.ts";
import { instanceNamed, remoteGroupNamed } from "../lookup.ts";
import { oneLine } from "../output.ts";
import { moment } from "../render.ts";

export async function connect(context: CommandContext): Promise<number> {
  const limit = context.number("limit");
  const groupId = await context.group();
  const instance = context.text("instance");
  const group = context.text("target-group");
  const instanceId = instance && (await instanceNamed(context.client, groupId, instance));
  const targetGroupId =
    instanceId && group ? await remoteGroupNamed(context.client, groupId, instanceId, group) : group;
  const input = {
    group_id: groupId,
    ...(instanceId === undefined ? {} : { instance_id: instanceId }),
    ...context.given("after"),
    ...(targetGroupId === undefined ? {} : { target_group_id: targetGroupId }),
    ...(limit === undefined ? {} : { limit }),
  };
  const answer = await context.client.call("connect_catalog", input);
  const isDirectory = answer.ok && "external_groups" in answer.result;
  const unconfirmed = isDirectory && !context.out.json ? await unconfirmedWords(context) : null;
  return context.show(answer, (found) => {
    const { out } = context;
    if ("instance" in found) {
      const { catalog, fresh, next } = found;
      if (catalog === null)
        return out.line("The other side hasn't been reached yet, so its Actors aren't known.");
      out.note(`as of ${moment(catalog.checked_at)}${fresh ? "" : ", a while ago"}`);
      for (const group of catalog.groups) {
        out.line(`${labelled(group.group_id)}  ${labelled(group.title)}`);
        for (const { id, title, role, enabled } of group.actors) {
          out.line(`  ${labelled(id)}  ${labelled(title)}  ${role ?? ""}${enabled ? "" : ", disabled"}`);
        }
      }
      if (next !== null) out.note(`For more, use --after ${oneLine(next)}.`);
      return;
    }
    for (const { instance_id: instanceId, display_name: displayName } of found.instances) {
      out.line(`${instanceId}  ${labelled(displayName ?? "")}`);
    }
    for (const { instance, group_id: groupId, title, transport } of found.external_groups) {
      out.line(`${instance.instance_id} ${labelled(groupId)}  ${labelled(title)}  ${transport}`);
    }
    if (unconfirmed !== null) out.note(unconfirmed);
    else if (found.instances.length + found.external_groups.length === 0) {
      const words =
        found.status === "unavailable"
          ? "This Group has no connection that is confirmed now."
          : "This Group has no connections. 'svc connections' says how they begin.";
      out.note(context.suggested(words));
    }
    if (found.account_error !== null) out.note(context.suggested(oneLine(found.account_error)));
  });
}

/**
 * Says that connections to other accounts can't be told now, and why; null if they can, or if this
 * instance isn't linked.
 */
export async function unconfirmedWords(context: CommandContext): Promise<string | null> {
  const answer = await context.client.call("connect_status", {});
  if (!answer.ok) return null;
  const { connect: snapshot, group_connections: counts } = answer.result;
  if (snapshot === null || counts !== null) return null;
  const why = snapshot.group_sync?.error_message ?? "";
  return context.suggested(oneLine(`Connections to other accounts aren't confirmed now. ${why}`.trim()));
}

/** Selects a Group for a connection with another account, or for an invitation to one. */
export async function select(context: CommandContext): Promise<number> {
  const groupId = await context.group();
  const invitation = context.args[0];
  const input = {
    by: "user",
    group_id: groupId,
    ...(invitation === undefined ? {} : { invitation }),
  } as const;
  const answer = await context.client.call("connect_group_select", input);
  const code = context.show(answer, ({ url }) => {
    context.out.line(url);
    context.out.note(
      invitation === undefined
        ? "Open this page within 24 hours, and name the member whom you invite. Nothing is shared before they accept."
        : "Open this page within 24 hours. It shows who invites you, and asks before anything is connected.",
    );
  });
  if (answer.ok && context.has("open") && !(await openInBrowser(context, answer.result.url)))
    context.out.note("There is no browser here: open the address yourself.");
  return code;
}
