/** `GET /events/ws`: many subscriptions over one WebSocket (shared/streams.ts). */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { Caller } from "../../../shared/operations/caller.ts";
import type { GroupSummary } from "../../../shared/operations/groups.ts";
import { type StreamMessage, StreamRequest } from "../../../shared/streams.ts";
import { foreignGroup, isPerson, mayEnter } from "../../operations/dispatcher.ts";
import type { Batch } from "./ledger-subscription.ts";
import { LedgerSubscription } from "./ledger-subscription.ts";
import type { StreamHub } from "./stream-hub.ts";
import { parseRequest, StreamSocket, upgradesOf } from "./stream-socket.ts";

/** Frames of a batch by subscription id: clients name their subscriptions alike. */
const framesOf = new WeakMap<Batch, Map<string, readonly string[]>>();

export class EventSockets {
  readonly #hub: StreamHub;
  readonly #server = upgradesOf(LIMITS.stream.inboundMessageBytes);

  constructor(hub: StreamHub) {
    this.#hub = hub;
  }

  /** Completes the upgrade of an authenticated caller. */
  accept(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    caller: Caller,
    isAllowed: () => boolean,
  ): void {
    this.#server.handleUpgrade(request, socket, head, (webSocket) => {
      try {
        new EventSocket(webSocket, this.#hub, caller, isAllowed).join();
      } catch {
        webSocket.close(1013, "overloaded");
      }
    });
  }
}

interface Subscription {
  end(): void;
  /** Continues reading earlier events. */
  pump?(): void;
  channel: "groups" | "needs_you" | "ledger";
}

class EventSocket extends StreamSocket {
  readonly #subscriptions = new Map<string, Subscription>();
  /** Those that wait until the socket has drained. */
  readonly #waiting = new Set<LedgerSubscription>();
  #isDraining = false;

  protected left(): void {
    for (const subscription of this.#subscriptions.values()) subscription.end();
    this.#subscriptions.clear();
  }

  group(groupId: string, summary: GroupSummary | null): void {
    if (!mayEnter(this.caller, groupId)) return;
    for (const [id, subscription] of this.#subscriptions) {
      if (subscription.channel !== "groups") continue;
      if (summary === null) this.#send({ type: "group_gone", id, group_id: groupId });
      else this.#send({ type: "group", id, group: summary });
    }
  }

  actors(groupId: string): void {
    if (!mayEnter(this.caller, groupId)) return;
    for (const [id, subscription] of this.#subscriptions) {
      if (subscription.channel === "groups") this.#send({ type: "actors", id, group_id: groupId });
    }
  }

  needsYou(): void {
    for (const [id, { channel }] of this.#subscriptions) if (channel === "needs_you") this.#sendNeedsYou(id);
  }

  protected refuse(refusal: Refusal, request: unknown): void {
    const named = (request as { id?: unknown } | null | undefined)?.id;
    const id = typeof named === "string" && named.length <= 64 ? named : null;
    this.#send({ type: "error", id, error: refusal.body() });
  }

  protected serve(asked: unknown): void {
    const request = parseRequest(StreamRequest, asked);
    if (request.type === "ping") this.#send({ type: "pong" });
    else if (request.type === "unsubscribe") {
      this.#subscriptions.get(request.id)?.end();
      this.#subscriptions.delete(request.id);
      this.#send({ type: "unsubscribed", id: request.id });
    } else {
      const { id } = request;
      if (this.#subscriptions.has(id)) {
        throw new Refusal("already_exists", {
          specifics: "This connection already has a subscription with that id.",
        });
      }
      if (this.#subscriptions.size >= LIMITS.stream.subscriptionsPerSocket) {
        throw new Refusal("limit_reached", {
          specifics: `A connection can have at most ${LIMITS.stream.subscriptionsPerSocket} subscriptions.`,
          details: { subscriptions: LIMITS.stream.subscriptionsPerSocket },
        });
      }
      if (request.channel === "groups") void this.#subscribeGroups(id);
      else if (request.channel === "needs_you") this.#subscribeNeedsYou(id);
      else this.#subscribeLedger(id, request.group_id, request.after ?? null);
    }
  }

  #subscribeNeedsYou(id: string): void {
    if (!isPerson(this.caller)) throw new Refusal("permission_denied");
    this.#subscriptions.set(id, { channel: "needs_you", end: () => {} });
    this.#send({ type: "subscribed", id });
    this.#sendNeedsYou(id);
  }

  #sendNeedsYou(id: string): void {
    this.#send({ type: "needs_you", id, items: this.hub.sources.needsYou(this.caller) });
  }

