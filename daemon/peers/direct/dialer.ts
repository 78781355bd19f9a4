/**
 * Dials for the relations that this side joined: every 5 seconds while there is no channel, every
 * 60 once the time for approval is over and the other side hasn't reported the outcome. Final
 * decisions stop it (DRC-039).
 */

import type { Clock, Timer } from "../../../platform/clock.ts";
import type { Log } from "../../../platform/log.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { type DirectEndpoint, type DirectInvitation, DirectState } from "../../../shared/wire/v1/direct.ts";
import { bindAddress } from "./addresses.ts";
import type { Channels } from "./channels.ts";
import { FramedLink } from "./framed-link.ts";
import type { Links } from "./link.ts";
import { isOverdue, isTerminal, type Relation } from "./relation.ts";
import type { Relations } from "./relations.ts";

interface Dependencies {
  clock: Clock;
  log: Log;
  links: Links;
  channels: Channels;
  relations: Relations;
  isCurrent: (relation: Relation) => boolean;
  /** Our end with its current names. */
  endpointOf: (relation: Relation) => DirectEndpoint;
  /** What went wrong with the latest attempt; null when nothing did. */
  report: (id: string, error: string | null) => void;
}

/** A relation that is being dialled: the current attempt, or the wait for the next one. */
interface Line {
  abort: AbortController | null;
  timer: Timer | null;
}

const HANDSHAKE_MS = LIMITS.direct.handshakeSeconds * 1000;
/**
 * What the other side may have sent before its "active" is on our disk: an approved peer's first
 * requests.
 */
const WAITING_BYTES = 2 * LIMITS.direct.frameBytes;

/**
 * A wrong secret, someone else's invitation, a replaced Group: the other side tells only its own
 * person (section 9).
 */
const UNANSWERED =
  "The other side ended the connection without answering. If it keeps doing that, ask for a new invitation.";

/** An instance forgets an approval when its Home is restored from an older backup. */
const LOST_APPROVAL =
  "The other side has lost its approval, and it is too late to approve again. Remove this connection and ask for a new invitation.";

