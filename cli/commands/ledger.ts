/** Reads and maintains a Group's ledger. */
import type { Envelope } from "../../client/client.ts";
import { followLedger } from "../../client/events.ts";
import { missingWords } from "../../shared/damage-words.ts";
import type { LedgerEvent } from "../../shared/events.ts";
import type { LedgerDamage } from "../../shared/ledger-damage.ts";
import { recipientWords } from "../../shared/message-parties.ts";
import type { MessageMode } from "../../shared/model.ts";
import type { MessageStatus } from "../../shared/operations/messages.ts";
import type { CommandContext } from "../context.ts";
import { oneLine } from "../output.ts";
import { counted, DELIVERY_WORDS, moment, printEvent, WITHDRAWAL_WORDS } from "../render.ts";
import { confirmed } from "./groups.ts";

const DEFAULT_LINES = 10;
/** The kinds that people look for in a ledger. `--all` also shows the bookkeeping. */
const TOLD = ["chat.message", "presentation.publish", "system.notify"];

export async function tail(context: CommandContext): Promise<number> {
  const { out } = context;
  const lines = context.number("lines") ?? DEFAULT_LINES;
  if (lines === 0 && !context.has("follow")) throw context.usage("-n 0 shows nothing without -f.");
  const groupId = await context.group();
  const told = (event: LedgerEvent) => context.has("all") || TOLD.includes(event.kind);
  const kinds = context.has("all") ? {} : { kinds: TOLD };
  if (!context.has("follow")) {
    return context.print(
      "ledger_tail",
      { group_id: groupId, limit: lines, ...kinds },
      ({ events, has_more: hasMore, unreadable }) => {
        if (hasMore) out.line(out.style("dim", "... (more with -n)"));
        for (const event of events) printEvent(out, event);
        noteUnreadable(context, unreadable);
      },
    );
  }
  const print = (event: LedgerEvent) => (out.json ? out.document(event) : printEvent(out, event));
  // Following starts at the newest event of any kind. Events of the shown kinds come before it.
  const newest = await context.client.result("ledger_tail", { group_id: groupId, limit: 1 });
  const position = newest.events.at(-1);
  if (position && lines > 0) {
    const before = await context.client.result("ledger_tail", {
      group_id: groupId,
      before: position.id,
      limit: lines,
      ...kinds,
    });
    const shown = [...before.events, position].filter((event) => told(event));
    for (const event of shown.slice(-lines)) print(event);
  }
  const following = followLedger({
    client: context.client,
    groupId: groupId,
    after: position?.id ?? null,
    signal: new AbortController().signal,
    onConnection: (connected) =>
      out.note(connected ? "svc: connected again" : "svc: can't reach the daemon; waiting for it"),
    onSilence: (silence) =>
      out.note(
        silence === null
          ? "svc: the daemon answers again"
          : `svc: ${silence.problem} Waiting for it; Ctrl-C ends this.`,
      ),
    onReset: () => out.note("svc: the Group was reset; its new history follows"),
  });
  for await (const event of following) if (told(event)) print(event);
  return 0;
}

export async function search(context: CommandContext): Promise<number> {
  const { out } = context;
  const limit = context.number("limit");
  const { actor } = context.given("actor");
  const mode = context.text("mode")?.replace("-", "_") as MessageMode | undefined;
  const groupId = await context.group();
  const input = {
    group_id: groupId,
    query: context.arg(0),
    ...(await context.givenEvent(groupId, "before", "before")),
    ...(actor === undefined ? {} : { actor: actor === "user" ? actor : await context.actor(groupId, actor) }),
    ...(mode === undefined ? {} : { message_mode: mode }),
    files: context.has("files"),
    open: context.has("open"),
    ...(limit === undefined ? {} : { limit }),
  };
  return context.print("ledger_search", input, ({ events, continue_before: continueBefore, unreadable }) => {
    for (const event of events) printEvent(out, event);
    noteUnreadable(context, unreadable);
    if (events.length === 0) out.line("Nothing found.");
    if (continueBefore !== null) out.line(out.style("dim", `for older matches: --before ${continueBefore}`));
  });
}

function noteUnreadable(context: CommandContext, ids: readonly string[] | undefined): void {
  if (ids === undefined) return;
  const what = ids.length === 1 ? "1 event" : `${ids.length} events`;
  context.out.note(context.suggested(`svc: ${what} here can't be read. 'svc doctor' says why.`));
}

