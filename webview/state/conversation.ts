/** Everything that belongs to the open Group, opened and closed together. */

import { hasTerminal } from "../../shared/actor-words.ts";
import type { LedgerEvent } from "../../shared/events.ts";
import type { ActorWithPresence } from "../../shared/operations/actors.ts";
import { type Host, HostError } from "../hosts/host.ts";
import { Activity } from "./activity.ts";
import { Answering } from "./answering.ts";
import { DraftKeeper } from "./draft.ts";
import { Feed, type Place } from "./feed-store.ts";
import { GroupConnections } from "./group-connections.ts";
import { OpenGroup } from "./open-group.ts";
import { OpenQuestions } from "./open-questions.ts";
import { OpenRequests } from "./open-requests.ts";
import { Terminals } from "./open-terminals.ts";
import { Outgoing } from "./outgoing.ts";
import { ReadMarks } from "./read-marks.ts";
import { RemoteGroups } from "./remote-groups.ts";
import { Sending } from "./sending.ts";
import { ShownSlots } from "./shown-slots.ts";
import { Uploads } from "./uploads.ts";

/** No one watches the screen for this, so it is polled slowly. The dialog polls more often. */
const CONNECTIONS_EVERY_MS = 10_000;

const WITHOUT_EVENTS = "without-events";

export class Conversation {
  readonly groupId: string;
  readonly group: OpenGroup;
  readonly feed: Feed;
  readonly requests: OpenRequests;
  readonly slots: ShownSlots;
  readonly answering: Answering;
  readonly draft: DraftKeeper;
  readonly uploads: Uploads;
  readonly sending: Sending;
  readonly marks: ReadMarks;
  readonly activity = new Activity();
  readonly questions: OpenQuestions;
  readonly terminals: Terminals;
  readonly remotes: RemoteGroups;
  /** Followed by the elements that show them, if the person may see them. */
  readonly connections: GroupConnections;
  /** Resolves when the unsent text is known, as far as it can be. */
  draftRead: Promise<void> = Promise.resolve();
  readonly #host: Host;
  readonly #looking: () => boolean;
  /** Nothing was unread when the daemon last said so; null before. */
  #allRead: boolean | null = null;
  #openedAt: string | null = null;

  constructor(host: Host, groupId: string, looking: () => boolean, inView: () => boolean) {
    this.#host = host;
    this.#looking = looking;
    this.groupId = groupId;
    this.group = new OpenGroup(host, groupId);
    this.questions = new OpenQuestions(host, this.group);
    this.requests = new OpenRequests(host, groupId);
    this.slots = new ShownSlots(host, groupId);
    this.feed = new Feed(
      host,
      groupId,
      (event) => this.#take(event),
      () => this.place,
    );
    this.answering = new Answering(this.group, this.requests);
    this.draft = new DraftKeeper(host, groupId, (next, before) => this.answering.settle(next, before));
    this.uploads = new Uploads(host, groupId, (uploaded) =>
      this.draft.update({ attachments: [...this.draft.draft.attachments, uploaded] }),
    );
    this.sending = new Sending(host, this.draft, new Outgoing(host, this.draft), {
      complete: () => this.#complete(),
      taken: (event) => this.feed.accept(event),
    });
    this.feed.subscribe(() => this.#settleAttempt());
    this.marks = new ReadMarks(host, groupId, looking);
    this.terminals = new Terminals(host, groupId);
    this.remotes = new RemoteGroups(host, groupId);
    this.connections = new GroupConnections(host, groupId, CONNECTIONS_EVERY_MS, inView);
    this.requests.subscribe(() => this.draft.complete((draft) => this.answering.late(draft)));
    this.group.subscribe(() => {
      if (!this.group.loaded) return;
      this.draft.complete((draft) => this.answering.late(draft));
      this.draft.retain(this.group.actors);
      this.terminals.retain(new Set(this.group.actors.filter(hasTerminal).map((actor) => actor.id)));
    });
  }

  /** A new event, or null when some may have been missed. */
  #take(event: LedgerEvent | null): void {
    if (event === null) void Promise.all([this.requests.read(), this.slots.read()]);
    else if (event.kind === "actor.activity") this.group.applyActivity(event);
    else {
      if (/^(actor|group)\./.test(event.kind)) void this.group.refresh();
      this.requests.take(event);
      this.slots.take(event);
    }
  }

