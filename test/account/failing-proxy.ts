/**
 * A proxy in front of the account service that fails at the addresses a test names: the service
 * itself can't be made to fail at one of them alone.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { LIMITS } from "../../shared/limits.ts";

/** A request as a daemon or browser sent it. */
interface Passed {
  path: string;
  authorization: string | undefined;
  body: string;
}

export class FailingProxy {
  readonly passed: Passed[] = [];
  /** Paths that are answered with such a status, without having asked the service. */
  readonly failing = new Map<string, number>();
  /** Paths whose requests get no answer until the proxy closes. */
  readonly silent = new Set<string>();
  readonly #held = new Map<string, Promise<void>>();
  /** Where the service is. */
  port = 0;
  readonly #server: Server;

  private constructor() {
    // As long as the service, so that no idle connection ends just when a daemon uses it again.
    const keepAliveTimeout = LIMITS.http.keepAliveSeconds * 1000;
    this.#server = createServer({ keepAliveTimeout }, (asked, answer) => {
      this.#pass(asked, answer).catch(() => answer.destroy());
    });
  }

  static async open(): Promise<FailingProxy> {
    const proxy = new FailingProxy();
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  /** The service's origin, as everybody sees it. */
  get origin(): string {
    return `http://localhost:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Keeps the next request to a path back, until the function that it answers is called. */
  hold(path: string): () => void {
    let release = (): void => {};
    this.#held.set(path, new Promise((resolve) => (release = resolve)));
    return release;
  }

  /** Breaks every connection, so that nobody waits for what was silent. */
  drop(): void {
    this.#server.closeAllConnections();
  }

  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #pass(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    const { method, url: path = "", headers } = asked;
    const body = await buffer(asked);
    this.passed.push({ path, authorization: headers.authorization, body: body.toString() });
    const held = this.#held.get(path);
    this.#held.delete(path);
    await held;
    if (this.silent.has(path)) return;
    const status = this.failing.get(path);
    if (status !== undefined) {
      answer.writeHead(status).end();
      return;
    }
    const sent = request({ host: "127.0.0.1", port: this.port, method, path, headers, agent: false });
    sent.end(body);
    const [got] = (await once(sent, "response")) as [IncomingMessage];
    answer.writeHead(got.statusCode!, got.headers);
    got.pipe(answer);
  }
}
