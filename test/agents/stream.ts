/** Everything that one SSE stream told. */
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

  close(): void {
    this.#end.abort();
  }
}
