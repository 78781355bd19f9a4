/**
 * Notices about unread Mail and owed replies (docs/core-model.md#inbox-and-obligations): once per
 * message and Actor, without its text. Disabled Actors, and those in a paused or stopped Group, get
 * none until that changes; their notices wait. A timer is set only while something is due
 * (docs/architecture.md#rules).
 */

import type { Timer } from "../../../platform/clock.ts";
import { errorFields } from "../../../platform/log.ts";
import type { EventData } from "../../../shared/events.ts";
import type { StoredActor } from "../../../shared/model.ts";
import { NOTICES } from "../../../shared/voice.ts";
import type { NewEvent } from "../../ledger/types.ts";
import type { GroupChat, MessagingDependencies } from "../group-chat.ts";
import { noticeKey } from "../projection/message-keys.ts";

interface Due {
  kind: "mail_notice" | "reply_notice";
  actor: StoredActor;
  ordinal: number;
  id: string;
  /** Wall time in milliseconds. */
  at: number;
}

/** Notices appended at once. */
const BATCH = 200;
const RETRY_MS = 30_000;

export class Notices {
  readonly #deps: MessagingDependencies;
  readonly #chat: GroupChat;
  #timer: Timer | null = null;
  /** Monotonic time at which the timer fires. */
  #armedFor = 0;
  #isSweeping = false;
  #closed = false;

  constructor(chat: GroupChat, deps: MessagingDependencies) {
    this.#chat = chat;
    this.#deps = deps;
  }

  /**
   * Mail or requests were appended just now. When they are due is known without looking at what is
   * open.
   */
  added({ mail, requests }: { mail: boolean; requests: boolean }): void {
    if (this.#isSweeping || this.#closed || !this.#chat.handsOut) return;
    const {
      mail_notice_after_seconds: mailNoticeAfterSeconds,
      reply_notice_after_seconds: replyNoticeAfterSeconds,
    } = this.#chat.group.record.settings;
    if (mail && mailNoticeAfterSeconds > 0) this.#armFor(mailNoticeAfterSeconds * 1000);
    if (requests && replyNoticeAfterSeconds > 0) this.#armFor(replyNoticeAfterSeconds * 1000);
  }

  /** Settings, state or Actors changed. */
  reconsider(): void {
    this.#timer?.cancel();
    this.#timer = null;
    if (!this.#isSweeping) this.#arm();
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
    this.#timer = null;
  }

  /** Never throws: it runs in other people's calls and timers. */
  #arm(): void {
    if (this.#closed) return;
    try {
      const [next] = this.#due(Number.POSITIVE_INFINITY, 1);
      if (next !== undefined) this.#armFor(Math.max(0, next.at - this.#deps.clock.now()));
    } catch (error) {
      this.#failed(error);
    }
  }

  /** The disk can't be read or written now. */
  #failed(error: unknown): void {
    this.#deps.log.warn("notices", { group_id: this.#chat.group.group_id, ...errorFields(error) });
    if (!this.#closed) this.#armFor(RETRY_MS);
  }

  /** An earlier timer stays. */
  #armFor(milliseconds: number): void {
    const at = this.#deps.clock.monotonic() + milliseconds;
    if (this.#timer !== null && this.#armedFor <= at) return;
    this.#timer?.cancel();
    this.#armedFor = at;
    this.#timer = this.#deps.clock.after(
      milliseconds,
      () => {
        this.#timer = null;
        void this.#sweep();
      },
      { background: true },
    );
  }

  async #sweep(): Promise<void> {
    this.#isSweeping = true;
    try {
      const due = this.#due(this.#deps.clock.now(), BATCH);
      if (due.length > 0) await this.#chat.ledger.appendAll(due.map((one) => this.#notice(one)));
      this.#isSweeping = false;
      this.#arm();
    } catch (error) {
      this.#isSweeping = false;
      this.#failed(error);
    }
  }

  /** What is due until `now`, earliest first. */
  #due(now: number, limit: number): Due[] {
    const { record } = this.#chat.group;
    if (!this.#chat.handsOut) return [];
    const due: Due[] = [];
    const actors = new Map<string, StoredActor>();
    for (const actor of record.actors) if (actor.enabled) actors.set(actor.id, actor);
    const mailAfter = record.settings.mail_notice_after_seconds * 1000;
    if (mailAfter > 0) for (const actor of actors.values()) this.#dueMail(actor, mailAfter, now, limit, due);
    const replyAfter = record.settings.reply_notice_after_seconds * 1000;
    if (replyAfter > 0) {
      for (const { id, ordinal, ts, owed } of this.#chat.projection.obligations.all()) {
        const at = Date.parse(ts) + replyAfter;
        if (at > now) continue;
        for (const [recipient, { generation, noticed }] of owed) {
          const actor = actors.get(recipient);
          if (noticed || actor?.generation !== generation) continue;
          due.push({ kind: "reply_notice", actor, ordinal, id, at });
        }
      }
    }
    return due.sort((a, b) => a.at - b.at).slice(0, limit);
  }

  /**
   * Mail is in the order of its arrival, and the clock may have been set back in between: what came
   * before a due one is due too. Mail that a session holds needs no notice.
   */
  #dueMail(actor: StoredActor, after: number, now: number, limit: number, due: Due[]): void {
    const queue = this.#chat.queueOf(actor);
    if (queue === undefined) return;
    const { mail } = queue;
    const held = this.#chat.inbox(actor.id).mail.through;
    const start = mail.countThrough(Math.max(queue.mailNoticed, held));
    let at = Number.POSITIVE_INFINITY;
    const found: Due[] = [];
    for (let place = Math.min(mail.count, start + BATCH) - 1; place >= start; place -= 1) {
      const ordinal = mail.at(place);
      const [event] = this.#chat.ledger.readMany([ordinal]);
      if (event === undefined) continue;
      at = Math.min(at, Date.parse(event.ts) + after);
      if (at <= now) found.push({ kind: "mail_notice", actor, ordinal, id: event.id, at });
    }
    due.push(...found.reverse().slice(0, limit));
  }

  #notice({ kind, actor, id }: Due): NewEvent {
    const { title, message } = NOTICES[kind];
    const data: EventData<"system.notify"> = {
      kind,
      title,
      message,
      target_actor_id: actor.id,
      priority: "normal",
      context: { actor_generation: actor.generation },
      related_event_id: id,
    };
    const key = noticeKey(kind, id, { actor_id: actor.id, generation: actor.generation });
    return this.#chat.event("system.notify", "system", data, key);
  }
}