/**
 * The delivery status of a message to another instance and of its withdrawal. Then one row per
 * recipient: delivered, read and answered.
 */
function printStatus(context: CommandContext, status: MessageStatus | undefined): void {
  printWay(context, status?.connect_delivery, DELIVERY_WORDS);
  printWay(context, status?.connect_cancellation, WITHDRAWAL_WORDS);
  const states = new Map<string, string[]>();
  const add = (recipient: string, state: string) =>
    states.set(recipient, [...(states.get(recipient) ?? []), state]);
  for (const [recipient, { state, reason, ts }] of Object.entries(status?.delivery_status ?? {}))
    add(
      recipient,
      `${state}${ts === null ? "" : ` ${moment(ts)}`}${reason === "" ? "" : ` (${oneLine(reason)})`}`,
    );
  for (const [recipient, wasRead] of Object.entries(status?.read_status ?? {}))
    add(recipient, wasRead ? "read" : "unread");
  for (const [recipient, { state }] of Object.entries(status?.obligation_status ?? {}))
    add(recipient, `reply ${state}`);
  const rows = [...states].map(([recipient, told]) => [oneLine(recipientWords(recipient)), told.join(", ")]);
  if (rows.length > 0) context.out.table(["RECIPIENT", "STATE"], rows);
}

function printWay(
  { out }: CommandContext,
  way: MessageStatus["connect_delivery"] | undefined,
  words: Readonly<Record<NonNullable<MessageStatus["connect_delivery"]>["state"], string>>,
): void {
  if (!way) return;
  const why = way.error === undefined ? "" : `: ${oneLine(way.error.message)}`;
  out.line(`${words[way.state]}${why}`);
}

export async function show(context: CommandContext): Promise<number> {
  const { client, out } = context;
  const groupId = await context.group();
  const eventId = await context.event(groupId, context.arg(0));
  const found = await client.call("ledger_window", {
    group_id: groupId,
    event_id: eventId,
    before: 0,
    after: 0,
  });
  if (!found.ok) return context.show(found, () => undefined);
  const { statuses } = await client.result("ledger_statuses", { group_id: groupId, event_ids: [eventId] });
  const { events, has_newer: hasNewer, has_older: hasOlder } = found.result;
  const result = { events, has_more: hasOlder || hasNewer, statuses };
  return context.show({ ok: true, result }, () => {
    for (const event of events) printEvent(out, event);
    printStatus(context, statuses[eventId]);
  });
}

export async function compact(context: CommandContext): Promise<number> {
  return context.print("ledger_compact", { group_id: await context.group() }, ({ sealed, segments }) =>
    context.out.line(
      `${sealed === null ? "Nothing to seal" : `Sealed segment ${sealed}`}; ${counted(segments, "segment")}.`,
    ),
  );
}

/** Exits with 1 if there are problems, as if the ledger had refused. */
export async function verify(context: CommandContext): Promise<number> {
  const envelope = await context.client.call("ledger_verify", { group_id: await context.group() });
  const code = context.show(envelope, ({ events, segments, problems }) => {
    context.out.line(
      `${counted(events, "event")} in ${counted(segments, "segment")}, ${counted(problems.length, "problem")}.`,
    );
    for (const problem of problems) context.out.line(`  ${oneLine(problem)}`);
  });
  return envelope.ok && envelope.result.problems.length > 0 ? 1 : code;
}

/** After files were put back. Exits with 1 if the history is still damaged. */
export async function reopen(context: CommandContext): Promise<number> {
  return afterwards(
    context,
    await context.client.call("ledger_reopen", { group_id: await context.group() }),
    "The history is whole. Messages are recorded again.",
  );
}

/** Goes on without what is missing. Exits with 1 if the history is still damaged. */
export async function continueDamaged(context: CommandContext): Promise<number> {
  return afterwards(
    context,
    await context.client.call(
      "ledger_continue",
      await confirmed(context, "This goes on without what the history has lost."),
    ),
    "Messages are recorded again. The damaged files, if there are any, are kept beside the ledger.",
  );
}

function afterwards(
  context: CommandContext,
  envelope: Envelope<{ damage: LedgerDamage | null }>,
  whole: string,
): number {
  const code = context.show(envelope, ({ damage }) => {
    context.out.line(damage === null ? whole : `The history is still damaged. ${missingWords(damage)}`);
    for (const problem of damage?.problems ?? []) context.out.line(`  ${oneLine(problem)}`);
  });
  return envelope.ok && envelope.result.damage !== null ? 1 : code;
}
