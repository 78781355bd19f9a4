/**
 * One live channel: requests and answers both ways over one link (docs/protocol.md#direct). It only
 * transports. Permissions are checked elsewhere.
 */

import * as z from "zod";
import type { Clock, Timer } from "../../../platform/clock.ts";
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { DirectFrame } from "../../../shared/wire/v1/direct.ts";
import {
  type ConnectPeerAnswer,
  ConnectPeerAuthorization,
  type ConnectPeerResponse,
  contentProblem,
} from "../../../shared/wire/v1/peer.ts";
import { uuidKey } from "../../../shared/wire/v1/uuid.ts";
import type { BrokenRequest, PeerOutcome, PeerRequest } from "../transport.ts";
import type { ArrivedFrame } from "./frame-reader.ts";
import { CLOSED, type FramedLink } from "./framed-link.ts";

interface ChannelParts {
  link: FramedLink;
  clock: Clock;
  /**
   * Answers a peer's request. A Refusal goes to the peer without a signature. Any other error ends
   * the channel.
   */
  receive: (request: PeerRequest) => Promise<ConnectPeerResponse>;
  /**
   * The same for a request whose operation breaks a rule of its contents; null ends the channel.
   */
  refuse: (broken: BrokenRequest) => Promise<ConnectPeerResponse | null>;
  /** Called once, when the channel ends by itself or the peer ends it. */
  ended: (reason: string | null) => void;
}

/** A request frame whose operation nothing is known of yet. */
const UnreadRequest = z.strictObject({
  kind: z.literal("request"),
  request: z.strictObject({ proof: ConnectPeerAuthorization, operation: z.unknown() }),
});

type Settle = (outcome: PeerOutcome) => void;

/** A request of ours: what waits for its answer, and how large the frame with the answer may be. */
interface Asked {
  settle: Settle;
  answerBytes: number;
}

const PING_MS = LIMITS.direct.pingSeconds * 1000;
const IDLE_MS = LIMITS.direct.idleReadSeconds * 1000;
const PINGS_MS = 10_000;

export class DirectChannel {
  readonly #link: FramedLink;
  readonly #clock: Clock;
  readonly #receive: ChannelParts["receive"];
  readonly #refuse: ChannelParts["refuse"];
  readonly #ended: ChannelParts["ended"];
  /**
   * Our requests by id. A request that timed out keeps its slot, because the peer may still be
   * working on it.
   */
  readonly #asked = new Map<string, Asked>();
  /**
   * The peer's requests that are being answered, and those over the limit that are being refused.
   */
  #answering = 0;
  #refusing = 0;
  /** Answers that match no request. */
  #stray = 0;
  /** Pings since this time, by `Clock.monotonic()`. */
  #pings = { since: Number.NEGATIVE_INFINITY, count: 0 };
  #timer: Timer | null = null;
  #over = false;

  constructor(parts: ChannelParts) {
    this.#link = parts.link;
    this.#clock = parts.clock;
    this.#receive = parts.receive;
    this.#refuse = parts.refuse;
    this.#ended = parts.ended;
  }

