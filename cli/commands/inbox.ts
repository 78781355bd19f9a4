/** An Actor's Inbox and its own messages. */
import type { CommandContext } from "../context.ts";
import { printEvent } from "../render.ts";

/** The Actor to look at, and its Group. An Actor looks at itself; a person has to name one. */
async function address(context: CommandContext): Promise<{ group_id: string; actor_id?: string }> {
  const named = context.text("actor");
  if (named === undefined && !context.client.actsAsActor)
    throw context.usage("Which Actor? Use --actor NAME.");
  const groupId = await context.group();
  if (named === undefined) return { group_id: groupId };
  return { group_id: groupId, actor_id: await context.actor(groupId, named) };
}

function limit(context: CommandContext): { limit?: number } {
  const value = context.number("limit");
  return value === undefined ? {} : { limit: value };
}

export async function inbox(context: CommandContext): Promise<number> {
  const { out } = context;
  const waitSeconds = context.number("wait");
  const ack = context.text("ack");
  if (!context.has("read") && (waitSeconds !== undefined || ack !== undefined))
    throw context.usage("--wait and --ack need --read.");
  const input = { ...(await address(context)), ...limit(context) };
  if (!context.has("read"))
    return context.print("inbox_peek", input, ({ messages, unread }) => {
      for (const message of messages) printEvent(out, message);
      out.line(out.style("dim", `${unread} unread`));
    });
  return context.print(
    "inbox_read",
    {
      ...input,
      ...(waitSeconds === undefined ? {} : { wait_seconds: waitSeconds }),
      ...(ack === undefined ? {} : { ack }),
    },
    ({ messages, batch_id: batchId, has_more: hasMore, unread }) => {
      for (const { event, redelivered, part } of messages) {
        if (redelivered) out.line(out.style("yellow", "delivered before:"));
        if (part) out.line(out.style("dim", `bytes ${part.from} to ${part.to} of ${part.bytes}:`));
        printEvent(out, event);
      }
      const batch = batchId === null ? "" : `; batch ${batchId}`;
      out.line(out.style("dim", `${unread} unread${hasMore ? "; more to read" : ""}${batch}`));
    },
  );
}

export async function history(context: CommandContext): Promise<number> {
  const { out } = context;
  const mode = context.text("mode") as "all" | "sent" | "received" | undefined;
  const whose = await address(context);
  const input = {
    ...whose,
    ...limit(context),
    ...context.given("query"),
    ...(mode === undefined ? {} : { mode }),
    ...(await context.givenEvent(whose.group_id, "before", "before_event_id")),
  };
  return context.print("message_history", input, ({ events, continue_before: continueBefore }) => {
    if (continueBefore !== null) out.line(out.style("dim", `for older ones: --before ${continueBefore}`));
    for (const event of events) printEvent(out, event);
  });
}
