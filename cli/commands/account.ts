/** The link to an account: made, shown and ended. */

import { commandLine } from "../../client/failures.ts";
import { accountStateWords, joinedSentence } from "../../shared/account-words.ts";
import {
  connectionName,
  connectionSentence,
  connectionStateWord,
  kindWord,
} from "../../shared/any-connection-words.ts";
import { CONNECTION_CHOICES } from "../../shared/connection-choices.ts";
import type { Connection } from "../../shared/operations/connect.ts";
import type { ResultOf } from "../../shared/operations/registry.ts";
import { typedOrigin } from "../../shared/typed-origin.ts";
import { labelled, quoted } from "../../shared/voice.ts";
import { openInBrowser } from "../browser.ts";
import { agreed } from "../consent.ts";
import type { CommandContext } from "../context.ts";
import { oneLine } from "../output.ts";
import { moment } from "../render.ts";
import { unconfirmedWords } from "./connect.ts";

/** How often a waiting command looks. The daemon asks at the service's own pace. */
const LOOK_MS = 1000;
/** How long it waits for the account's name once it is linked. */
const NAMED_MS = 15_000;

export async function link(context: CommandContext): Promise<number> {
  if (context.has("cancel")) {
    return context.print("account_link_cancel", {}, () =>
      context.out.line("It no longer waits for a confirmation."),
    );
  }
  const origin = context.text("account");
  const input = origin === undefined ? {} : { account_origin: typedOrigin(origin) };
  const answer = await context.client.call("account_link", input);
  const { qrCode } = await import("../qr-code.ts");
  const code = context.show(answer, (pending) => {
    context.out.line(`Open ${oneLine(pending.verification_uri_complete)}`);
    context.out.line(`and compare the code: ${oneLine(pending.user_code)}`);
    context.out.note(`It is valid until ${moment(pending.expires_at)}.`);
    if (context.out.isTerminal)
      for (const line of qrCode(pending.verification_uri_complete)) context.out.line(line);
  });
  if (answer.ok && context.has("open")) {
    const isOpened = await openInBrowser(context, answer.result.verification_uri_complete);
    context.out.note(
      isOpened ? "Opened in the browser." : "There is no browser here: open the address yourself.",
    );
  }
  if (!answer.ok || context.out.json || context.has("no-wait")) return code;
  context.out.note("Waiting for the confirmation. Ctrl-C ends only this command: the daemon goes on.");
  return confirmed(context);
}

async function confirmed(context: CommandContext): Promise<number> {
  let linkedAt: number | null = null;
  let told: string | null = null;
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    const shown = await context.client.result("account_show", {});
    if (shown.state === "waiting") {
      if (shown.error !== null && shown.error !== told) context.out.note(oneLine(shown.error));
      told = shown.error;
      continue;
    }
    // Its name comes with the directory.
    linkedAt ??= performance.now();
    const mayBeNamed = shown.state === "linked" && shown.account_label === null && shown.error === null;
    if (mayBeNamed && performance.now() - linkedAt < NAMED_MS) continue;
    const isLinked = shown.state === "linked";
    if (isLinked) context.out.line(`Linked${accountName(shown)}.`);
    // A device of the account, and yet the account may not list this instance.
    const problem = isLinked ? shown.error : (shown.error ?? "It wasn't confirmed.");
    if (problem !== null) context.out.note(`svc: ${context.suggested(oneLine(problem))}`);
    if (!isLinked) return 1;
    if (shown.public_origin === null) {
      context.out.note(
        "Others of the account can't reach this instance yet, because it has no origin. See 'svc help origin' and docs/remote-access.md.",
      );
    }
    return 0;
  }
}

/** Every connection of this instance, whatever its kind. */
export async function connections(context: CommandContext): Promise<number> {
  const answer = await context.client.call("connection_list", {});
  if (!answer.ok || context.out.json) return context.show(answer, () => undefined);
  const { connections: found } = answer.result;
  const { state, error, account_origin: origin } = await context.client.result("account_show", {});
  const unconfirmed = await unconfirmedWords(context);
  if (found.length > 0) {
    context.out.table(
      ["WITH", "KIND", "STATE", "SINCE", "LAST CONTACT", "END IT"],
      found.map((connection) => [
        connectionName(connection),
        kindWord(connection.kind),
        connectionStateWord(connection.state),
        connection.since === null ? "" : moment(connection.since),
        connection.last_contact_at === null ? "never" : moment(connection.last_contact_at),
        connection.kind === "direct" ? endCommand(context, connection) : "on the account's page",
      ]),
    );
    for (const connection of found.filter(({ state: one }) => UNUSABLE.has(one))) {
      const sentence = context.suggested(connectionSentence(connection));
      context.out.note(`${connectionName(connection)}: ${sentence}`);
    }
  } else if (error !== null) context.out.line("No connection is confirmed now.");
  else if (unconfirmed === null) {
    context.out.line("No connections. Begin with:");
    for (const { kind, title, sentence, command } of CONNECTION_CHOICES) {
      const isLinked = kind === "account" && state === "linked";
      const typed = isLinked
        ? `svc link --account ${origin} on another machine`
        : commandLine(context.home, ...command.split(" "));
      context.out.line(`\n${typed}: ${title}\n  ${sentence}`);
    }
  }
  if (unconfirmed !== null) context.out.note(unconfirmed);
  if (error !== null) context.out.note(`svc: ${context.suggested(oneLine(error))}`);
  return 0;
}

