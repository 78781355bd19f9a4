/** Messages: sending, answering, delivering again, withdrawing, and their files. */

import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import { arrival, isAbsent } from "../../shared/arrival.ts";
import type { MessageEvent } from "../../shared/events.ts";
import { addressOf, partiesOf, recipientWords } from "../../shared/message-parties.ts";
import type { MessageMode } from "../../shared/model.ts";
import { openRequests, requestWords } from "../../shared/open-requests.ts";
import type { InputOf, ResultOf } from "../../shared/operations/registry.ts";
import { sizeWords } from "../../shared/size-words.ts";
import { localId, quoted, senderWords } from "../../shared/voice.ts";
import type { CommandContext } from "../context.ts";
import { readInput } from "../input.ts";
import { groupNamed, instanceNamed, remoteGroupNamed } from "../lookup.ts";
import { missingOf, programNote } from "../missing.ts";
import { oneLine, plain } from "../output.ts";
import { DELIVERY_WORDS } from "../render.ts";

/** A message's text: the argument, or for `-` standard input without its last line feed. */
async function textOf(argument: string): Promise<string> {
  return argument === "-" ? (await readInput()).replace(/\r?\n$/, "") : argument;
}

async function body(context: CommandContext, text: string) {
  const format = context.text("format") as InputOf<"send">["format"] | undefined;
  return {
    text: await textOf(text),
    ...context.given("insight"),
    ...(format === undefined ? {} : { format }),
    paths: context.list("attach").map((path) => resolve(path)),
    // If the connection breaks, the client may have to send it again. It must not become two
    // messages.
    client_id: context.text("idempotency-key") ?? randomUUID(),
  };
}

function printSent(
  context: CommandContext,
  { event, duplicate }: { event: MessageEvent; duplicate: boolean },
): void {
  const to = addressOf(partiesOf(event, localId));
  // A message to another instance is accepted here, but hasn't arrived there.
  if (event.data.dst_instance_id !== undefined) {
    context.out.line(`${duplicate ? "Already accepted" : "Accepted"} for ${to}: ${event.id}`);
    return;
  }
  context.out.line(`${duplicate ? "Already sent" : "Sent"} to ${to}: ${event.id}`);
}

/** How many requests that a message leaves open are named. */
const REMINDED = 3;

/**
 * A new message answers nothing. Says which requests of those who got it still wait for the
 * person, and how to answer them. That they can't be read is no failure of the message.
 */
async function remind(context: CommandContext, groupId: string, { data }: MessageEvent): Promise<void> {
  const { client, out } = context;
  if (out.json || client.actsAsActor || data.reply_to !== undefined) return;
  const open = await openRequests((name, input) => client.result(name, input), groupId).catch(() => []);
  for (const request of open.filter(({ by }) => data.to.includes(by)).slice(0, REMINDED)) {
    const how = context.suggested(`'svc reply ${request.id} TEXT'`);
    out.note(`${senderWords(request)} still waits for your reply to “${requestWords(request)}”: ${how}`);
  }
}

/**
 * Says who doesn't get it now, and why an agent can't start at all. That it can't be read is no
 * failure of the message.
 */
async function tellWaiting(
  context: CommandContext,
  { group_id: groupId, data }: MessageEvent,
): Promise<void> {
  const { client, out } = context;
  if (out.json) return;
  const [listed, shown] = await Promise.all([
    client.call("actor_list", { group_id: groupId }),
    client.call("group_show", { group_id: groupId }),
  ]);
  const actors = listed.ok ? listed.result.actors.filter(({ id }) => data.to.includes(id)) : [];
  if (actors.length === 0) return;
  const { sentence, waits } = arrival(actors, data.message_mode, shown.ok ? shown.result : null);
  if (waits && data.message_mode !== "mail") out.note(sentence);
  for (const actor of actors.filter(isAbsent)) {
    const missing = await missingOf(context, groupId, actor);
    const program = missing.find(({ kind }) => kind === "program");
    if (program !== undefined) out.note(programNote(context, program, actor.id));
  }
}

/** The daemon refuses an incomplete address. It never becomes a local message. */
async function remoteAddress(
  context: CommandContext,
  groupId: string,
): Promise<{ instance_id: string; target_group_id: string } | null> {
  const instance = context.text("dst-instance");
  const group = context.text("dst-group");
  if (instance === undefined && group === undefined) return null;
  if (instance === undefined || instance === "") return { instance_id: "", target_group_id: group ?? "" };
  const instanceId = await instanceNamed(context.client, groupId, instance);
  const targetGroupId = await remoteGroupNamed(context.client, groupId, instanceId, group ?? "");
  return { instance_id: instanceId, target_group_id: targetGroupId };
}

