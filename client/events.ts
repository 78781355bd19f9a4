/**
 * Server-sent events from the daemon, and a way to follow a Group's ledger without gap or
 * duplicate.
 */
import type { IncomingMessage } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import type { LedgerEvent } from "../shared/events.ts";
import { LIMITS } from "../shared/limits.ts";
import { API_PREFIX } from "../shared/names.ts";
import type { DaemonClient } from "./client.ts";
import { type DaemonSilent, DaemonUnreachable, RefusedByDaemon } from "./failures.ts";

const FIRST_PAUSE_MS = 50;

interface StreamEvent {
  event: string;
  id: string | null;
  data: string;
}

/**
 * Events of an open answer until it ends. Throws if a line exceeds `LIMITS.client.streamLineBytes`.
 */
export async function* readEvents(response: IncomingMessage): AsyncGenerator<StreamEvent> {
  response.setEncoding("utf8");
  let rest = "";
  let event = "message";
  let id: string | null = null;
  let data: string[] = [];
  for await (const chunk of response) {
    const lines = (rest + (chunk as string)).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > LIMITS.client.streamLineBytes) throw new Error("a line of the stream is too long");
    for (const line of lines) {
      if (line === "" || line === "\r") {
        if (data.length > 0 || event !== "message") yield { event, id, data: data.join("\n") };
        event = "message";
        data = [];
        continue;
      }
      const colon = line.indexOf(":");
      if (colon <= 0) continue;
      const value = line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1).replace(/\r$/, "");
      const field = line.slice(0, colon);
      if (field === "event") event = value;
      else if (field === "id") id = value;
      else if (field === "data") data.push(value);
    }
  }
}

export interface Follow {
  client: DaemonClient;
  groupId: string;
  /** Starts after this event; null starts with the Group's first. */
  after: string | null;
  signal: AbortSignal;
  /** Called when the daemon is lost and found again, for people who watch. */
  onConnection?: (connected: boolean) => void;
  /** Called when the daemon is there and doesn't answer, and with null when it does again. */
  onSilence?: (silence: DaemonSilent | null) => void;
  /** Called when the Group was reset, so that what follows is another history. */
  onReset?: () => void;
}

/** Everything after `after`, in order; with null, the whole history. */
async function* history(follow: Follow, after: string | null): AsyncGenerator<LedgerEvent> {
  const { client, groupId, signal } = follow;
  if (after === null) {
    const pages: LedgerEvent[][] = [];
    let before: string | undefined;
    for (;;) {
      const page = await client.result(
        "ledger_tail",
        { group_id: groupId, limit: LIMITS.page.max, ...(before === undefined ? {} : { before }) },
        { signal },
      );
      pages.unshift(page.events);
      before = page.events[0]?.id;
      if (!page.has_more || before === undefined) break;
    }
    for (const page of pages) yield* page;
    return;
  }
  let position = after;
  for (;;) {
    const page = await client.result(
      "ledger_tail",
      { group_id: groupId, limit: LIMITS.page.max, after: position },
      { signal },
    );
    yield* page.events;
    position = page.events.at(-1)?.id ?? position;
    if (!page.has_more) return;
  }
}

/**
 * A Group's events after `after`, without end: across restarts of the daemon, without gap or
 * duplicate. Ends when the signal aborts. Throws RefusedByDaemon. It waits for a daemon that is
 * away, so call the daemon first to notice one that was never there.
 */
export async function* followLedger(follow: Follow): AsyncGenerator<LedgerEvent> {
  const { client, groupId, signal } = follow;
  let last = follow.after;
  let away = false;
  let pause = 0;
  for (;;) {
    try {
      const query = last === null ? "" : `?after=${last}`;
      const response = await client.open(
        `${API_PREFIX}/groups/${groupId}/ledger/stream${query}`,
        { accept: "text/event-stream" },
        { signal, told: (silence) => follow.onSilence?.(silence) },
      );
      if (away) follow.onConnection?.(true);
      away = false;
      pause = 0;
      // A stream without a position starts with new events. Earlier events are read now, and left
      // out of the stream.
      const seen = new Set<string>();
      if (last === null) {
        for await (const event of history(follow, null)) {
          seen.add(event.id);
          last = event.id;
          yield event;
        }
      }
      for await (const { event, data } of readEvents(response)) {
        if (event === "reload") {
          follow.onReset?.();
          last = null;
        }
        if (event !== "ledger") continue;
        const entry = JSON.parse(data) as LedgerEvent;
        if (seen.delete(entry.id)) continue;
        last = entry.id;
        yield entry;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!passes(error)) throw error;
      if (!away) follow.onConnection?.(false);
      away = true;
    }
    if (signal.aborted) return;
    pause = Math.min(Math.max(2 * pause, FIRST_PAUSE_MS), LIMITS.client.retryMillisecondsMax);
    try {
      await delay(pause, undefined, { signal });
    } catch {
      return;
    }
  }
}

/** Whether waiting helps: the connection broke, or the daemon is away or stopping. */
function passes(error: unknown): boolean {
  if (error instanceof RefusedByDaemon)
    return ["shutting_down", "overloaded", "group_busy"].includes(error.body().code);
  return error instanceof DaemonUnreachable || typeof (error as NodeJS.ErrnoException).code === "string";
}
