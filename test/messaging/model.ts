/** What messaging is supposed to do, in memory and in a few lines each. */

export type Mode = "send" | "request_reply" | "mail";
type Who = string;

interface Recipient {
  id: Who;
  generation: number;
  /** Mail: unread, read. To the person: pending, read. To an Actor: pending, claimed, accepted, failed, ambiguous. */
  state: "unread" | "pending" | "claimed" | "accepted" | "read" | "failed" | "ambiguous";
  batch: string | null;
  handedOut: boolean;
  owed: "open" | "replied" | "cancelled" | null;
}

export interface ModelMessage {
  event_id: string;
  text: string;
  by: Who;
  generation: number;
  mode: Mode;
  recipients: Recipient[];
}

export type ModelReply = { refused: string } | { to: Who[]; mode: Mode };

interface Taken {
  message: ModelMessage;
  recipient: Recipient;
  redelivered: boolean;
}

export class MessagingModel {
  readonly messages: ModelMessage[] = [];
  readonly #generations = new Map<Who, number>();
  /** Batches that living sessions hold, by `<actor>/<session>`. */
  readonly #held = new Map<string, Set<string>>();

  constructor(actors: readonly Who[]) {
    for (const id of actors) this.#generations.set(id, 0);
  }

  sent(message: { event_id: string; text: string; by: Who; mode: Mode; to: readonly Who[] }): void {
    const { event_id, text, by, mode, to } = message;
    const recipients = to.map(
      (id): Recipient => ({
        id,
        generation: this.#generation(id),
        state: mode === "mail" ? "unread" : "pending",
        batch: null,
        handedOut: false,
        owed: mode === "request_reply" ? "open" : null,
      }),
    );
    this.messages.push({ event_id, text, by, generation: this.#generation(by), mode, recipients });
  }

  /** Where a reply without recipients goes. */
  reply(message: ModelMessage, by: Who): ModelReply {
    const own = this.#isSender(message, by);
    const got = message.recipients.some((one) => one.id === by && this.#isPresent(one));
    if (by !== "user" && !own && !got) return { refused: "event_not_found" };
    let to = own
      ? message.recipients.filter((one) => this.#isPresent(one)).map(({ id }) => id)
      : [message.by];
    if (!own && message.by !== "user" && message.generation !== this.#generation(message.by)) to = [];
    if (to.length === 0) return { refused: "invalid_recipient" };
    return { to, mode: by === "user" || to[0] === "user" ? "send" : "mail" };
  }

  replied(message: ModelMessage, by: Who): void {
    for (const one of message.recipients) {
      if (one.id === by && one.owed === "open" && this.#isPresent(one)) one.owed = "replied";
    }
  }

  cancel(message: ModelMessage, by: Who): { refused: string } | { cancelled: Who[] } {
    const knows = message.recipients.some((one) => one.id === by && this.#isPresent(one));
    if (by !== "user" && !this.#isSender(message, by)) {
      return { refused: knows ? "permission_denied" : "event_not_found" };
    }
    if (message.mode !== "request_reply") return { refused: "not_pending" };
    const open = message.recipients.filter(({ owed }) => owed === "open");
    if (open.length > 0) {
      for (const one of open) one.owed = "cancelled";
      return { cancelled: open.map(({ id }) => id) };
    }
    const before = message.recipients.filter(({ owed }) => owed === "cancelled");
    return before.length === 0 ? { refused: "already_replied" } : { cancelled: before.map(({ id }) => id) };
  }

  /** A call of a session accepts what that session was handed before. */
  called(actor: Who, session: string): void {
    const key = `${actor}/${session}`;
    for (const batch of this.#held.get(key) ?? []) this.acknowledged(actor, batch);
    this.#held.set(key, new Set());
  }

  acknowledged(actor: Who, batch: string): void {
    for (const one of this.#of(actor)) {
      if (one.recipient.state !== "claimed" || one.recipient.batch !== batch) continue;
      one.recipient.state = "accepted";
    }
    for (const held of this.#held.values()) held.delete(batch);
  }

  someBatch(actor: Who): string | undefined {
    return (
      this.#of(actor).find(({ recipient }) => recipient.state === "claimed")?.recipient.batch ?? undefined
    );
  }

  take(actor: Who, limit: number): Taken[] {
    const held = new Set([...this.#held.values()].flatMap((batches) => [...batches]));
    return this.#of(actor)
      .filter(
        ({ recipient: { state, batch } }) =>
          state === "unread" || state === "pending" || (state === "claimed" && !held.has(batch ?? "")),
      )
      .slice(0, limit)
      .map(({ message, recipient }) => ({
        message,
        recipient,
        redelivered: recipient.handedOut,
      }));
  }

  handedOut(actor: Who, session: string, batch: string | null, taken: Taken[]): void {
    for (const { recipient } of taken) {
      if (recipient.state === "unread") recipient.state = "read";
      else {
        recipient.state = "claimed";
        recipient.batch = batch;
        recipient.handedOut = true;
      }
    }
    if (batch !== null) this.#held.get(`${actor}/${session}`)?.add(batch);
  }

  sessionEnded(actor: Who, session: string): void {
    this.#held.delete(`${actor}/${session}`);
  }

  /** The refusal's code, or null. */
  deliverAgain(message: ModelMessage, actor: Who, force: boolean): string | null {
    const one = message.recipients.find(({ id }) => id === actor)!;
    if (!this.#isPresent(one)) return "invalid_recipient";
    if (one.state === "pending") return null;
    if (one.state !== "claimed") return "not_pending";
    if (!force) return "delivery_ambiguous";
    one.state = "pending";
    return null;
  }

  personRead(message: ModelMessage): void {
    for (const { recipients } of this.messages.slice(0, this.messages.indexOf(message) + 1)) {
      for (const one of recipients) if (one.id === "user") one.state = "read";
    }
  }

  /** Removed and added again. */
  replaced(actor: Who): void {
    for (const { recipient } of this.#of(actor)) {
      if (recipient.state === "pending") recipient.state = "failed";
      if (recipient.state === "claimed") recipient.state = "ambiguous";
    }
    this.#generations.set(actor, this.#generation(actor) + 1);
    for (const key of this.#held.keys()) if (key.startsWith(`${actor}/`)) this.#held.delete(key);
  }

  restarted(): void {
    this.#held.clear();
  }

  statusOf({ mode, recipients }: ModelMessage) {
    const mail: Record<Who, boolean> = {};
    const direct: Record<Who, string> = {};
    const owed: Record<Who, string> = {};
    for (const one of recipients) {
      if (mode === "mail") mail[one.id] = one.state === "read";
      else direct[one.id] = one.state;
      if (one.id === "user") mail.user = one.state === "read";
      if (one.owed !== null) owed[one.id] = one.owed;
    }
    return { mail, direct, owed };
  }

  counts(): { unread: number; attention: number } {
    const toPerson = this.messages.flatMap(({ recipients }) => recipients.filter(({ id }) => id === "user"));
    return {
      unread: toPerson.filter(({ state }) => state !== "read").length,
      attention: toPerson.filter(({ owed }) => owed === "open").length,
    };
  }

  #generation(id: Who): number {
    return this.#generations.get(id) ?? 0;
  }

  #isPresent({ id, generation }: Recipient): boolean {
    return this.#generation(id) === generation;
  }

  #isSender({ by, generation }: ModelMessage, who: Who): boolean {
    return by === who && generation === this.#generation(who);
  }

  /** What was sent to this Actor in its present generation, in order. */
  #of(actor: Who): { message: ModelMessage; recipient: Recipient }[] {
    return this.messages.flatMap((message) =>
      message.recipients
        .filter((one) => one.id === actor && this.#isPresent(one))
        .map((recipient) => ({ message, recipient })),
    );
  }
}
