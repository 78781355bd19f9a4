/**
 * A Group's runtime activity over server-sent events. At each start the stream replays the current
 * view. Events that the snapshot had are recognized by id, so only new ones are reported as live.
 */
import type { RuntimeActivityEvent } from "../../../shared/activity/event.ts";
import type { ActivityListener } from "../host.ts";

const AGAIN_AFTER_MS = 5000;

export class ActivitySource {
  readonly #url: string;
  readonly #snapshot: () => Promise<readonly RuntimeActivityEvent[]>;
  readonly #listener: ActivityListener;
  #source: EventSource | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;
  /** What came before the snapshot; null once it is there. */
  #early: RuntimeActivityEvent[] | null = null;
  #closed = false;

  constructor(
    url: string,
    snapshot: () => Promise<readonly RuntimeActivityEvent[]>,
    listener: ActivityListener,
  ) {
    this.#url = url;
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
    const source = new EventSource(this.#url);
    this.#source = source;
    this.#early = [];
    source.addEventListener("runtime-activity", ({ data }: MessageEvent<string>) => {
      const event = JSON.parse(data) as RuntimeActivityEvent;
      if (this.#early === null) this.#listener.event(event);
      else this.#early.push(event);
    });
    source.onopen = () => void this.#restore(source);
    // The browser would reconnect by itself, but not after a refusal, and without the snapshot.
    source.onerror = () => this.#again();
  }

  #again(): void {
    this.#end();
    if (!this.#closed) this.#timer = setTimeout(() => this.#open(), AGAIN_AFTER_MS);
  }

  async #restore(source: EventSource): Promise<void> {
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