  /** The person's place here; null is the end. At first, the message that it was opened at. */
  get place(): Place | null {
    if (this.#openedAt !== null) return { eventId: this.#openedAt, offset: 0 };
    const kept = this.#host.recall(`place/${this.groupId}`);
    if (typeof kept !== "object" || kept === null) return null;
    const { eventId, offset } = kept as Partial<Place>;
    return typeof eventId === "string" && typeof offset === "number" ? { eventId, offset } : null;
  }

  /** Shows the feed with or without what happens to the Group and its Actors. */
  leaveOutEvents(out: boolean): void {
    this.#host.remember(WITHOUT_EVENTS, out ? true : null);
    this.feed.leaveOutEvents(out);
    void this.feed.open();
  }

  keepPlace(place: Place | null): void {
    this.#openedAt = null;
    this.#host.remember(`place/${this.groupId}`, place);
  }

  /** Resolves with those whom the draft may name, once the Group and the files have arrived. */
  async #complete(): Promise<readonly ActorWithPresence[]> {
    if (!(await this.uploads.settled()))
      throw new HostError("invalid_argument", "A file wasn’t uploaded. Remove it, then send again.");
    await this.group.known();
    return this.group.actors;
  }

  /** An answer may have been lost. The feed shows whether the message was accepted after all. */
  #settleAttempt(): void {
    const key = this.draft.attempted;
    if (key === null) return;
    const sent = this.feed.rows
      .filter((row) => row.kind === "chat.message")
      .find(({ by, data }) => by === "user" && data.client_id === key);
    if (sent !== undefined) this.draft.taken(sent);
  }

  /**
   * The daemon says which message is the first unread one. Where new messages begin stays where it
   * was while the person reads on, until more come without them.
   */
  noteUnread(first: string | null): void {
    // It may have been marked unread in another window.
    if (first !== null && !this.#looking()) this.marks.forget();
    if (first !== null && (this.#allRead === null || (this.#allRead && !this.#looking())))
      this.feed.away(first);
    this.#allRead = first === null;
    this.marks.begin();
  }

  /** Marks what came from this event on as unread. Throws `HostError`. */
  async markUnread(eventId: string): Promise<void> {
    await this.marks.hold();
    try {
      const { first_unread: first } = await this.#host.call("feed_unread", {
        group_id: this.groupId,
        event_id: eventId,
      });
      if (first === null) throw new HostError("invalid_argument", "There is no message to you from here on.");
      this.#allRead = false;
      this.feed.away(first);
    } catch (error) {
      this.marks.release();
      throw error;
    }
  }

  /** The person came back to the window. */
  returned(): void {
    this.marks.returned();
    void this.draft.refresh();
  }

  /** Opens at a message, or where the person was. */
  open(eventId: string | null): void {
    // A new connection reads the Group when it starts, or polling does.
    let isComing = false;
    this.#host.watchConnection(({ state }) => (isComing = state === "connecting"))();
    if (!isComing) void this.group.refresh();
    this.activity.open(this.#host, this.groupId);
    this.#openedAt = eventId;
    this.feed.leaveOutEvents(this.#host.recall(WITHOUT_EVENTS) === true);
    void this.feed.open();
    this.draftRead = this.draft.load();
    void this.draftRead.then(() => {
      if (this.group.loaded) this.draft.retain(this.group.actors);
      this.#settleAttempt();
      this.sending.open();
    });
  }

  close(): void {
    this.connections.close();
    this.activity.close();
    this.feed.close();
    this.draft.close();
    this.sending.close();
    this.uploads.close();
    this.marks.close();
  }
}
