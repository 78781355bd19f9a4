/** What messaging is supposed to do, in memory and in a few lines each. */

export type Mode = "send" | "request_reply" | "mail";
type Who = string;

interface Recipient {
  id: Who;
  generation: number;
  /**
   * Mail: unread (also while a session holds it, in `batch`), read. To the person: pending, read.
   * To an Actor: pending, claimed, accepted, failed, ambiguous.
   */
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
    const { event_id: eventId, text, by, mode, to } = message;
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
    this.messages.push({ event_id: eventId, text, by, generation: this.#generation(by), mode, recipients });
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
    for (const { recipient } of this.#of(actor)) {
      if (recipient.batch !== batch) continue;
      if (recipient.state === "claimed") recipient.state = "accepted";
      if (recipient.state === "unread") recipient.state = "read";
    }
    for (const held of this.#held.values()) held.delete(batch);
  }

  someBatch(actor: Who): string | undefined {
    return (
      this.#of(actor).find(
        ({ recipient: { state, batch } }) => batch !== null && (state === "claimed" || state === "unread"),
      )?.recipient.batch ?? undefined
    );
  }

  take(actor: Who, limit: number): Taken[] {
    const held = new Set([...this.#held.values()].flatMap((batches) => [...batches]));
    const isHeld = ({ batch }: Recipient) => held.has(batch ?? "");
    const mailIsHeld = this.#of(actor).some(
      ({ recipient }) => recipient.state === "unread" && isHeld(recipient),
    );
    return this.#of(actor)
      .filter(
        ({ recipient }) =>
          (recipient.state === "unread" && !mailIsHeld) ||
          recipient.state === "pending" ||
          (recipient.state === "claimed" && !isHeld(recipient)),
      )
      .slice(0, limit)
      .map(({ message, recipient }) => ({
        message,
        recipient,
        redelivered: recipient.handedOut,
      }));
  }

  /** A call without a session reads Mail at once. */
  handedOut(actor: Who, session: string | null, batch: string | null, taken: Taken[]): void {
    if (taken.some(({ recipient }) => recipient.state === "unread")) {
      for (const { recipient } of this.#of(actor)) if (recipient.state === "unread") recipient.batch = null;
    }
    for (const { recipient } of taken) {
      if (recipient.state === "unread" && session === null) recipient.state = "read";
      else {
        if (recipient.state !== "unread") recipient.state = "claimed";
        recipient.batch = batch;
        recipient.handedOut = true;
      }
    }
    if (batch === null) return;
    const key = `${actor}/${session ?? ""}`;
    this.#held.set(key, (this.#held.get(key) ?? new Set()).add(batch));
  }

  /** The user reads Mail in an Actor's stead. */
  userTakes(actor: Who, limit: number): string[] {
    const unread = this.#of(actor).filter(({ recipient }) => recipient.state === "unread");
    return unread.slice(0, limit).map(({ message, recipient }) => {
      recipient.state = "read";
      return message.text;
    });
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

  personUnread(message: ModelMessage): void {
    for (const { recipients } of this.messages.slice(this.messages.indexOf(message))) {
      for (const one of recipients) if (one.id === "user") one.state = "pending";
    }
  }

  /** Removed and added again. */
  replaced(actor: Who): void {
    for (const { recipient } of this.#of(actor)) {
      // What was put back on purpose had been handed out all the same.
      if (recipient.state === "pending" && !recipient.handedOut) recipient.state = "failed";
      else if (recipient.state === "pending" || recipient.state === "claimed") recipient.state = "ambiguous";
    }
    this.#generations.set(actor, this.#generation(actor) + 1);
    for (const key of this.#held.keys()) if (key.startsWith(`${actor}/`)) this.#held.delete(key);
  }

  /** Which session had which Mail is forgotten, not that it was handed out. */
  restarted(): void {
    this.#held.clear();
    for (const { recipients } of this.messages) {
      for (const one of recipients) {
        if (one.state === "unread") one.batch = null;
      }
    }
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
