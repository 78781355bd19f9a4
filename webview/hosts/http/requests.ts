/**
 * Requests to the daemon's Web API in a cookie session: envelope, CSRF token, and what failures
 * mean.
 */
import type { ErrorBody } from "../../../shared/errors.ts";
import { FRAME_FIELD, HEADERS } from "../../../shared/names.ts";
import { HostError } from "../host.ts";

type Envelope = { ok: true; result: unknown } | { ok: false; error: ErrorBody };

export class Requests {
  csrf: string | null = null;
  /** The frame that the page is in; null where it is in none. */
  frameId: string | null = null;
  /** Called when an answer came, and when none did. */
  heard: () => void = () => {};
  silent: () => void = () => {};
  /** Called when the session is no longer known. */
  ended: () => void = () => {};
  /** Called when the page's frame has ended. */
  expired: () => void = () => {};

  /** The address for a page in a frame, which says so wherever it uses its session. */
  framed(url: string): string {
    if (this.frameId === null) return url;
    return `${url}${url.includes("?") ? "&" : "?"}${FRAME_FIELD}=${this.frameId}`;
  }

  headers(method: string): Record<string, string> {
    return this.csrf === null || method === "GET" ? {} : { [HEADERS.csrf]: this.csrf };
  }

  /** Sends JSON and returns the envelope's result; throws `HostError`. */
  async json(method: string, url: string, body?: string, signal?: AbortSignal): Promise<unknown> {
    const response = await this.#fetch(url, {
      method,
      headers: {
        ...this.headers(method),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
    });
    return this.unwrap(response.status, await response.text());
  }

  /** A file's bytes. */
  async blob(url: string): Promise<Blob> {
    const response = await this.#fetch(url, { method: "GET" });
    if (!response.ok) this.unwrap(response.status, await response.text());
    try {
      return await response.blob();
    } catch {
      await this.checkFile(url);
      throw new HostError("offline", "The file didn’t arrive whole. Try again.");
    }
  }

  /** Throws why the daemon wouldn't serve a file whole, such as that it is damaged. */
  async checkFile(url: string): Promise<void> {
    if ((await this.#fetch(url, { method: "HEAD" })).ok) return;
    // The answer to that has no text.
    const refused = await this.#fetch(url, { method: "GET" });
    if (!refused.ok) this.unwrap(refused.status, await refused.text());
    await refused.body?.cancel();
  }

  /** The result in an answer's text, or the refusal it carries. */
  unwrap(status: number, text: string): unknown {
    let envelope: Envelope;
    try {
      envelope = JSON.parse(text) as Envelope;
    } catch {
      throw new HostError("internal_error", `The daemon answered ${status} without a message.`);
    }
    if (envelope.ok) return envelope.result;
    if (status === 401 && this.csrf !== null) this.ended();
    if (envelope.error.code === "connect_frame_expired") this.expired();
    throw new HostError(envelope.error.code, envelope.error.message, envelope.error.details);
  }

  async #fetch(url: string, init: RequestInit): Promise<Response> {
    try {
      const response = await fetch(url, {
        ...init,
        credentials: "same-origin",
        cache: "no-store",
        redirect: "error",
      });
      this.heard();
      return response;
    } catch (error) {
      if (init.signal?.aborted) throw error;
      this.silent();
      throw new HostError("offline", "The daemon didn’t answer.");
    }
  }
}
