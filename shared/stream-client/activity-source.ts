/**
 * A Group's runtime activity, whose events come as text. At each start the stream replays the
 * current view. Events that the snapshot had are recognized by id, so only new ones are reported as
 * live.
 */
import type { RuntimeActivityEvent } from "../activity/event.ts";
import type { OpenStream, OpensStream } from "./connect.ts";
import type { ActivityListener } from "./listeners.ts";

const AGAIN_AFTER_MS = 5000;

export class ActivitySource {
  readonly #opens: OpensStream;
  readonly #snapshot: () => Promise<readonly RuntimeActivityEvent[]>;
  readonly #listener: ActivityListener;
  #source: OpenStream | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;
  /** What came before the snapshot; null once it is there. */
  #early: RuntimeActivityEvent[] | null = null;
  #closed = false;

  constructor(
    opens: OpensStream,
    snapshot: () => Promise<readonly RuntimeActivityEvent[]>,
    listener: ActivityListener,
  ) {
    this.#opens = opens;
    this.#snapshot = snapshot;
    this.#listener = listener;
    this.#open();
  }

  close(): void {
    this.#closed = true;
    this.#end();
  }

  #end(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#source?.close();
    this.#source = null;
  }

  #open(): void {
    this.#end();
    const source = this.#opens({
      opened: () => void this.#restore(source),
      received: (data) => {
        if (this.#source !== source) return;
        const event = JSON.parse(String(data)) as RuntimeActivityEvent;
        if (this.#early === null) this.#listener.event(event);
        else this.#early.push(event);
      },
      closed: () => {
        if (this.#source === source) this.#again();
      },
    });
    this.#source = source;
    this.#early = [];
  }

  #again(): void {
    this.#end();
    if (!this.#closed) this.#timer = setTimeout(() => this.#open(), AGAIN_AFTER_MS);
  }

  async #restore(source: OpenStream): Promise<void> {
    let events: readonly RuntimeActivityEvent[];
    try {
      events = await this.#snapshot();
    } catch {
      // A damaged store, or a connection that broke again: what is shown stays until a view can be
      // read.
      if (this.#source === source) this.#again();
      return;
    }
    if (this.#source !== source) return;
    this.#listener.restored(events);
    const early = this.#early ?? [];
    this.#early = null;
    for (const event of early) this.#listener.event(event);
  }
}