/** States in which nothing can be sent, with a reason that may be mended. */
const UNUSABLE: ReadonlySet<Connection["state"]> = new Set(["unreachable", "no_route", "unconfirmed"]);

function endCommand({ home }: CommandContext, { state, id, group_id: groupId }: Connection): string {
  const group = groupId === null ? [] : ["--group", groupId];
  return commandLine(home, "direct", state === "ended" ? "remove" : "revoke", id, ...group);
}

export async function unlink(context: CommandContext): Promise<number> {
  const question = "Retire this instance in its account and forget the link?";
  if (!(await agreed(context, question))) {
    context.out.note("Nothing was changed.");
    return 1;
  }
  return context.print("account_unlink", { forget: context.has("forget") }, () =>
    context.out.line("Unlinked. Messages that arrived stay."),
  );
}

export async function show(context: CommandContext): Promise<number> {
  const name = context.text("name");
  if (name !== undefined) {
    return context.print("connect_rename", { by: "user", display_name: name }, () =>
      context.out.line("Renamed."),
    );
  }
  if (context.has("seen")) return seen(context);
  const answer = await context.client.call("account_show", {});
  if (!answer.ok || context.out.json) return context.show(answer, () => undefined);
  const { connect } = await context.client.result("connect_status", {});
  printLink(context, answer.result);
  const { instances = [] } = connect?.directory ?? {};
  if (instances.length > 0) {
    context.out.line();
    context.out.table(
      ["NAME", "REACHED AT", "VERSION", "ACCOUNT HEARD FROM IT", "INSTANCE"],
      instances.map((entry) => [
        labelled(entry.display_name) + (entry.instance_id === connect?.instance_id ? " (this one)" : ""),
        entry.public_origin ?? "not reachable",
        oneLine(entry.client_version),
        moment(entry.registered_at),
        entry.instance_id,
      ]),
    );
  }
  return 0;
}

/** Notes that the person has seen who joined. */
async function seen(context: CommandContext): Promise<number> {
  const { joined } = await context.client.result("account_show", {});
  const deviceIds = joined.map(({ device_id: deviceId }) => deviceId);
  return context.print("account_joined_seen", { device_ids: deviceIds }, () =>
    context.out.line(
      deviceIds.length === 0
        ? "No one has joined since you last looked."
        : "Noted. It isn't announced again.",
    ),
  );
}

/** Says who joined since a person last looked. */
export function printJoined(
  context: CommandContext,
  { joined, account_origin: origin }: Pick<ResultOf<"account_show">, "joined" | "account_origin">,
): void {
  for (const one of joined) context.out.note(`${joinedSentence(one)} (${moment(one.at)})`);
  if (joined.length > 0) {
    context.out.note(
      `If that wasn't you, retire it at ${origin ?? "the account's page"}. Else clear this with: ${context.command("account", "--seen")}`,
    );
  }
}

function printLink(context: CommandContext, shown: ResultOf<"account_show">): void {
  const { state, account_origin: origin, public_origin: publicOrigin, pending, error } = shown;
  const fields: [string, string][] = [["account", `${accountStateWords(state)}${accountName(shown)}`]];
  if (origin !== null) fields.push(["service", origin]);
  if (state === "linked") {
    fields.push(["reached at", publicOrigin ?? "nowhere: others of the account can't send to this instance"]);
  }
  if (pending !== null) {
    fields.push(["open", oneLine(pending.verification_uri_complete)], ["code", oneLine(pending.user_code)]);
    fields.push(["until", moment(pending.expires_at)]);
  }
  if (error !== null) fields.push(["error", context.suggested(oneLine(error))]);
  context.out.fields(fields);
  printJoined(context, shown);
  if (state === "not_linked")
    context.out.note(`Link it with: ${context.command("link", "--account", "ORIGIN")}`);
}

function accountName({ account_label: label }: ResultOf<"account_show">): string {
  return label === null ? "" : ` to ${quoted(label)}`;
}
