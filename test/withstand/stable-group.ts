/**
 * One Group that lives through all crash rounds, with the people and Actors that use it at the same
 * time.
 */
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DaemonClient } from "../../client/client.ts";
import { RefusedByDaemon } from "../../client/failures.ts";
import type { LedgerEvent } from "../../shared/events.ts";
import type { Chance } from "../support/chance.ts";
import type { DaemonProcess } from "../support/daemon-process.ts";
import { ActorHistory, type Handed } from "./actor-history.ts";
import { type Content, MessageHistory } from "./message-history.ts";

const ACTORS = ["ada", "bob", "eve"] as const;
const BATCH = 20;

/** What happened at an Actor's Inbox, looked at when the ledger can be read in peace. */
type Happening = { messages: Handed[]; acked: string[]; cursor: string | null } | { lost: string[] };

interface Sent {
  by: string;
  key: string;
  content: Content;
  path: string | null;
}

interface Member {
  token_file: string;
  history: ActorHistory;
  happenings: Happening[];
}

export class StableGroup {
  readonly group_id: string;
  readonly messages = new MessageHistory();
  readonly #chance: Chance;
  readonly #folder: string;
  readonly #members = new Map<string, Member>();
  /** Requests by event id, to be answered or cancelled. */
  readonly #requests: { event_id: string; to: string }[] = [];
  /** Events that an answer named, beyond messages. */
  readonly #mustExist = new Set<string>();
  readonly #sent = new Map<string, Sent>();
  /** Messages that may be sent once more. */
  readonly #past: Sent[] = [];
  #retries: Sent[] = [];
  #events: LedgerEvent[] = [];
  #named = 0;

  private constructor(groupId: string, chance: Chance, folder: string) {
    this.group_id = groupId;
    this.#chance = chance;
    this.#folder = folder;
  }