  /** Starts reading frames. */
  start(): void {
    this.#watch();
    this.#link.open({
      frame: (frame) => this.#take(frame),
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
      return refuse("Earlier requests over this connection are still waiting for answers.");
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
      this.#asked.set(id, {
        settle: (outcome) =>
          outcome.kind === "uncertain" ? unanswered("uncertain", outcome.reason) : settle(outcome),
        answerBytes: answerBytes(request),
      });
      this.#link
        .send({ kind: "request", request }, () => {
          // A request that was given up and reported as not sent must not be sent.
          if (settled) this.#asked.delete(id);
          else begun = true;
          return begun;
        })
        .catch((error: Error) => {
          // Every request hears separately that the link ended. The only other cause is a frame
          // that is too large.
          if (!begun) {
            this.#asked.delete(id);
            unanswered("uncertain", error.message);
          }
        });
    });
  }

  /** Ends the channel from this side, for `reason`. `ended` isn't called. */
  close(reason: string): void {
    this.#stop(reason);
    this.#link.close();
  }

  #take(arrived: ArrivedFrame): void {
    const { kind, id } = arrived.outline;
    if (kind === "response" && !this.#isExpected(id, arrived.bytes)) return;
    const value = arrived.value();
    const parsed = DirectFrame.safeParse(value);
    const broken = parsed.success ? null : brokenRequest(value);
    if (broken !== null) {
      void this.#answer(broken.proof.request_id, async () => {
        const refused = await this.#refuse(broken);
        if (refused === null) throw new Error("its proof is for another operation");
        return refused;
      });
      return;
    }
    // The frame is what its outline said when it was measured.
    if (!parsed.success || parsed.data.kind !== kind) {
      this.#fail("The peer sent a frame that this version doesn't know.");
      return;
    }
    const frame = parsed.data;
    switch (frame.kind) {
      case "request":
        void this.#answer(frame.request.proof.request_id, () => this.#receive(frame.request));
        break;
      case "response":
        this.#settle(uuidKey(frame.id), outcomeOf(frame.response));
        break;
      case "ping":
        this.#countPing();
        break;
    }
  }

  /**
   * Whether to build this answer: a request is waiting for it, and it isn't larger than an answer
   * to that request can be.
   */
  #isExpected(id: string | null, bytes: number): boolean {
    const key = uuidKey(id ?? "");
    const asked = this.#asked.get(key);
    if (asked === undefined) {
      // It means nothing (DRC-059). A peer that keeps sending these wants to keep us busy.
      this.#stray += 1;
      if (this.#stray > LIMITS.direct.strayAnswers) this.#fail("The peer sent an answer without a request.");
      return false;
    }
    if (bytes <= asked.answerBytes) return true;
    this.#settle(key, { kind: "uncertain", reason: "The answer is too large." });
    return false;
  }

  #settle(key: string, outcome: PeerOutcome): void {
    const asked = this.#asked.get(key);
    this.#asked.delete(key);
    asked?.settle(outcome);
  }

  #countPing(): void {
    const now = this.#clock.monotonic();
    if (now - this.#pings.since >= PINGS_MS) this.#pings = { since: now, count: 0 };
    this.#pings.count += 1;
    if (this.#pings.count > LIMITS.direct.pings) this.#fail("The peer sent far more pings than it needs.");
  }

  async #answer(id: string, receive: () => Promise<ConnectPeerResponse>): Promise<void> {
    const { requests } = LIMITS.direct;
    if (this.#answering >= requests) {
      // Only a few may wait while the peer doesn't read them.
      if (this.#refusing >= requests) {
        this.#fail("The peer sent more simultaneous requests than allowed.");
        return;
      }
      this.#refusing += 1;
      await this.#respond(id, { ok: false, error: new Refusal("overloaded").body() });
      this.#refusing -= 1;
      return;
    }
    this.#answering += 1;
    try {
      await this.#respond(id, await answerOf(receive));
    } catch (error) {
      this.#fail(`A request of the peer failed: ${error instanceof Error ? error.message : "unknown"}`);
    } finally {
      this.#answering -= 1;
    }
  }

  /** Never rejects. An answer that can't be sent ends the channel. */
  async #respond(id: string, response: ConnectPeerAnswer): Promise<void> {
    try {
      await this.#link.send({ kind: "response", id, response });
    } catch (error) {
      this.#fail(`An answer couldn't be sent: ${error instanceof Error ? error.message : "unknown"}`);
    }
  }

  /**
   * Sends a ping after a while without sending, and ends the channel after a longer silence of the
   * peer.
   */
  #watch(): void {
    const now = this.#clock.monotonic();
    const idle = now - this.#link.heard;
    if (idle >= IDLE_MS) {
      this.#fail(`The peer sent nothing for ${LIMITS.direct.idleReadSeconds} seconds.`);
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
    this.#stop(reason ?? CLOSED);
    this.#ended(reason);
  }

  #stop(reason: string): void {
    if (this.#over) return;
    this.#over = true;
    this.#timer?.cancel();
    for (const { settle } of this.#asked.values()) settle({ kind: "uncertain", reason });
    this.#asked.clear();
  }
}

async function answerOf(receive: () => Promise<ConnectPeerResponse>): Promise<ConnectPeerAnswer> {
  try {
    return { ok: true, result: { response: await receive() } };
  } catch (error) {
    if (error instanceof Refusal) return { ok: false, error: error.body() };
    throw error;
  }
}

/**
 * A request with a proof, whose operation is of a known kind and breaks a rule; null for others.
 */
function brokenRequest(value: unknown): BrokenRequest | null {
  const { data } = UnreadRequest.safeParse(value);
  const problem = data === undefined ? null : contentProblem(data.request.operation);
  return data === undefined || problem === null ? null : { ...data.request, problem };
}

function outcomeOf(answer: ConnectPeerAnswer): PeerOutcome {
  if (answer.ok) return { kind: "answered", response: answer.result.response };
  return { kind: "denied", ...answer.error };
}

/** The largest frame that may hold the answer to this (docs/protocol.md#peer-operations). */
function answerBytes({ operation }: PeerRequest): number {
  const { answerBytes: plain, catalogAnswerBytes } = LIMITS.connect;
  return (operation.op === "catalog" ? catalogAnswerBytes : plain) + LIMITS.direct.frameShellBytes;
}
