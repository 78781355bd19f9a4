/** Everything that one SSE stream of runtime activity told. */
import type { RuntimeActivityEvent } from "../../shared/activity/event.ts";

const LAST = 30;

export class FollowedStream {
  text = "";
  readonly #end = new AbortController();

  static async open(url: string, token: string): Promise<FollowedStream> {
    const followed = new FollowedStream();
    const response = await fetch(url, {
      headers: { authorization: `Bearer ${token}` },
      signal: followed.#end.signal,
    });
    if (!response.ok || response.body === null) throw new Error(`the stream answers ${response.status}`);
    void followed.#read(response.body);
    return followed;
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    try {
      for await (const chunk of body) this.text += decoder.decode(chunk, { stream: true });
    } catch {
      // Closed by us, or the daemon is gone.
    }
  }

  /** For failures: the last events of an Actor, a line each. */
  describe(actor_id: string): string {
    const events = this.text
      .split("\n")
      .filter((line) => line.startsWith("data: ") && line.endsWith("}"))
      .map((line) => JSON.parse(line.slice("data: ".length)) as RuntimeActivityEvent)
      .filter((event) => event.actor_id === actor_id);
    const lines = events
      .slice(-LAST)
      .map(({ ts, kind, status, event_type, tool_name, activity_id }) =>
        [ts.slice(11), kind, status, event_type, tool_name, activity_id.split(":").at(-1)].join(" "),
      );
    return lines.join("\n");
  }

  close(): void {
    this.#end.abort();
  }
}
