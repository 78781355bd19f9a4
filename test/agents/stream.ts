/** Everything that streams told: server-sent events, and the WebSocket that carries them, too. */
import { once } from "node:events";
import { WebSocket } from "ws";
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
  describe(actorId: string): string {
    const events = this.text
      .split("\n")
      .filter((line) => line.startsWith("data: ") && line.endsWith("}"))
      .map((line) => JSON.parse(line.slice("data: ".length)) as RuntimeActivityEvent)
      .filter((event) => event.actor_id === actorId);
    const lines = events
      .slice(-LAST)
      .map(({ ts, kind, status, event_type: eventType, tool_name: toolName, activity_id: activityId }) =>
        [ts.slice(11), kind, status, eventType, toolName, activityId.split(":").at(-1)].join(" "),
      );
    return lines.join("\n");
  }

  close(): void {
    this.#end.abort();
  }
}

/** Every stream there is that may tell of a Group, by its name. */
export class AllStreams {
  readonly activity: FollowedStream;
  readonly #streams: ReadonlyMap<string, FollowedStream>;
  readonly #socket: WebSocket;
  #socketText = "";

  private constructor(streams: ReadonlyMap<string, FollowedStream>, socket: WebSocket) {
    this.#streams = streams;
    this.#socket = socket;
    this.activity = streams.get("activity")!;
    socket.on("error", () => undefined);
    socket.on("message", (data: Buffer) => {
      this.#socketText += `${data.toString()}\n`;
    });
  }

  static async open(origin: string, groupId: string, token: string): Promise<AllStreams> {
    const api = `${origin}/api/v1`;
    const paths = {
      activity: `groups/${groupId}/runtime-activity/stream?replay=true`,
      ledger: `groups/${groupId}/ledger/stream`,
      global: "events/stream",
    };
    const streams = new Map<string, FollowedStream>();
    for (const [name, path] of Object.entries(paths)) {
      streams.set(name, await FollowedStream.open(`${api}/${path}`, token));
    }
    const headers = { authorization: `Bearer ${token}` };
    const socket = new WebSocket(`${api.replace("http", "ws")}/events/ws`, { headers });
    const all = new AllStreams(streams, socket);
    await once(socket, "open");
    for (const channel of ["groups", "ledger"]) {
      const group = channel === "ledger" ? { group_id: groupId } : {};
      socket.send(JSON.stringify({ type: "subscribe", id: channel, channel, ...group }));
    }
    return all;
  }

  /** Lines, by the name of their stream. */
  lines(): [name: string, lines: string[]][] {
    const streams = [...this.#streams].map(([name, { text }]) => [name, text] as const);
    return [...streams, ["socket", this.#socketText] as const].map(([name, text]) => [
      name,
      text.split("\n"),
    ]);
  }

  close(): void {
    for (const stream of this.#streams.values()) stream.close();
    this.#socket.terminate();
  }
}
