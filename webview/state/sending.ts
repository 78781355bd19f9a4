/**
 * What the person has sent but the daemon hasn't taken yet. Sending may be asked for at once: it
 * waits for what the message needs. If no answer comes, the draft waits and
 * is sent again automatically as soon as the daemon answers, even after a reload, with the key that
 * prevents a second message. A change of the draft ends the waiting.
 */
import type { MessageEvent } from "../../shared/events.ts";
import type { ActorWithPresence } from "../../shared/operations/actors.ts";
import type { Release } from "../../shared/stream-client/listeners.ts";
import { Store } from "../controls/store.ts";
import { type Host, HostError } from "../hosts/host.ts";
import type { Draft, DraftKeeper } from "./draft.ts";
import { addressedBy } from "./mention.ts";
import type { Outgoing } from "./outgoing.ts";

/** For when the stream doesn't say that the daemon is back. */
const AGAIN_AFTER_MS = 5000;

interface Steps {
  /**
   * Resolves with the Group's Actors once the draft has its files. Throws when it can't be sent.
   */
  complete: () => Promise<readonly ActorWithPresence[]>;
  /** Gets each message's event in this Group. */
  taken: (event: MessageEvent) => void;
}

export class Sending extends Store {
  readonly #host: Pick<Host, "watchConnection">;
  readonly #keeper: DraftKeeper;
  readonly #outgoing: Pick<Outgoing, "send">;
  readonly #steps: Steps;
  #release: Release | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #closed = false;
  /** A message is being prepared or sent. */
  busy = false;
  /** Why the daemon refused it; null while it hasn't. */
  problem: string | null = null;

  constructor(
    host: Pick<Host, "watchConnection">,
    keeper: DraftKeeper,
    outgoing: Pick<Outgoing, "send">,
    steps: Steps,
  ) {
    super();
    this.#host = host;
    this.#keeper = keeper;
    this.#outgoing = outgoing;
    this.#steps = steps;
  }

  /** The draft was sent, got no answer, and is sent again automatically. */
  get waiting(): boolean {
    return this.#keeper.waiting;
  }

  /** Follows the connection from now on; the draft has been read. */
  open(): void {
    if (this.#closed) return;
    this.#release ??= this.#host.watchConnection(({ state }) => {
      if (state === "online") void this.#again();
    });
  }

  /** It is no longer shown. A waiting message is still sent. */
  close(): void {
    this.#closed = true;
    this.#settle();
  }

  /** Sends the draft as it is. True when it was accepted. */
  async send(): Promise<boolean> {
    if (this.busy) return false;
    this.#clearTimer();
    this.busy = true;
    this.problem = null;
    this.changed();
    let sent = this.#keeper.draft;
    try {
      sent = await this.#addressed();
      const event = await this.#outgoing.send(sent);
      this.#steps.taken(event);
      if (this.#keeper.draft === sent) this.#keeper.clear(event);
      return true;
    } catch (error) {
      this.#failed(error, sent === this.#keeper.draft);
      return false;
    } finally {
      this.busy = false;
      this.#settle();
      this.changed();
    }
  }

  /** The draft with those whom its text names. */
  async #addressed(): Promise<Readonly<Draft>> {
    const actors = await this.#steps.complete();
    const { draft } = this.#keeper;
    const destination = addressedBy(draft, actors);
    if (destination.to !== draft.to) this.#keeper.update(destination);
    return this.#keeper.draft;
  }

  /** The person no longer wants it sent. The draft stays. */
  stop(): void {
    this.#clearTimer();
    this.#keeper.wait(false);
    this.changed();
  }

  /**
   * A draft that has changed since is sent only when the person says so. An empty draft was
   * accepted after all, as the feed showed.
   */
  #failed(error: unknown, isSame: boolean): void {
    const offline = error instanceof HostError && error.offline;
    if (isSame) {
      this.#keeper.keyOf(this.#keeper.draft);
      this.#keeper.wait(offline);
    } else if (this.#keeper.draft.text === "") return;
    if (offline && isSame) this.#timer = setTimeout(() => void this.#again(), AGAIN_AFTER_MS);
    else this.problem = error instanceof Error ? error.message : String(error);
  }

  async #again(): Promise<void> {
    if (!this.busy && this.waiting) await this.send();
  }

  #settle(): void {
    if (!this.#closed || this.waiting) return;
    this.#clearTimer();
    this.#release?.();
    this.#release = null;
  }

  #clearTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
