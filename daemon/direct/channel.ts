/** One live channel: requests and answers both ways over one link (protocol.md, section 9). It carries; who may is asked elsewhere. */
import { LIMITS } from "../../shared/limits.ts";
import { DirectFrame } from "../../shared/wire/direct.ts";
import type { ConnectPeerResponse } from "../../shared/wire/peer.ts";
import { uuidKey } from "../../shared/wire/uuid.ts";
import type { PeerOutcome, PeerRequest } from "../connect/transport.ts";
import type { Clock, Timer } from "../platform/clock.ts";
import type { FramedLink } from "./framed-link.ts";

interface ChannelParts {
  link: FramedLink;
  clock: Clock;
  /** Answers a peer's request; a rejection ends the channel, since what isn't authentic gets no answer. */
  receive: (request: PeerRequest) => Promise<ConnectPeerResponse>;
  /** Called once, when the channel ends by itself or by the peer. */
  ended: (reason: string | null) => void;
}

type Settle = (outcome: PeerOutcome) => void;

const PING_MS = LIMITS.direct.pingSeconds * 1000;
const IDLE_MS = LIMITS.direct.idleReadSeconds * 1000;

export class DirectChannel {
  readonly #link: FramedLink;
  readonly #clock: Clock;
  readonly #receive: ChannelParts["receive"];
  readonly #ended: ChannelParts["ended"];
  /** Our requests by id; one that timed out keeps its slot, since the peer may still be at it. */
  readonly #asked = new Map<string, Settle>();
  /** Requests of the peer that are being answered. */
  #answering = 0;
  #timer: Timer | null = null;
  #over = false;

  constructor(parts: ChannelParts) {
    this.#link = parts.link;
    this.#clock = parts.clock;
    this.#receive = parts.receive;
    this.#ended = parts.ended;
  }

  /** Begins to take frames. */
  start(): void {
    this.#watch();
    this.#link.open({
      frame: (value) => this.#take(value),
      ended: (reason) => this.#finish(reason),
    });
  }

  /** As `PeerTransport.request`. */
  request(request: PeerRequest, deadline: number, signal: AbortSignal): Promise<PeerOutcome> {
    const id = uuidKey(request.proof.request_id);
    const refuse = (reason: string): Promise<PeerOutcome> => Promise.resolve({ kind: "refused", reason });
    if (this.#over) return refuse("The connection has just ended.");
    if (signal.aborted) return refuse("The daemon is shutting down.");
    if (this.#asked.size >= LIMITS.direct.requests || this.#asked.has(id)) {
      return refuse("Earlier requests over this connection wait for their answers.");
    }
    return new Promise((resolve) => {
      let begun = false;
      let settled = false;
      const unanswered = (kind: "uncertain" | "timed_out", reason: string): void =>
        settle(begun ? { kind, reason } : { kind: "refused", reason });
      const abort = (): void => unanswered("uncertain", "The daemon is shutting down.");
      const timer = this.#clock.after(Math.max(0, deadline - this.#clock.monotonic()), () =>
        unanswered("timed_out", "The peer didn't answer in time."),
      );
      const settle: Settle = (outcome) => {
        settled = true;
        timer.cancel();
        signal.removeEventListener("abort", abort);
        resolve(outcome);
      };
      signal.addEventListener("abort", abort);
      this.#asked.set(id, (outcome) =>
        outcome.kind === "uncertain" ? unanswered("uncertain", outcome.reason) : settle(outcome),
      );
      this.#link
        .send({ kind: "request", request }, () => {
          // What nobody waits for any more, and was told that it didn't leave, must not leave.
          if (settled) this.#asked.delete(id);
          else begun = true;
          return begun;
        })
        .catch((error: Error) => {
          // The end of the link is told to every request; what is left is a frame that is too large.
          if (!begun) {
            this.#asked.delete(id);
            unanswered("uncertain", error.message);
          }
        });
    });
  }

  /** Ends it from this side, for `reason`; `ended` isn't called. */
  close(reason: string): void {
    this.#stop(reason);
    this.#link.close();
  }

  #take(value: unknown): void {
    const parsed = DirectFrame.safeParse(value);
    if (!parsed.success) {
      this.#fail("The peer sent a frame that this version doesn't know.");
      return;
    }
    const frame = parsed.data;
    if (frame.kind === "request") {
      void this.#answer(frame.request);
    } else if (frame.kind === "response") {
      const id = uuidKey(frame.id);
      // One that nobody asked for, or that was answered, says nothing (DRC-059).
      const settle = this.#asked.get(id);
      this.#asked.delete(id);
      settle?.({ kind: "answered", response: frame.response });
    }
  }

  async #answer(request: PeerRequest): Promise<void> {
    if (this.#answering >= LIMITS.direct.requests) {
      this.#fail("The peer sent more requests at a time than are allowed.");
      return;
    }
    this.#answering += 1;
    try {
      const response = await this.#receive(request);
      await this.#link.send({ kind: "response", id: request.proof.request_id, response });
    } catch (error) {
      // Its message is for people and tells nothing of what was sent.
      this.#fail(`A request of the peer was refused: ${error instanceof Error ? error.message : "unknown"}`);
    } finally {
      this.#answering -= 1;
    }
  }

  /** A ping when nothing was said for a while; the end when nothing was heard for longer. */
  #watch(): void {
    const now = this.#clock.monotonic();
    const idle = now - this.#link.heard;
    if (idle >= IDLE_MS) {
      this.#fail(`Nothing came from the peer for ${LIMITS.direct.idleReadSeconds} seconds.`);
      return;
    }
    let quiet = now - this.#link.said;
    if (quiet >= PING_MS) {
      quiet = 0;
      this.#link.send({ kind: "ping" }).catch(() => undefined);
    }
    const next = Math.min(PING_MS - quiet, IDLE_MS - idle);
    this.#timer = this.#clock.after(Math.max(1, next), () => this.#watch(), { background: true });
  }

  #fail(reason: string): void {
    if (this.#over) return;
    this.#link.close();
    this.#finish(reason);
  }

  #finish(reason: string | null): void {
    if (this.#over) return;
    this.#stop(reason ?? "The peer closed the connection.");
    this.#ended(reason);
  }

  #stop(reason: string): void {
    if (this.#over) return;
    this.#over = true;
    this.#timer?.cancel();
    for (const settle of this.#asked.values()) settle({ kind: "uncertain", reason });
    this.#asked.clear();
  }
}
