/**
 * The requests of the open Group that wait for the person's reply, read again when that may change.
 */
import type { LedgerEvent, MessageEvent as Message } from "../../shared/events.ts";
import { openRequests } from "../../shared/open-requests.ts";
import { Store } from "../controls/store.ts";
import type { Host } from "../hosts/host.ts";

export class OpenRequests extends Store {
  readonly #host: Pick<Host, "call">;
  readonly #groupId: string;
  #reading = 0;
  /** Newest first. */
  list: readonly Message[] = [];
  loaded = false;

  constructor(host: Pick<Host, "call">, groupId: string) {
    super();
    this.#host = host;
    this.#groupId = groupId;
  }

  has(eventId: string | null): boolean {
    return this.list.some(({ id }) => id === eventId);
  }

  /** Takes a new event of the Group. */
  take(event: LedgerEvent): void {
    const isAbout =
      event.kind === "chat.message"
        ? event.data.message_mode === "request_reply" || event.data.reply_to !== undefined
        : event.kind === "chat.reply_request.cancelled" || event.kind === "group.reset";
    if (isAbout) void this.read();
  }

  async read(): Promise<void> {
    const reading = ++this.#reading;
    try {
      const list = await openRequests((name, input) => this.#host.call(name, input), this.#groupId);
      if (reading !== this.#reading) return;
      this.list = list;
      this.loaded = true;
      this.changed();
    } catch {
      // The connection shows that. Its return opens the feed again.
    }
  }
}