  static async make(
    client: DaemonClient,
    title: string,
    chance: Chance,
    folder: string,
  ): Promise<StableGroup> {
    const group = await client.result("group_create", { title });
    const stable = new StableGroup(group.group_id, chance, folder);
    for (const actorId of ACTORS) {
      const { token_file: tokenFile } = await client.result("actor_add", {
        group_id: group.group_id,
        actor_id: actorId,
      });
      stable.#members.set(actorId, {
        token_file: tokenFile,
        history: new ActorHistory(actorId),
        happenings: [],
      });
    }
    return stable;
  }

  get events(): readonly LedgerEvent[] {
    return this.#events;
  }

  /**
   * Everybody at work until `stopped` or until the daemon is gone. Rejects on an answer that is
   * wrong in itself.
   */
  load(daemon: DaemonProcess, stopped: () => boolean): Promise<void>[] {
    const user = daemon.client();
    this.#retries = this.messages
      .unanswered()
      .map((key) => this.#sent.get(key)!)
      .filter(({ by }) => by === "user");
    const work = [
      this.#repeat(stopped, () => this.#sendNew(user, "user")),
      this.#repeat(stopped, () => this.#sendNew(user, "user")),
      this.#repeat(stopped, () => this.#sendAgain(user)),
      this.#repeat(stopped, () => this.#cancel(user)),
      this.#repeat(stopped, async () => {
        await user.result("ledger_compact", { group_id: this.group_id });
        await new Promise((resolve) => setTimeout(resolve, this.#chance.below(60)));
      }),
    ];
    for (const [actorId, member] of this.#members) {
      const own = daemon.actorClient(member.token_file);
      own.session = `${actorId}-${++this.#named}`;
      work.push(this.#inbox(stopped, own, actorId, member, 0.5));
      // Of its own, since any call of the reading session would acknowledge what that was handed.
      const sender = daemon.actorClient(member.token_file);
      work.push(this.#repeat(stopped, () => this.#sendNew(sender, actorId)));
    }
    return work;
  }

  async #repeat(stopped: () => boolean, step: () => Promise<void>): Promise<void> {
    while (!stopped()) await step();
  }

  async #sendNew(client: DaemonClient, by: string): Promise<void> {
    const key = `${by}-${++this.#named}`;
    const mode = this.#chance.one(["send", "mail", "request_reply"] as const);
    const to = this.#chance.one(ACTORS.filter((actorId) => actorId !== by));
    const text = `${key} ${"ö€\n\u2028".repeat(this.#chance.below(200))}`;
    let path: string | null = null;
    const blobs: string[] = [];
    if (by === "user" && this.#chance.happens(0.1)) {
      path = join(this.#folder, key);
      const bytes = Buffer.alloc(1 + this.#chance.below(20_000), key);
      writeFileSync(path, bytes);
      blobs.push(createHash("sha256").update(bytes).digest("hex"));
    }
    await this.#send(client, { by, key, path, content: { text, message_mode: mode, to: [to], blobs } });
  }

  /** A message of the past once more: first those that a crash left without an answer. */
  async #sendAgain(client: DaemonClient): Promise<void> {
    const sent = this.#retries.pop() ?? (this.#past.length > 0 ? this.#chance.one(this.#past) : null);
    if (sent !== null) await this.#send(client, sent);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }

  async #send(client: DaemonClient, sent: Sent): Promise<void> {
    const { key, content, path } = sent;
    if (!this.#sent.has(key) && sent.by === "user") this.#past.push(sent);
    this.#sent.set(key, sent);
    this.messages.begin(key, content);
    const body = { group_id: this.group_id, text: content.text, client_id: key };
    const { event, duplicate } =
      content.reply_to === undefined
        ? await client.result("send", {
            ...body,
            to: [...content.to],
            message_mode: content.message_mode as "send",
            paths: path === null ? [] : [path],
          })
        : await client.result("reply", { ...body, event_id: content.reply_to, message_mode: "send" });
    const wrong = this.messages.answer(key, event.id, duplicate);
    if (wrong !== null) throw new Error(wrong);
    if (content.message_mode === "request_reply")
      this.#requests.push({ event_id: event.id, to: content.to[0]! });
  }

  async #cancel(client: DaemonClient): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, this.#chance.below(30)));
    if (this.#requests.length === 0) return;
    const { event_id: eventId } = this.#chance.one(this.#requests.slice(-20));
    try {
      const { event } = await client.result("reply_request_cancel", {
        group_id: this.group_id,
        event_id: eventId,
      });
      this.#mustExist.add(event.id);
    } catch (error) {
      if (
        !(error instanceof RefusedByDaemon) ||
        !["not_pending", "already_replied"].includes(error.body().code)
      )
        throw error;
    }
  }

  /** Takes batches, acknowledges each with the next read, answers this share of the requests. */
  async #inbox(
    stopped: () => boolean,
    client: DaemonClient,
    actorId: string,
    member: Member,
    answers: number,
  ): Promise<void> {
    let open: { ack: string; ids: string[] } | null = null;
    while (!stopped()) {
      const acked: string[] = open?.ids ?? [];
      let taken;
      try {
        taken = await client.result("inbox_read", {
          group_id: this.group_id,
          limit: BATCH,
          wait_seconds: 0.05,
          ...(open === null ? {} : { ack: open.ack }),
        });
      } catch (error) {
        member.happenings.push({ lost: acked });
        throw error;
      }
      const messages = taken.messages as Handed[];
      member.happenings.push({ messages, acked, cursor: taken.cursor });
      const ids = messages.map(({ event }) => event.id);
      open = taken.batch_id === null ? null : { ack: taken.batch_id, ids };
      for (const { event } of messages) {
        const asks = event.kind === "chat.message" && event.data.message_mode === "request_reply";
        if (asks && this.#chance.happens(answers)) {
          await this.#reply(client, actorId, event);
        }
      }
    }
  }

  async #reply(client: DaemonClient, by: string, event: LedgerEvent): Promise<void> {
    const key = `re-${by}-${event.id}`;
    if (this.#sent.has(key)) return;
    const content = {
      text: `answer to ${event.id}`,
      message_mode: "send",
      to: [event.by],
      reply_to: event.id,
      blobs: [],
    };
    await this.#send(client, { by, key, content, path: null });
  }

  /**
   * Problems of everything that was recorded, nobody at work. `restarted`: the daemon was killed
   * since the last check.
   */
  async check(client: DaemonClient, restarted: boolean, whole: boolean): Promise<string[]> {
    this.#events = whole
      ? await readAll(client, this.group_id, [])
      : await readAll(client, this.group_id, this.#events);
    const problems = this.messages.check(this.#events, restarted);
    const ordinals = new Map(this.#events.map((event, ordinal) => [event.id, ordinal]));
    const place = (id: string | null): number => (id === null ? -1 : (ordinals.get(id) ?? -1));
    for (const id of this.#mustExist)
      if (!ordinals.has(id)) problems.push(`the acknowledged event ${id} is lost`);
    for (const [actorId, member] of this.#members) {
      const { cursor } = await client.result("inbox_peek", {
        group_id: this.group_id,
        actor_id: actorId,
        limit: 1,
      });
      for (const happening of member.happenings.splice(0)) {
        if ("lost" in happening) member.history.lostAcknowledgement(happening.lost);
        else {
          for (const { event } of happening.messages) {
            if (!ordinals.has(event.id))
              problems.push(`${actorId} got ${event.id}, which isn't in the ledger`);
          }
          problems.push(
            ...member.history.batch(happening.messages, happening.acked, place(happening.cursor), place),
          );
        }
      }
      problems.push(...member.history.cursorAt(place(cursor)));
    }
    const verified = await client.result("ledger_verify", { group_id: this.group_id });
    problems.push(...verified.problems);
    if (verified.events !== this.#events.length)
      problems.push(`verify counts ${verified.events} events, ${this.#events.length} are read`);
    return problems;
  }

  /** Retries what has no answer and empties every Inbox; afterwards nothing may be left open. */
  async finish(daemon: DaemonProcess): Promise<string[]> {
    const problems: string[] = [];
    const clients = new Map<string, DaemonClient>([["user", daemon.client()]]);
    for (const [actorId, { token_file: tokenFile }] of this.#members) {
      const client = daemon.actorClient(tokenFile);
      client.session = `last-${actorId}`;
      clients.set(actorId, client);
    }
    for (const key of this.messages.unanswered()) {
      const sent = this.#sent.get(key)!;
      await this.#send(clients.get(sent.by)!, sent);
    }
    for (const [actorId, member] of this.#members) {
      let empty = 0;
      await this.#inbox(
        () => {
          const last = member.happenings.at(-1);
          empty = last !== undefined && "messages" in last && last.messages.length === 0 ? empty + 1 : 0;
          return empty > 2;
        },
        clients.get(actorId)!,
        actorId,
        member,
        0,
      );
    }
    problems.push(...(await this.check(clients.get("user")!, false, true)));
    for (const [actorId, { history }] of this.#members) {
      const meant = this.#events.filter(
        ({ kind, data }) => kind === "chat.message" && data.to.includes(actorId),
      );
      const left = meant.filter(({ id }) => !history.hasTaken(id));
      if (left.length > 0)
        problems.push(`${left.length} of ${meant.length} messages never reached ${actorId}`);
    }
    return problems;
  }
}

/** The Group's whole history: what `known` lacks is read behind it. */
async function readAll(
  client: DaemonClient,
  groupId: string,
  known: readonly LedgerEvent[],
): Promise<LedgerEvent[]> {
  const events = [...known];
  if (events.length === 0) {
    let before: string | undefined;
    for (;;) {
      const page = await client.result("ledger_tail", { group_id: groupId, before, limit: 200 });
      events.unshift(...page.events);
      if (!page.has_more) return events;
      before = page.events[0]!.id;
    }
  }
  for (;;) {
    const page = await client.result("ledger_tail", {
      group_id: groupId,
      after: events.at(-1)!.id,
      limit: 200,
    });
    events.push(...page.events);
    if (!page.has_more) return events;
  }
}
