/** Links over the network: TCP and the TLS of `tls/`, with the instance's own key. */
import { createServer, type Socket } from "node:net";
import type { Clock } from "../../../platform/clock.ts";
import { errorCode } from "../../../platform/durable.ts";
import type { Network } from "../../../platform/network.ts";
import type { Random } from "../../../platform/random.ts";
import { LIMITS } from "../../../shared/limits.ts";
import type { BindAddress, BoundListener, IncomingLink, Link, LinkHandler, Links } from "./link.ts";
import { type SecureSocket, secureConnect, type TlsIdentity, WriteBudgetError } from "./secure-socket.ts";
import { TlsError } from "./tls/alert.ts";

/** How long the other end has to answer our close. */
const CLOSE_MS = 2000;
const ADDRESS_IN_V6 = /^::ffff:/iu;

interface Dependencies {
  network: Network;
  clock: Clock;
  random: Random;
  identity: { public_key: string; sign(bytes: Uint8Array): Uint8Array };
}

export class TlsLinks implements Links {
  readonly #deps: Dependencies;
  readonly #identity: TlsIdentity;

  constructor(deps: Dependencies) {
    this.#deps = deps;
    const { identity } = deps;
    this.#identity = {
      publicKey: Buffer.from(identity.public_key, "base64"),
      sign: (bytes) => identity.sign(bytes),
    };
  }

  async listen(
    at: BindAddress,
    accept: (link: IncomingLink) => void,
    failed: (error: Error) => void,
  ): Promise<BoundListener> {
    const { network } = this.#deps;
    const server = createServer({ noDelay: true }, (socket) => accept(this.#incoming(socket)));
    await network.listen(server, at);
    server.on("error", failed);
    return {
      async close() {
        // Connections end by themselves. Waiting for them would mean waiting for peers.
        void network.close(server);
      },
    };
  }

  async connect(at: BindAddress, peerKey: string, signal: AbortSignal): Promise<Link> {
    let socket: Socket;
    try {
      socket = await this.#deps.network.connect(at, signal);
    } catch (error) {
      throw new Error(connectProblem(at, error), { cause: error });
    }
    return this.#secure(socket, "client", Buffer.from(peerKey, "base64"), signal);
  }

  #incoming(socket: Socket): IncomingLink {
    // Until the handshake takes it over.
    const ignore = (): void => {};
    socket.on("error", ignore);
    return {
      address: (socket.remoteAddress ?? "").replace(ADDRESS_IN_V6, ""),
      secure: () => this.#secure(socket, "server", () => true),
      destroy: () => void socket.destroy(),
      whenClosed: (told) => void socket.once("close", told),
    };
  }

  async #secure(
    socket: Socket,
    role: "client" | "server",
    pin: Uint8Array | (() => boolean),
    signal?: AbortSignal,
  ): Promise<Link> {
    const { clock, random } = this.#deps;
    const { handshakeSeconds, writeSeconds } = LIMITS.direct;
    const secure = await secureConnect({
      socket,
      role,
      identity: this.#identity,
      pin,
      clock,
      random,
      handshakeSeconds,
      writeSeconds,
      ...(signal === undefined ? {} : { signal }),
    });
    return new TlsLink(secure, clock);
  }
}

class TlsLink implements Link {
  readonly peer_key: string;
  readonly #socket: SecureSocket;
  readonly #clock: Clock;
  #handler: LinkHandler | null = null;
  #over = false;

  constructor(socket: SecureSocket, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
    this.peer_key = Buffer.from(socket.peerPublicKey).toString("base64");
  }

  receive(handler: LinkHandler): void {
    this.#handler = handler;
    this.#socket.receive({
      data: (bytes) => this.#handler?.data(bytes),
      ended: (error) => {
        const told = this.#handler;
        this.#handler = null;
        this.#over = true;
        this.#socket.destroy();
        const here =
          error instanceof WriteBudgetError || (error instanceof TlsError && error.origin === "us");
        told?.ended(error === null ? null : error.message, here);
      },
    });
  }

  send(bytes: Uint8Array, sent: () => void): void {
    if (!this.#over) this.#socket.send(bytes, sent);
  }

  close(): void {
    this.#handler = null;
    if (this.#over) return;
    this.#over = true;
    this.#socket.close();
    this.#clock.after(CLOSE_MS, () => this.#socket.destroy(), { background: true });
  }
}

function connectProblem({ host, port }: BindAddress, error: unknown): string {
  const at = `${host}:${port}`;
  switch (errorCode(error)) {
    case "ECONNREFUSED":
      return `Nothing is listening on ${at}.`;
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `The name ${host} can't be resolved.`;
    case "EHOSTUNREACH":
    case "ENETUNREACH":
      return `There is no route to ${at}.`;
    case "ETIMEDOUT":
      return `${at} doesn't answer.`;
    case "EMFILE":
    case "ENFILE":
      return `Too many files are open here to connect to ${at}.`;
    case undefined:
    default:
      return `Connecting to ${at} failed (${errorCode(error) ?? "given up"}).`;
  }
}
