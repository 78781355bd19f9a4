/**
 * One WebSocket for all subscriptions. It reconnects by itself; a ledger subscription resumes after
 * the last event it saw, so that nothing is missing and nothing comes twice.
 */
import type { StreamMessage, StreamRequest } from "../streams.ts";
import type { OpenSocket, OpensSocket } from "./connect.ts";
import type { Connection, GroupsListener, LedgerListener, NeedsYouListener, Release } from "./listeners.ts";

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 5000;
/** A connection that is silent for this long gets a ping. Without an answer it counts as gone. */
const ASK_AFTER_MS = 15_000;
const ANSWER_WITHIN_MS = 5000;

type Subscription =
  | { channel: "groups"; listener: GroupsListener }
  | { channel: "needs_you"; listener: NeedsYouListener }
  | { channel: "ledger"; groupId: string; after: string | null; listener: LedgerListener };

export class EventSocket {
  readonly #open: OpensSocket;
  readonly #refused: (why: unknown) => void;
  readonly #longestPause: number;
  readonly #subscriptions = new Map<string, Subscription>();
  readonly #watchers = new Set<(connection: Connection) => void>();
  #socket: OpenSocket | null = null;
  #pause = FIRST_PAUSE_MS;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #watchdog: ReturnType<typeof setTimeout> | null = null;
  #next = 1;
  #running = false;
  #connection: Connection = { state: "connecting", heard: null };

  /**
   * `refused` is called when a connection couldn't be made or was ended by the daemon: perhaps the
   * session has ended. It gets the error if one is known; undefined means that no answer came.
   * Attempts are at most `longestPause` milliseconds apart.
   */
  constructor(open: OpensSocket, refused: (why: unknown) => void, longestPause = LONGEST_PAUSE_MS) {
    this.#open = open;
    this.#refused = refused;
    this.#longestPause = longestPause;
  }

