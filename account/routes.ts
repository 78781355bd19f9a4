/** Exact paths of node:http, each with what serves its methods. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { Refusal } from "../shared/errors.ts";

/** Answers a request, or throws what refuses it. */
export type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

export class Routes {
  readonly #paths = new Map<string, Map<string, Handler>>();

  /** What serves GET serves HEAD too. */
  add(method: "GET" | "POST", path: string, handler: Handler): void {
    const methods = this.#paths.get(path) ?? new Map<string, Handler>();
    methods.set(method, handler);
    if (method === "GET") methods.set("HEAD", handler);
    this.#paths.set(path, methods);
  }

  has(path: string): boolean {
    return this.#paths.has(path);
  }

  /** Serves a request for `path`, which is one of these. Throws `method_not_allowed`. */
  async serve(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const methods = this.#paths.get(path)!;
    const handler = methods.get(request.method ?? "");
    if (handler === undefined) {
      response.setHeader("Allow", [...methods.keys()].join(", "));
      throw new Refusal("method_not_allowed");
    }
    await handler(request, response);
  }
}
