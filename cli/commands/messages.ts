/** Messages: sent, answered, delivered again, withdrawn; their files. */

import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import type { LedgerEvent } from "../../shared/events.ts";
import { addressOf, partiesOf } from "../../shared/message-parties.ts";
import type { MessageMode } from "../../shared/model.ts";
import type { InputOf } from "../../shared/operations/registry.ts";
import type { CommandContext } from "../context.ts";
import { readInput } from "../input.ts";
import { oneLine, plain } from "../output.ts";
import { bytes, DELIVERY_WORDS } from "../render.ts";

/** A message's text: the argument, or standard input for `-` without its last line feed. */
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
    // The client may have to send it again after a connection that broke: it must not become two messages.
    client_id: context.text("idempotency-key") ?? randomUUID(),
  };
}

function printSent(
  context: CommandContext,
  { event, duplicate }: { event: LedgerEvent; duplicate: boolean },
): void {
  const to = addressOf(partiesOf(event, oneLine));
  // What goes to another instance is accepted here, and hasn't arrived.
  if (typeof event.data["dst_instance_id"] === "string") {
    context.out.line(`${duplicate ? "Accepted before" : "Accepted"} for ${to}: ${event.id}`);
    return;
  }
  context.out.line(`${duplicate ? "Sent before" : "Sent"} to ${to}: ${event.id}`);
}

/** What isn't a whole address is the daemon's to refuse: it never becomes a local message. */
function remoteAddress(context: CommandContext): { instance_id: string; target_group_id: string } | null {
  const instance_id = context.text("dst-instance");
  const target_group_id = context.text("dst-group");
  if (instance_id === undefined && target_group_id === undefined) return null;
  return { instance_id: instance_id ?? "", target_group_id: target_group_id ?? "" };
}

export async function send(context: CommandContext): Promise<number> {
  const group_id = await context.group();
  const mode = context.text("mode")?.replace("-", "_") as MessageMode | undefined;
  const message = {
    group_id,
    ...(await body(context, context.arg(0))),
    ...(mode === undefined ? {} : { message_mode: mode }),
    to: context.list("to"),
  };
  const dst_group_id = context.text("local-group");
  const reply_to = context.text("reply-to");
  const remote = remoteAddress(context);
  if (remote !== null) {
    if (dst_group_id !== undefined || reply_to !== undefined)
      throw context.usage(
        "--dst-instance goes with neither --local-group nor --reply-to; answer with 'svc reply'.",
      );
    return context.print("connect_send", { ...message, ...remote }, ({ delivery_state, source_event }) =>
      context.out.line(`${DELIVERY_WORDS[delivery_state]}: ${source_event.id}`),
    );
  }
  if (dst_group_id === undefined)
    return context.print("send", { ...message, ...(reply_to === undefined ? {} : { reply_to }) }, (sent) =>
      printSent(context, sent),
    );
  if (reply_to !== undefined)
    throw context.usage("--reply-to stays inside one Group; leave --local-group out.");
  return context.print("send_cross_group", { ...message, dst_group_id }, (sent) => printSent(context, sent));
}

export async function reply(context: CommandContext): Promise<number> {
  const mode = context.text("mode") as "send" | "mail" | undefined;
  const input = {
    group_id: await context.group(),
    event_id: context.arg(0),
    ...(await body(context, context.arg(1))),
    ...(mode === undefined ? {} : { message_mode: mode }),
  };
  return context.print("reply", input, (sent) => printSent(context, sent));
}

export async function deliver(context: CommandContext): Promise<number> {
  const actor_ids = context.list("to");
  if (actor_ids.length === 0) throw context.usage("Who is to get it? Name each Actor with --to.");
  const input = {
    group_id: await context.group(),
    source_event_id: context.arg(0),
    actor_ids,
    force_ambiguous: context.has("force-ambiguous"),
  };
  return context.print("message_deliver", input, ({ queued }) =>
    context.out.line(`Waiting for ${queued.map(oneLine).join(", ")}.`),
  );
}

export async function cancelReply(context: CommandContext): Promise<number> {
  const input = { group_id: await context.group(), event_id: context.arg(0) };
  return context.print("reply_request_cancel", input, ({ cancelled, duplicate }) =>
    context.out.line(
      `${duplicate ? "Withdrawn before" : "Withdrawn"} for ${cancelled.map(oneLine).join(", ") || "nobody"}. Running work isn't stopped.`,
    ),
  );
}

export async function file(context: CommandContext): Promise<number> {
  const save = context.text("save-to");
  const input = {
    group_id: await context.group(),
    event_id: context.arg(0),
    ...context.given("sha256"),
    ...(save === undefined ? {} : { save_to: resolve(save) }),
  };
  return context.print("file_fetch", input, ({ attachment, text, saved_to }) => {
    if (saved_to !== null)
      context.out.line(`Saved ${oneLine(attachment.name)} (${bytes(attachment.bytes)}) to ${saved_to}.`);
    else if (text !== null) context.out.line(plain(text));
    else
      context.out.line(
        `${oneLine(attachment.name)} (${bytes(attachment.bytes)}, ${oneLine(attachment.mime_type)}). Save it with --save-to.`,
      );
  });
}

export async function read(context: CommandContext): Promise<number> {
  const input = { group_id: await context.group(), event_id: context.arg(0) };
  return context.print("feed_read", input, ({ unread, attention }) =>
    context.out.line(`${unread} unread, ${attention} need attention.`),
  );
}
