/**
 * One Group's feed: a window on the ledger, fed by pages and by the stream, with the states of the
 * messages in it.
 *
 * Gapless: the newest event is noted first, then a page is read, then the stream follows from the
 * noted event; what both bring counts once. When the daemon can't resume, the same starts over.
 */
import type { EventKind, LedgerEvent, MessageEvent as Message } from "../../shared/events.ts";
import type { MessageStatus } from "../../shared/operations/messages.ts";
import type { Release } from "../../shared/stream-client/listeners.ts";
import { Store } from "../controls/store.ts";
import { type Host, HostError } from "../hosts/host.ts";
import { FeedWindow } from "./feed-window.ts";

/**
 * What is shown. Deliveries and read marks aren't rows: they change the words under the messages.
 */
export const FEED_KINDS: EventKind[] = [
  "chat.message",
  "chat.reply_request.cancelled",
  "system.notify",
  "presentation.publish",
  "group.create",
  "group.update",
  "group.attach",
  "group.set_state",
  "group.reset",
  "group.continue",
  "actor.add",
  "actor.update",
  "actor.remove",
  "actor.start",
  "actor.stop",
  "actor.restart",
  "actor.answer",
];
/** Without what happens to the Group and its Actors. */
const MESSAGE_KINDS = FEED_KINDS.filter((kind) => !/^(group|actor)\./.test(kind));
/** Events that change no message's state. */
const WITHOUT_STATUS: ReadonlySet<string> = new Set<EventKind>([
  "system.notify",
  "actor.activity",
  "presentation.publish",
]);

const PAGE = 60;
const STATUS_AFTER_MS = 120;
const ORIGINALS = 200;
/** Refusals that waiting won't change. */
const FINAL = new Set(["group_not_found", "permission_denied", "unauthenticated"]);
/** After a page that failed. */
const PAUSE_MS = 1500;

/**
 * Where the person was in a Group: the first row they saw and how far it was scrolled, or the end.
 */
export interface Place {
  eventId: string;
  offset: number;
}

type FeedHost = Pick<Host, "call" | "watchLedger">;

export class Feed extends Store {
  readonly groupId: string;
  #kinds = FEED_KINDS;
  readonly window = new FeedWindow();
  readonly #host: FeedHost;
  readonly #onChange: (event: LedgerEvent | null) => void;
  readonly #place: () => Place | null;
  readonly #statuses = new Map<string, MessageStatus>();
  #readingStatuses = false;
  /** Something changed while a request for states was running. */
  #statusesMoved = false;
  /**
   * Messages outside of the window that rows refer to; undefined while being fetched, null when
   * gone.
   */
  readonly #originals = new Map<string, Message | null | undefined>();
  #release: Release | null = null;
  #statusTimer: ReturnType<typeof setTimeout> | null = null;
  #paging: Promise<void> | null = null;
  #opening = 0;
  #notBefore = 0;
  #again: ReturnType<typeof setTimeout> | null = null;
  #retry: ReturnType<typeof setTimeout> | null = null;
  #closed = false;
  loaded = false;
  /** Resolves when rows are there, or when it was closed before. */
  readonly opened: Promise<void>;
  #open: () => void = () => {};
  /** Why nothing can be shown. */
  failure: string | null = null;
  /** The newest row is in view, so that new ones may follow it. Set by the view. */
  following = true;
  busy: "older" | "newer" | null = null;
  /** The first message that came while the person was away, and whether they have seen it since. */
  newFrom: { id: string; met: boolean } | null = null;