export class Dialer {
  readonly #deps: Dependencies;
  readonly #lines = new Map<string, Line>();
  /**
   * `Clock.monotonic()` of the latest attempt: after a channel that ends at once, the next attempt
   * waits.
   */
  readonly #dialled = new Map<string, number>();
  #closed = false;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /** Checks which relations need dialling now. Call it whenever that may have changed. */
  refresh(): void {
    const wanted = new Map(
      this.#deps.relations.list
        .filter((relation) => this.#wants(relation))
        .map((relation) => [relation.id, relation]),
    );
    for (const [id, line] of this.#lines) {
      if (!wanted.has(id)) this.#end(id, line);
    }
    for (const id of this.#dialled.keys()) {
      if (this.#deps.relations.find(id) === undefined) this.#dialled.delete(id);
    }
    for (const [id, relation] of wanted) {
      if (!this.#lines.has(id)) this.#wait(relation);
    }
  }

  close(): void {
    this.#closed = true;
    for (const [id, line] of this.#lines) this.#end(id, line);
  }

  #wants(relation: Relation): boolean {
    return (
      !this.#closed &&
      relation.invitation !== null &&
      !isTerminal(relation) &&
      !this.#deps.channels.has(relation.id) &&
      this.#deps.isCurrent(relation)
    );
  }

  #end(id: string, line: Line): void {
    this.#lines.delete(id);
    line.timer?.cancel();
    line.abort?.abort();
  }

  /** Milliseconds until the next attempt is due; it may be due now. */
  #wait(relation: Relation): void {
    const { clock } = this.#deps;
    const { overdueRedialSeconds, redialSeconds } = LIMITS.direct;
    const isUndecided = relation.state !== "active" && isOverdue(relation, clock.now());
    const gap = (isUndecided ? overdueRedialSeconds : redialSeconds) * 1000;
    const due = (this.#dialled.get(relation.id) ?? Number.NEGATIVE_INFINITY) + gap;
    const line: Line = { abort: null, timer: null };
    this.#lines.set(relation.id, line);
    const left = due - clock.monotonic();
    if (left <= 0) void this.#dial(relation.id, line);
    else line.timer = clock.after(left, () => void this.#dial(relation.id, line), { background: true });
  }

  async #dial(id: string, line: Line): Promise<void> {
    const { clock, log, relations, report } = this.#deps;
    const relation = relations.find(id);
    if (relation === undefined || relation.invitation === null) {
      this.#lines.delete(id);
      return;
    }
    line.timer = null;
    line.abort = new AbortController();
    this.#dialled.set(id, clock.monotonic());
    let error: string | null;
    try {
      error = await this.#attempt(relation, relation.invitation, line.abort);
    } catch (failure) {
      error = failure instanceof Error ? failure.message : "The connection failed.";
    }
    // This attempt was given up, or it became a channel.
    if (this.#lines.get(id) !== line) return;
    report(id, error);
    if (error !== null) log.debug("direct dial", { id, reason: error });
    this.#lines.delete(id);
    const now = relations.find(id);
    if (now !== undefined && this.#wants(now)) this.#wait(now);
  }

  /** Says hello and acts on the answer. Returns what is wrong, in words, or null. */
  async #attempt(
    relation: Relation,
    invitation: DirectInvitation,
    abort: AbortController,
  ): Promise<string | null> {
    const { clock, links, relations, endpointOf, report } = this.#deps;
    const { id, secret, host, address } = invitation;
    let link: FramedLink | null = null;
    let slow = false;
    const give = (): void => link?.close();
    const budget = clock.after(HANDSHAKE_MS, () => {
      slow = true;
      abort.abort();
    });
    abort.signal.addEventListener("abort", give);
    try {
      const peer = await links.connect(bindAddress(address), host.public_key, abort.signal);
      link = new FramedLink(peer, clock, WAITING_BYTES);
      if (abort.signal.aborted) throw new Error("The attempt was abandoned.");
      await link.send({ id, secret, endpoint: endpointOf(relation) });
      const said = await answerOf(link);
      const answer = DirectState.safeParse(said);
      budget.cancel();
      if (!answer.success) throw new Error("The peer sent something other than an answer.");
      switch (answer.data) {
        case "active":
          await relations.learn(id, "active");
          // The attempt may have been given up, and the connection revoked here, during the write.
          if (relations.find(id)?.state !== "active") break;
          if (abort.signal.aborted) break;
          abort.signal.removeEventListener("abort", give);
          return this.#hand(id, host.instance_id, link);
        case "expired":
        case "revoked": {
          const hadApproved = relations.find(id)?.state === "active";
          await relations.learn(id, answer.data);
          // Dialling has stopped, so this attempt's own report comes too late.
          report(id, answer.data === "expired" && hadApproved ? LOST_APPROVAL : null);
          break;
        }
        case "pending":
          if (relation.state === "active") {
            link.close();
            return "The other side has lost its approval.";
          }
          break;
        case "invited":
          break;
      }
      link.close();
      return null;
    } catch (error) {
      give();
      if (!slow) throw error;
      const seconds = LIMITS.direct.handshakeSeconds;
      throw new Error(`The other side didn't answer within ${seconds} seconds.`, { cause: error });
    } finally {
      budget.cancel();
      abort.signal.removeEventListener("abort", give);
    }
  }

  /** Makes the link a channel. Returns why it couldn't, or null. */
  #hand(id: string, instanceId: string, link: FramedLink): string | null {
    const problem = this.#deps.channels.take(id, instanceId, link);
    if (problem !== null) link.close();
    return problem;
  }
}

/** The other side's answer to the hello. */
async function answerOf(link: FramedLink): Promise<unknown> {
  try {
    return await link.first();
  } catch (cause) {
    // Our own refusal isn't blamed on the other side.
    if (link.endedHere) throw cause;
    throw new Error(UNANSWERED, { cause });
  }
}