export async function send(context: CommandContext): Promise<number> {
  const groupId = await context.group();
  const mode = context.text("mode")?.replace("-", "_") as MessageMode | undefined;
  const message = {
    group_id: groupId,
    ...(await body(context, context.arg(0))),
    ...(mode === undefined ? {} : { message_mode: mode }),
    to: context.list("to"),
  };
  const local = context.text("local-group");
  const dstGroupId = local === undefined ? undefined : await groupNamed(context.client, local);
  const { reply_to: replyTo } = await context.givenEvent(groupId, "reply-to", "reply_to");
  const remote = await remoteAddress(context, groupId);
  if (remote !== null) {
    if (dstGroupId !== undefined || replyTo !== undefined)
      throw context.usage(
        "--dst-instance can't be combined with --local-group or --reply-to. To answer a message, use 'svc reply'.",
      );
    return context.print(
      "connect_send",
      { ...message, ...remote },
      ({ delivery_state: deliveryState, source_event: sourceEvent }) =>
        context.out.line(`${DELIVERY_WORDS[deliveryState]}: ${sourceEvent.id}`),
    );
  }
  if (dstGroupId === undefined) {
    const sent: MessageEvent[] = [];
    const code = await context.print(
      "send",
      { ...message, ...(replyTo === undefined ? {} : { reply_to: replyTo }) },
      (accepted) => {
        printSent(context, accepted);
        sent.push(accepted.event);
      },
    );
    for (const event of sent) {
      await tellWaiting(context, event);
      await remind(context, groupId, event);
    }
    return code;
  }
  if (replyTo !== undefined)
    throw context.usage("--reply-to works only within one Group. Leave out --local-group.");
  return context.print("send_cross_group", { ...message, dst_group_id: dstGroupId }, (sent) =>
    printSent(context, sent),
  );
}

export async function reply(context: CommandContext): Promise<number> {
  const mode = context.text("mode") as "send" | "mail" | undefined;
  const groupId = await context.group();
  const input = {
    group_id: groupId,
    event_id: await context.event(groupId, context.arg(0)),
    ...(await body(context, context.arg(1))),
    ...(mode === undefined ? {} : { message_mode: mode }),
  };
  const sent: MessageEvent[] = [];
  const code = await context.print("reply", input, (accepted) => {
    printSent(context, accepted);
    sent.push(accepted.event);
  });
  for (const event of sent) await tellWaiting(context, event);
  return code;
}

export async function deliver(context: CommandContext): Promise<number> {
  const actorIds = context.list("to");
  if (actorIds.length === 0) throw context.usage("Deliver to whom? Use --to ACTOR.");
  const groupId = await context.group();
  const input = {
    group_id: groupId,
    source_event_id: await context.event(groupId, context.arg(0)),
    actor_ids: actorIds,
    force_ambiguous: context.has("force-ambiguous"),
  };
  return context.print("message_deliver", input, ({ queued }) =>
    context.out.line(`Waiting for ${queued.map(oneLine).join(", ")}.`),
  );
}

export async function withdraw(context: CommandContext): Promise<number> {
  const groupId = await context.group();
  const input = { group_id: groupId, event_id: await context.event(groupId, context.arg(0)) };
  return context.print("message_withdraw", input, ({ withdrawn }) =>
    context.out.line(`${withdrawn.map(oneLine).join(", ")} won't get it.`),
  );
}

export async function cancelReply(context: CommandContext): Promise<number> {
  const groupId = await context.group();
  const input = { group_id: groupId, event_id: await context.event(groupId, context.arg(0)) };
  return context.print("reply_request_cancel", input, ({ cancelled, duplicate }) =>
    context.out.line(
      `${duplicate ? "Already withdrawn" : "Withdrawn"} for ${cancelled.map((recipient) => oneLine(recipientWords(recipient))).join(", ") || "no Actor"}. Running work isn't stopped.`,
    ),
  );
}

export async function file(context: CommandContext): Promise<number> {
  const { client } = context;
  const groupId = await context.group();
  const input = {
    group_id: groupId,
    event_id: await context.event(groupId, context.arg(0)),
    ...context.given("sha256"),
  };
  const wanted = context.text("save-to");
  // An Actor's files stay inside its project, because the daemon writes them. The person's files go
  // wherever the person may write.
  if (wanted === undefined || client.actsAsActor) {
    const save = wanted === undefined ? {} : { save_to: resolve(wanted) };
    return context.print("file_fetch", { ...input, ...save }, (fetched) => printFile(context, fetched));
  }
  const found = await client.call("file_fetch", input);
  if (!found.ok) return context.show(found, () => undefined);
  const { saveFile } = await import("../save-file.ts");
  const savedTo = await saveFile(client, groupId, found.result.attachment, wanted);
  return context.show({ ok: true, result: { ...found.result, saved_to: savedTo } }, (fetched) =>
    printFile(context, fetched),
  );
}

function printFile(
  { out }: CommandContext,
  { attachment, text, saved_to: savedTo }: ResultOf<"file_fetch">,
): void {
  const { name, mime_type: mimeType } = attachment;
  const size = sizeWords(attachment.bytes);
  if (savedTo !== null) out.line(`Saved ${quoted(name)} (${size}) to ${savedTo}.`);
  else if (text !== null) out.line(plain(text));
  else out.line(`${quoted(name)} (${size}, ${oneLine(mimeType)}). Save it with --save-to.`);
}

export async function read(context: CommandContext, operation: "feed_read" | "feed_unread"): Promise<number> {
  const groupId = await context.group();
  const input = { group_id: groupId, event_id: await context.event(groupId, context.arg(0)) };
  return context.print(operation, input, ({ unread, attention }) =>
    context.out.line(`${unread} unread, ${attention} need attention.`),
  );
}