  /**
   * `onChange` gets each new event, and null when it is opened: some may have been missed. `place`
   * is where the person is; null for the end.
   */
  constructor(
    host: FeedHost,
    groupId: string,
    onChange: (event: LedgerEvent | null) => void,
    place: () => Place | null,
  ) {
    super();
    this.#host = host;
    this.groupId = groupId;
    this.#onChange = onChange;
    this.#place = place;
    this.opened = new Promise((resolve) => (this.#open = resolve));
  }

  get rows(): readonly LedgerEvent[] {
    return this.window.rows;
  }

  get withoutEvents(): boolean {
    return this.#kinds === MESSAGE_KINDS;
  }

  /** Leaves out what happens to the Group and its Actors, or shows it. Call `open` afterwards. */
  leaveOutEvents(out: boolean): void {
    this.#kinds = out ? MESSAGE_KINDS : FEED_KINDS;
  }

  /** The person was away from this message on. */
  away(eventId: string): void {
    if (this.newFrom?.id === eventId) return;
    this.newFrom = { id: eventId, met: false };
    this.changed();
  }

  /** The person has seen where the new messages begin. */
  meetNew(): void {
    if (this.newFrom === null || this.newFrom.met) return;
    this.newFrom = { ...this.newFrom, met: true };
    this.changed();
  }

  status(eventId: string): MessageStatus | undefined {
    return this.#statuses.get(eventId);
  }

  /** Opens at the end, or around the person's place. */
  async open(): Promise<void> {
    const opening = ++this.#opening;
    const place = this.#place();
    if (this.#again !== null) clearTimeout(this.#again);
    this.#release?.();
    this.#release = null;
    try {
      const { events } = await this.#host.call("ledger_tail", { group_id: this.groupId, limit: 1 });
      const newest = events.at(-1)?.id ?? null;
      if (place === null || !(await this.#around(place.eventId, opening, "shown"))) await this.#end(opening);
      if (opening !== this.#opening || this.#closed) return;
      this.failure = null;
      this.loaded = true;
      this.#open();
      this.#follow(newest);
      this.#onChange(null);
    } catch (error) {
      if (opening !== this.#opening || this.#closed) return;
      if (!this.loaded) this.failure = error instanceof Error ? error.message : String(error);
      // Offline, or the Group is being reset: it opens automatically when that has passed.
      if (!(error instanceof HostError) || !FINAL.has(error.code))
        this.#again = setTimeout(() => void this.open(), PAUSE_MS);
    }
    this.changed();
    this.#askStatuses(0);
  }

  close(): void {
    this.#closed = true;
    this.#opening += 1;
    this.#release?.();
    this.#release = null;
    if (this.#statusTimer !== null) clearTimeout(this.#statusTimer);
    if (this.#again !== null) clearTimeout(this.#again);
    if (this.#retry !== null) clearTimeout(this.#retry);
    this.#open();
  }

  async older(): Promise<void> {
    const first = this.window.first;
    if (!this.window.hasOlder || first === undefined) return;
    await this.#page("older", async () => {
      const { events, has_more: hasMore } = await this.#host.call("ledger_tail", {
        group_id: this.groupId,
        before: first.id,
        limit: PAGE,
        kinds: this.#kinds,
      });
      if (this.window.first?.id === first.id) this.window.prepend(events, hasMore);
    });
  }

  async newer(): Promise<void> {
    const last = this.window.last;
    if (!this.window.hasNewer || last === undefined) return;
    await this.#page("newer", async () => {
      const { events, has_more: hasMore } = await this.#host.call("ledger_tail", {
        group_id: this.groupId,
        after: last.id,
        limit: PAGE,
        kinds: this.#kinds,
      });
      if (this.window.last?.id === last.id) this.window.append(events, hasMore);
    });
  }

  /** Shows the newest rows. */
  async toEnd(): Promise<void> {
    this.window.unseen = 0;
    await this.#quiet();
    if (this.window.hasNewer) await this.#page("newer", () => this.#end(this.#opening));
    this.following = true;
    this.changed();
  }

  /** Shows the oldest rows. */
  async toStart(): Promise<void> {
    await this.#quiet();
    const opening = this.#opening;
    if (this.window.hasOlder)
      await this.#page("older", async () => {
        const { events, has_more: hasMore } = await this.#host.call("ledger_tail", {
          group_id: this.groupId,
          from: "oldest",
          limit: PAGE,
          kinds: this.#kinds,
        });
        if (opening === this.#opening) this.window.reset(events, { older: false, newer: hasMore });
      });
    this.following = false;
    this.changed();
  }

  /** Shows the rows around an event; false when it isn't there, null when nobody answers. */
  async jump(eventId: string): Promise<boolean | null> {
    await this.#quiet();
    if (this.window.has(eventId)) return true;
    let found: boolean | null = null;
    await this.#page("older", async () => {
      found = await this.#around(eventId, this.#opening, "wanted");
    });
    return found;
  }

  /** The person has seen the newest row. */
  seen(): void {
    if (this.window.unseen === 0) return;
    this.window.unseen = 0;
    this.changed();
  }

  /** Takes an event that an operation returned, before the stream brings it. */
  accept(event: LedgerEvent): void {
    if (this.loaded) this.#take(event);
  }

  /**
   * A message that another refers to: from the window, or fetched once. Undefined while unknown,
   * null when gone.
   */
  original(eventId: string): Message | null | undefined {
    const inside = this.window.find(eventId);
    if (inside?.kind === "chat.message") return inside;
    if (this.#originals.has(eventId)) return this.#originals.get(eventId);
    this.#originals.set(eventId, undefined);
    void this.#fetchOriginal(eventId);
    return undefined;
  }

  async #fetchOriginal(eventId: string): Promise<void> {
    try {
      const { events } = await this.#host.call("ledger_window", {
        group_id: this.groupId,
        event_id: eventId,
        before: 0,
        after: 0,
      });
      const found = events.find((event) => event.id === eventId);
      if (found?.kind !== "chat.message") return;
      this.#originals.set(eventId, found);
      if (this.#originals.size > ORIGINALS) {
        const oldest = this.#originals.keys().next().value;
        if (oldest !== undefined) this.#originals.delete(oldest);
      }
      this.changed();
    } catch (error) {
      if (!(error instanceof HostError) || error.code !== "event_not_found") return;
      this.#originals.set(eventId, null);
      this.changed();
    }
  }

  /** Waits until no page is on its way, so that the next one is this caller's, and at once. */
  async #quiet(): Promise<void> {
    while (this.#paging !== null) await this.#paging;
    this.#notBefore = 0;
  }

  async #page(side: "older" | "newer", read: () => Promise<void>): Promise<void> {
    if (this.#paging !== null) return this.#paging;
    if (performance.now() < this.#notBefore) return;
    this.busy = side;
    this.#paging = read()
      .catch(() => {
        // Offline: the banner says so. A person at the edge causes another request, but not at
        // once.
        this.#notBefore = performance.now() + PAUSE_MS;
        this.#retry = setTimeout(() => this.changed(), PAUSE_MS + 1);
      })
      .then(() => {
        this.busy = null;
        this.#paging = null;
        if (this.#closed) return;
        this.changed();
        this.#askStatuses(0);
      });
    await this.#paging;
  }

  async #end(opening: number): Promise<void> {
    const { events, has_more: hasMore } = await this.#host.call("ledger_tail", {
      group_id: this.groupId,
      limit: PAGE,
      kinds: this.#kinds,
    });
    if (opening === this.#opening) this.window.reset(events, { older: hasMore, newer: false });
  }

  /**
   * The daemon's answer has the event itself whatever its kind: it is shown if it is of those that
   * are, or if the person wants to see it.
   */
  async #around(eventId: string, opening: number, which: "shown" | "wanted"): Promise<boolean> {
    try {
      const page = await this.#host.call("ledger_window", {
        group_id: this.groupId,
        event_id: eventId,
        before: PAGE / 2,
        after: PAGE,
        kinds: this.#kinds,
      });
      const isShown = ({ id, kind }: LedgerEvent) =>
        (which === "wanted" && id === eventId) || this.#kinds.some((shown) => shown === kind);
      if (opening === this.#opening)
        this.window.reset(page.events.filter(isShown), { older: page.has_older, newer: page.has_newer });
      return true;
    } catch (error) {
      if (error instanceof Error && "offline" in error && error.offline === true) throw error;
      return false;
    }
  }

  #follow(after: string | null): void {
    this.#release = this.#host.watchLedger(this.groupId, after, {
      event: (event) => this.#take(event),
      reload: () => void this.open(),
    });
  }

  #take(event: LedgerEvent): void {
    if (this.#kinds.some((kind) => kind === event.kind)) {
      if (this.window.accept(event, this.following)) this.changed();
    }
    if (!WITHOUT_STATUS.has(event.kind)) this.#askStatuses(STATUS_AFTER_MS);
    this.#onChange(event);
  }

  #askStatuses(after: number): void {
    if (this.#statusTimer !== null || this.#closed) return;
    this.#statusTimer = setTimeout(() => {
      this.#statusTimer = null;
      void this.#refreshStatuses();
    }, after);
  }

  /** One request at a time, because an outdated answer would undo what is already known. */
  async #refreshStatuses(): Promise<void> {
    if (this.#readingStatuses) {
      this.#statusesMoved = true;
      return;
    }
    this.#readingStatuses = true;
    do {
      this.#statusesMoved = false;
      await this.#readStatuses();
    } while (this.#statusesMoved && !this.#closed);
    this.#readingStatuses = false;
  }

  async #readStatuses(): Promise<void> {
    const messages = this.window.rows.filter((event) => event.kind === "chat.message");
    const wanted = messages
      .filter((event) => !settled(this.#statuses.get(event.id)))
      .map((event) => event.id);
    if (wanted.length === 0) return;
    try {
      const { statuses } = await this.#host.call("ledger_statuses", {
        group_id: this.groupId,
        event_ids: wanted,
      });
      if (this.#closed) return;
      for (const known of this.#statuses.keys()) if (!this.window.has(known)) this.#statuses.delete(known);
      for (const [id, status] of Object.entries(statuses)) this.#statuses.set(id, status);
      this.changed();
    } catch {
      // The next event or page requests it again.
    }
  }
}

/** Nothing more can happen to it, so it needn't be requested again. */
function settled(status: MessageStatus | undefined): boolean {
  if (status === undefined) return false;
  const deliveries = Object.values(status.delivery_status);
  return (
    deliveries.every((delivery) => delivery.state === "read" || delivery.state === "accepted") &&
    Object.values(status.read_status).every((read) => read) &&
    Object.values(status.obligation_status).every((obligation) => obligation.state !== "open") &&
    status.connect_delivery?.state !== "queued" &&
    status.connect_cancellation?.state !== "queued"
  );
}
