/**
 * How long a call waits for a daemon that is there. Distinguishes a frozen daemon from one that is
 * busy with a long operation.
 */
import { request } from "node:http";
import type { Socket } from "node:net";
import { LIMITS } from "../shared/limits.ts";
import { SOCKET_OPERATION_PREFIX } from "../shared/names.ts";
import { daemonProcess, type Endpoint } from "./connection.ts";
import { DaemonSilent } from "./failures.ts";

const { quietSeconds, aliveSeconds, retryMillisecondsMax } = LIMITS.client;

/**
 * `signal` aborts with DaemonSilent after `answerSeconds`. Without them, the client asks after
 * every `quietSeconds` whether the daemon is alive, and aborts only if it says nothing for
 * `aliveSeconds`, because an export or import may take minutes.
 */
export class Patience {
  readonly #home: string;
  readonly #endpoint: () => Endpoint;
  readonly #controller = new AbortController();
  #timer: NodeJS.Timeout;
  #ended = false;

  constructor(home: string, endpoint: () => Endpoint, answerSeconds: number | undefined) {
    this.#home = home;
    this.#endpoint = endpoint;
    this.#timer =
      answerSeconds === undefined
        ? setTimeout(() => void this.#look(), quietSeconds * 1000)
        : setTimeout(() => this.#giveUp(), answerSeconds * 1000);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  end(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
  }

  async #look(): Promise<void> {
    const alive = await isAlive(this.#endpoint);
    if (this.#ended) return;
    if (alive) this.#timer = setTimeout(() => void this.#look(), quietSeconds * 1000);
    else this.#giveUp();
  }

  #giveUp(): void {
    this.#controller.abort(silent(this.#home));
  }
}

/**
 * Watches a connection to the daemon that stays open, until it closes. After `quietSeconds` without
 * a byte it asks whether the daemon is alive. `told` hears that it isn't, and null when it is
 * again.
 */
export function watch(
  home: string,
  endpoint: () => Endpoint,
  socket: Socket,
  told: (silence: DaemonSilent | null) => void,
): void {
  let heard = socket.bytesRead;
  let isSilent = false;
  const look = async (): Promise<void> => {
    const isAnswering = socket.bytesRead !== heard || (await isAlive(endpoint)) || socket.bytesRead !== heard;
    if (socket.destroyed) return;
    heard = socket.bytesRead;
    if (isAnswering === isSilent) {
      isSilent = !isAnswering;
      told(isSilent ? silent(home) : null);
    }
    if (!socket.destroyed) wait();
  };
  let timer: NodeJS.Timeout;
  const wait = (): void => {
    timer = setTimeout(() => void look(), isSilent ? retryMillisecondsMax : quietSeconds * 1000);
  };
  socket.once("close", () => clearTimeout(timer));
  wait();
}

function silent(home: string): DaemonSilent {
  return new DaemonSilent(home, daemonProcess(home));
}

/** Whether anything answers at the socket, over a separate connection. */
function isAlive(endpoint: () => Endpoint): Promise<boolean> {
  return new Promise((resolve) => {
    try {
      const { socketPath, credential } = endpoint();
      const asked = request({
        socketPath,
        method: "POST",
        path: `${SOCKET_OPERATION_PREFIX}daemon_status`,
        headers: { host: "localhost", ...credential, "content-type": "application/json" },
        agent: false,
      });
      const timer = setTimeout(() => asked.destroy(new Error("no sign of life")), aliveSeconds * 1000);
      asked.on("error", () => resolve(false));
      asked.on("close", () => clearTimeout(timer));
      asked.on("response", (response) => {
        response.resume();
        resolve(true);
      });
      asked.end("{}");
    } catch {
      resolve(false);
    }
  });
}
