/** What is shown beside a Group's conversation. */

import { randomUUID } from "node:crypto";
import { basename, resolve } from "node:path";
import { addressQuery, NOWHERE } from "../../shared/address.ts";
import { quotedName } from "../../shared/foreign-text.ts";
import type { Presentation } from "../../shared/operations/presentations.ts";
import { kindOfFile } from "../../shared/presentation-file.ts";
import type { PresentationKind } from "../../shared/presentation-kind.ts";
import { sizeWords } from "../../shared/size-words.ts";
import { labelled, shownId } from "../../shared/voice.ts";
import type { CommandContext } from "../context.ts";
import { readInput } from "../input.ts";
import { oneLine } from "../output.ts";
import { counted, moment } from "../render.ts";
import { openWorkbench } from "./open.ts";

function slotOf(context: CommandContext): number {
  const typed = context.arg(0);
  if (!/^\d$/.test(typed))
    throw context.usage(`The slot is a number from 1 to 4, not '${quotedName(typed)}'.`);
  return Number(typed);
}

/** One of a file, standard input and an address, with the kind and title that follow from it. */
async function source(context: CommandContext) {
  const file = context.arg(1);
  const url = context.text("url");
  const kind = context.text("kind") as PresentationKind | undefined;
  const title = context.text("title");
  if ((file === "") === (url === undefined)) throw context.usage("Give a file, - or --url, and only one.");
  if (url !== undefined) return { url, kind: kind ?? ("url" as const), title: title ?? url };
  if (file !== "-") {
    const known = kind ?? kindOfFile(file);
    if (known === undefined) throw context.usage("The file's name doesn't say what it is: give --kind.");
    return { path: resolve(file), kind: known, title: title ?? basename(file) };
  }
  if (kind === undefined || title === undefined)
    throw context.usage("Standard input needs --kind and --title.");
  return { text: await readInput(), kind, title };
}

export async function publish(context: CommandContext): Promise<number> {
  const slot = slotOf(context);
  const given = await source(context);
  const input = {
    group_id: await context.group(),
    slot,
    ...given,
    // If the connection breaks, the client may have to send it again.
    client_id: context.text("idempotency-key") ?? randomUUID(),
  };
  return context.print("presentation_publish", input, ({ presentation, duplicate }) =>
    context.out.line(
      `${duplicate ? "Already shown" : "Shown"} in slot ${slot}: ${labelled(presentation.title)}  ${presentation.event_id}`,
    ),
  );
}

export async function clear(context: CommandContext): Promise<number> {
  const input = { slot: slotOf(context), group_id: await context.group() };
  return context.print("presentation_clear", input, ({ slot, cleared }) =>
    context.out.line(cleared ? `Slot ${slot} is empty.` : `Slot ${slot} was empty.`),
  );
}

export async function list(context: CommandContext): Promise<number> {
  const slot = context.arg(0) === "" ? undefined : slotOf(context);
  const input = { group_id: await context.group(), ...(slot === undefined ? {} : { slot }) };
  return context.print("presentation_list", input, ({ slots, versions }) => {
    if (slot !== undefined) {
      for (const version of versions) printVersion(context, version, version.current ? "*" : " ");
      if (versions.length === 0) context.out.line(`Slot ${slot} is empty.`);
      return;
    }
    for (const { slot: number, presentation, versions: count } of slots) {
      if (presentation !== null) printVersion(context, presentation, String(number));
      else
        context.out.line(`${number}  empty${count === 0 ? "" : ` (${counted(count, "earlier version")})`}`);
    }
  });
}

function printVersion({ out }: CommandContext, version: Presentation, mark: string): void {
  const { title, kind, bytes, url, by, ts, event_id: id } = version;
  const what = url === undefined ? `${kind}, ${sizeWords(bytes ?? 0)}` : oneLine(url);
  out.line(
    `${mark}  ${out.style("bold", labelled(title))}  (${what})  ${shownId(by)}, ${moment(ts)}  ${out.style("dim", id)}`,
  );
}

export async function open(context: CommandContext): Promise<number> {
  const slot = slotOf(context);
  const groupId = await context.group();
  // What doesn't exist is refused here, and not on a page.
  await context.client.result("presentation_list", { group_id: groupId, slot });
  return openWorkbench(context, addressQuery({ ...NOWHERE, groupId, slot }));
}
