/**
 * The listener of all Direct connections. It is bound as configured, retried while that fails, and
 * guarded until a peer has sent an approved hello. Strangers can't hold more than a few connections
 * that haven't proven anything, and none of them for long.
 */

import type { Clock, Timer } from "../../../platform/clock.ts";
import type { Log } from "../../../platform/log.ts";
import type { Random } from "../../../platform/random.ts";
import { ERRORS } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { DirectListener } from "../../../shared/operations/direct.ts";
import { bindAddress } from "./addresses.ts";
import type { Channels } from "./channels.ts";
import { FramedLink } from "./framed-link.ts";
import type { HelloCheck, Verdict } from "./hello-check.ts";
import type { BoundListener, IncomingLink, Links } from "./link.ts";
import { type PendingConnection, PendingConnections } from "./pending-connections.ts";

interface Dependencies {
  clock: Clock;
  random: Pick<Random, "bytes">;
  log: Log;
  links: Links;
  channels: Channels;
  hellos: HelloCheck;
  /** What went wrong with a relation's peer; null when nothing did. */
  report: (id: string, error: string | null) => void;
  /** The listener is bound, is no longer bound, or couldn't be. */
  changed: () => void;
}

const RETRY_MS = LIMITS.direct.redialSeconds * 1000;
const HANDSHAKE_MS = LIMITS.direct.handshakeSeconds * 1000;
/** After its hello a peer sends nothing until it gets an answer. */
const WAITING_BYTES = LIMITS.direct.helloBytes + 4;

export class Listener {
  readonly #deps: Dependencies;
  readonly #pending: PendingConnections;
  /** Connections whose channel came in here. */
  readonly #received = new Set<string>();
  /** Where they came in, also while it is no longer bound there. */
  #served: string | null = null;
  #wanted: DirectListener | null = null;
  #bound: { listener: BoundListener; bind: string } | null = null;
  #error: string | null = null;
  #timer: Timer | null = null;
  #last: Promise<void> = Promise.resolve();

  constructor(deps: Dependencies) {
    this.#deps = deps;
    this.#pending = new PendingConnections(deps.random);
  }

  /** Where it is bound; null when it isn't. */
  get bind(): string | null {
    return this.#bound?.bind ?? null;
  }

  /** Why it isn't bound, for people. */
  get error(): string | null {
    return this.#error;
  }

  /**
   * Why it doesn't listen where it should, once the current attempt has ended. Null when it listens
   * or is turned off.
   */
  async problem(): Promise<string | null> {
    for (let awaited: Promise<void> | null = null; awaited !== this.#last; ) {
      awaited = this.#last;
      await awaited;
    }
    return this.#error;
  }

  /**
   * Listens there from now on, or nowhere. Resolves after the first attempt. Turning it off ends
   * the channels that it received (DRC-050).
   */
  configure(wanted: DirectListener | null): Promise<void> {
    this.#wanted = wanted;
    this.#last = this.#last.then(() => this.#apply());
    return this.#last;
  }

  async #apply(): Promise<void> {
    const { channels } = this.#deps;
    const wanted = this.#wanted;
    this.#timer?.cancel();
    this.#timer = null;
    if (this.#served !== null && this.#served !== wanted?.bind) {
      const bound = this.#bound;
      this.#bound = null;
      this.#served = null;
      this.#pending.endAll();
      for (const id of this.#received) channels.close(id, "The Direct listener was turned off.");
      this.#received.clear();
      await bound?.listener.close();
    }
    this.#error = null;
    if (wanted !== null && this.#bound === null) await this.#listen(wanted.bind);
    this.#deps.changed();
  }

  async #listen(bind: string): Promise<void> {
    const { links, clock, log } = this.#deps;
    try {
      const listener = await links.listen(
        bindAddress(bind),
        (link) => void this.#welcome(link),
        (error) => this.#lost(error),
      );
      this.#bound = { listener, bind };
      this.#served = bind;
      log.info("direct listening", { bind });
    } catch (error) {
      this.#error = listenProblem(bind, error);
      log.warn("direct listener", { bind, code: codeOf(error) });
      this.#timer = clock.after(RETRY_MS, () => void this.configure(this.#wanted), { background: true });
    }
  }

  #lost(error: Error): void {
    const lost = this.#bound;
    if (lost === null) return;
    this.#bound = null;
    this.#error = listenProblem(lost.bind, error);
    void lost.listener.close();
    this.#timer = this.#deps.clock.after(RETRY_MS, () => void this.configure(this.#wanted), {
      background: true,
    });
    this.#deps.changed();
  }

  async #welcome(incoming: IncomingLink): Promise<void> {
    const { clock, hellos, log } = this.#deps;
    let link: FramedLink | null = null;
    const end = (): void => {
      link?.close();
      incoming.destroy();
    };
    const pending = this.#pending.admit(incoming, end);
    const budget = clock.after(HANDSHAKE_MS, end, { background: true });
    try {
      link = new FramedLink(await incoming.secure(), clock, WAITING_BYTES);
      if (hellos.isKnown(link.peer_key)) this.#pending.recognize(pending, link.peer_key);
      const verdict = await hellos.judge(await link.first(), link.peer_key);
      if (!(await this.#answer(verdict, link, pending))) end();
    } catch (error) {
      log.debug("direct handshake failed", { reason: error instanceof Error ? error.message : "unknown" });
      end();
    } finally {
      budget.cancel();
    }
  }

  /** Sends the decision, which begins a channel or ends in order. False: end it at once. */
  async #answer(verdict: Verdict, link: FramedLink, pending: PendingConnection): Promise<boolean> {
    const { channels, hellos, report, log } = this.#deps;
    if (verdict.answer === null) {
      if (verdict.id !== null) report(verdict.id, verdict.error);
      log.info("direct hello refused", { id: verdict.id });
      return false;
    }
    await link.send(verdict.answer);
    pending.isAnswered = true;
    const { relation } = verdict;
    if (relation === null || relation.remote === null || verdict.answer !== "active") {
      link.close();
      return true;
    }
    const { id, remote } = relation;
    // Turned off in the meantime, or revoked: that change found no channel to end.
    if (!link.isOpen || !hellos.isApproved(id)) return false;
    report(id, null);
    this.#received.add(id);
    const problem = channels.take(id, remote.instance_id, link);
    if (problem !== null) report(id, problem);
    else this.#pending.leave(pending);
    return problem === null;
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "error";
}

function listenProblem(bind: string, error: unknown): string {
  switch (codeOf(error)) {
    case "EADDRINUSE":
      return `Another program uses ${bind}. Free the port or choose another.`;
    case "EADDRNOTAVAIL":
      return `${bind} isn't an address of this machine. Choose one that is.`;
    case "EACCES":
      return `This user may not listen on ${bind}. Choose a port above 1023.`;
    case "EMFILE":
    case "ENFILE":
      return `Too many files are open to listen on ${bind}. ${ERRORS.too_many_open_files.remedy}`;
    default:
      return `Listening on ${bind} failed (${codeOf(error)}). Choose another address or port.`;
  }
}