  start(): void {
    if (this.#running) return;
    this.#running = true;
    this.#connect();
  }

  stop(): void {
    this.#running = false;
    this.#clearTimers();
    this.#socket?.close();
    this.#socket = null;
    this.#subscriptions.clear();
  }

  watch(watcher: (connection: Connection) => void): Release {
    this.#watchers.add(watcher);
    watcher(this.#connection);
    return () => this.#watchers.delete(watcher);
  }

  groups(listener: GroupsListener): Release {
    return this.#add({ channel: "groups", listener });
  }

  needsYou(listener: NeedsYouListener): Release {
    return this.#add({ channel: "needs_you", listener });
  }

  ledger(groupId: string, after: string | null, listener: LedgerListener): Release {
    return this.#add({ channel: "ledger", groupId, after, listener });
  }

  /** Tries now instead of after the pause. */
  retry(): void {
    if (!this.#running || this.#connection.state === "online") return;
    this.#pause = FIRST_PAUSE_MS;
    if (this.#socket === null) this.#connect();
  }

  /** A request got no answer, so check whether the connection still works. */
  doubt(): void {
    if (this.#connection.state === "online") this.#ask();
  }

  heard(): void {
    this.#connection = { ...this.#connection, heard: Date.now() };
    // Without the stream, an answer still makes what is shown more recent.
    if (this.#connection.state === "offline") this.#tell();
  }

  #add(subscription: Subscription): Release {
    const id = String(this.#next++);
    this.#subscriptions.set(id, subscription);
    if (this.#connection.state === "online") this.#subscribe(id, subscription);
    return () => {
      if (this.#subscriptions.delete(id) && this.#connection.state === "online")
        this.#send({ type: "unsubscribe", id });
    };
  }

  #connect(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const socket = this.#open({
      opened: () => {
        if (this.#socket === socket) this.#opened();
      },
      received: (data) => {
        if (this.#socket === socket) this.#receive(String(data));
      },
      closed: (why) => this.#closed(socket, why),
    });
    this.#socket = socket;
    // A connection attempt that fails may take minutes to say so.
    this.#watchdog = setTimeout(() => this.#drop(socket), ANSWER_WITHIN_MS);
  }

  #drop(socket: OpenSocket): void {
    socket.close();
    this.#closed(socket, undefined);
  }

  #opened(): void {
    this.#pause = FIRST_PAUSE_MS;
    this.#state("online");
    this.#expect();
    for (const [id, subscription] of this.#subscriptions) this.#subscribe(id, subscription);
  }

  #closed(socket: OpenSocket, why: unknown): void {
    if (this.#socket !== socket) return;
    this.#socket = null;
    this.#clearTimers();
    if (!this.#running) return;
    this.#state("offline");
    this.#refused(why);
    this.#timer = setTimeout(() => this.#connect(), this.#pause * (0.75 + Math.random() / 2));
    this.#pause = Math.min(this.#longestPause, this.#pause * 2);
  }

  #subscribe(id: string, subscription: Subscription): void {
    if (subscription.channel === "groups") {
      this.#send({ type: "subscribe", id, channel: "groups" });
      subscription.listener.restart();
    } else if (subscription.channel === "needs_you")
      this.#send({ type: "subscribe", id, channel: "needs_you" });
    else {
      const { groupId, after } = subscription;
      this.#send({
        type: "subscribe",
        id,
        channel: "ledger",
        group_id: groupId,
        ...(after === null ? {} : { after }),
      });
    }
  }

  #receive(data: string): void {
    this.heard();
    this.#expect();
    const message = JSON.parse(data) as StreamMessage;
    if (message.type === "pong" || message.id === null) return;
    const subscription = this.#subscriptions.get(message.id);
    if (subscription === undefined) return;
    if (subscription.channel === "groups") {
      if (message.type === "group") subscription.listener.group(message.group);
      else if (message.type === "group_gone") subscription.listener.gone(message.group_id);
      else if (message.type === "actors") subscription.listener.actors(message.group_id);
      else if (message.type === "resume") this.#subscribe(message.id, subscription);
    } else if (subscription.channel === "needs_you") {
      if (message.type === "needs_you") subscription.listener(message.items);
    } else this.#ledger(message.id, subscription, message);
  }

  #ledger(id: string, subscription: Subscription & { channel: "ledger" }, message: StreamMessage): void {
    if (message.type === "event") {
      subscription.after = message.event.id;
      subscription.listener.event(message.event);
    } else if (message.type === "resume" && message.after !== null) {
      subscription.after = message.after;
      this.#subscribe(id, subscription);
    } else if (message.type === "resume" || message.type === "reload" || message.type === "error") {
      this.#reload(id, subscription);
    }
  }

  #reload(id: string, subscription: Subscription & { channel: "ledger" }): void {
    this.#subscriptions.delete(id);
    subscription.listener.reload();
  }

  #send(request: StreamRequest): void {
    this.#socket?.send(JSON.stringify(request));
  }

  /** Something should arrive within the usual time, or a ping is sent. */
  #expect(): void {
    if (this.#watchdog !== null) clearTimeout(this.#watchdog);
    this.#watchdog = setTimeout(() => this.#ask(), ASK_AFTER_MS);
  }

  #ask(): void {
    const socket = this.#socket;
    if (socket === null) return;
    if (this.#watchdog !== null) clearTimeout(this.#watchdog);
    this.#send({ type: "ping" });
    this.#watchdog = setTimeout(() => this.#drop(socket), ANSWER_WITHIN_MS);
  }

  #state(state: Connection["state"]): void {
    this.#connection = { state, heard: state === "online" ? Date.now() : this.#connection.heard };
    this.#tell();
  }

  #tell(): void {
    for (const watcher of this.#watchers) watcher(this.#connection);
  }

  #clearTimers(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#watchdog !== null) clearTimeout(this.#watchdog);
    this.#timer = null;
    this.#watchdog = null;
  }
}