  async #subscribeGroups(id: string): Promise<void> {
    const subscription: Subscription = { channel: "groups", end: () => {} };
    this.#subscriptions.set(id, subscription);
    this.#send({ type: "subscribed", id });
    for (const groupId of this.hub.sources.groupIds()) {
      if (!mayEnter(this.caller, groupId)) continue;
      const group = await this.hub.sources.summary(groupId).catch(() => null);
      if (this.#subscriptions.get(id) !== subscription) return;
      if (group !== null) this.#send({ type: "group", id, group });
    }
  }

  #subscribeLedger(id: string, groupId: string, after: string | null): void {
    if (!mayEnter(this.caller, groupId)) throw foreignGroup(groupId);
    const ledger = this.hub.sources.ledgerOf(groupId);
    let unfollow = (): void => {};
    const forget = (): void => {
      subscription.end();
      this.#waiting.delete(subscription);
      unfollow();
      this.#subscriptions.delete(id);
    };
    const subscription = new LedgerSubscription(ledger, {
      isFull: () => this.#isFull(subscription),
      past: (event) => this.#send({ type: "event", id, event }),
      live: (batch) => {
        if (this.socket.bufferedAmount <= LIMITS.stream.bufferBytes) {
          for (const frame of frames(batch, id)) this.socket.send(frame);
          return;
        }
        this.#send({ type: "resume", id, after: batch.first === 0 ? null : ledger.idOf(batch.first - 1) });
        forget();
      },
      reload: () => {
        this.#send({ type: "reload", id });
        forget();
      },
    });
    unfollow = this.hub.follow(groupId, {
      batch: (batch) => subscription.offer(batch),
      gone: () => {
        this.#send({ type: "reload", id });
        forget();
      },
    });
    this.#subscriptions.set(id, { channel: "ledger", end: forget });
    this.#send({ type: "subscribed", id });
    subscription.start(after);
  }

  /**
   * Whether so much waits that earlier events must wait, too. Continues when the socket has
   * drained.
   */
  #isFull(subscription: LedgerSubscription): boolean {
    const transport = (this.socket as unknown as { _socket?: Duplex })._socket;
    if (transport?.writableNeedDrain !== true) return false;
    this.#waiting.add(subscription);
    if (!this.#isDraining) transport.once("drain", () => this.#drained());
    this.#isDraining = true;
    return true;
  }

  #drained(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    this.#isDraining = false;
    for (const subscription of waiting) subscription.pump();
  }

  #send(message: StreamMessage): void {
    if (this.socket.readyState !== this.socket.OPEN) return;
    // A client that reads nothing at all, not even its last message, is cut off.
    if (this.socket.bufferedAmount > 2 * LIMITS.stream.bufferBytes) this.socket.terminate();
    else this.socket.send(JSON.stringify(message));
  }
}

function frames(batch: Batch, id: string): readonly string[] {
  let byId = framesOf.get(batch);
  if (byId === undefined) framesOf.set(batch, (byId = new Map()));
  let texts = byId.get(id);
  if (texts === undefined) {
    const quoted = JSON.stringify(id);
    texts = batch.json().map((json) => `{"type":"event","id":${quoted},"event":${json}}`);
    byId.set(id, texts);
  }
  return texts;
}
