/**
 * GnuTLS on the other side of our TLS: its own programs, and one of ours over its library for what
 * those can't be told.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { createPrivateKey, createPublicKey, sign } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type SecureSocket,
  type SecureSocketOptions,
  secureConnect,
  type TlsIdentity,
} from "../../daemon/peers/direct/secure-socket.ts";
import { RealClock } from "../../platform/real-clock.ts";
import { RealRandom } from "../../platform/real-random.ts";

export const PRIORITY = "NORMAL:-VERS-ALL:+VERS-TLS1.3:-CTYPE-ALL:+CTYPE-SRV-RAWPK:+CTYPE-CLI-RAWPK";

/** GnuTLS's names of the suites, as priorities and as its programs print them. */
export const GNUTLS_CIPHERS = {
  TLS_AES_128_GCM_SHA256: "AES-128-GCM",
  TLS_AES_256_GCM_SHA384: "AES-256-GCM",
  TLS_CHACHA20_POLY1305_SHA256: "CHACHA20-POLY1305",
} as const;

export function onlyCipher(name: string): string {
  return `${PRIORITY}:-CIPHER-ALL:+${name}`;
}

interface KeyFiles {
  identity: TlsIdentity;
  /** Paths of PEM files. */
  privateKey: string;
  publicKey: string;
  /** Of SubjectPublicKeyInfo. */
  hex: string;
}

type Overrides = Partial<SecureSocketOptions>;

/** What a program printed, both streams, and how it ended. */
interface Run {
  child: ChildProcess;
  text(): string;
  /** Resolves when the output matches; rejects when the program ends without. */
  prints(pattern: RegExp): Promise<RegExpExecArray>;
  /** Resolves with its exit code when it has ended and all output is read. */
  ended(): Promise<number | null>;
}

/** A folder with keys and the compiled peer; everything that it started ends with it. */
export class GnuTls {
  readonly #folder = mkdtempSync(join(tmpdir(), "svc-gnutls-"));
  readonly #children = new Set<ChildProcess>();
  readonly #sockets = new Set<Socket>();
  readonly ours: KeyFiles;
  readonly theirs: KeyFiles;
  readonly #peer: string;

  constructor() {
    this.ours = this.#key("ours", 1);
    this.theirs = this.#key("theirs", 2);
    this.#peer = join(this.#folder, "gnutls-peer");
    const source = join(import.meta.dirname, "gnutls-peer.c");
    execFileSync("cc", ["-O1", "-o", this.#peer, source, "-lgnutls"]);
  }

  dispose(): void {
    for (const child of this.#children) child.kill("SIGKILL");
    for (const socket of this.#sockets) socket.destroy();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #key(name: string, fill: number): KeyFiles {
    const der = Buffer.concat([
      Buffer.from("302e020100300506032b657004220420", "hex"),
      Buffer.alloc(32, fill),
    ]);
    const key = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
    const privateKey = join(this.#folder, `${name}.key.pem`);
    const publicKey = join(this.#folder, `${name}.pub.pem`);
    writeFileSync(privateKey, key.export({ format: "pem", type: "pkcs8" }));
    const pub = createPublicKey(key);
    writeFileSync(publicKey, pub.export({ format: "pem", type: "spki" }));
    const info = pub.export({ format: "der", type: "spki" });
    return {
      identity: { publicKey: info.subarray(12), sign: (bytes) => sign(null, bytes, key) },
      privateKey,
      publicKey,
      hex: info.toString("hex"),
    };
  }

  #run(command: string, args: string[]): Run {
    const child = spawn(command, args, { stdio: ["pipe", "pipe", "pipe"] });
    this.#children.add(child);
    let text = "";
    const watchers = new Set<() => void>();
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
        for (const watcher of watchers) watcher();
      });
    // A program that ends early closes its input; what it printed tells why.
    child.stdin.on("error", () => {});
    const closed = once(child, "close");
    return {
      child,
      text: () => text,
      prints: (pattern) =>
        new Promise((resolve, reject) => {
          const look = (): void => {
            const match = pattern.exec(text);
            if (match === null) return;
            watchers.delete(look);
            resolve(match);
          };
          watchers.add(look);
          look();
          void closed.then(() => reject(new Error(`${command} ended without ${String(pattern)}:\n${text}`)));
        }),
      ended: async () => {
        await closed;
        return child.exitCode;
      },
    };
  }

  #options(role: "client" | "server", socket: Socket, overrides: Overrides): SecureSocketOptions {
    return {
      socket,
      role,
      identity: this.ours.identity,
      pin: this.theirs.identity.publicKey,
      clock: new RealClock(),
      random: new RealRandom(),
      handshakeSeconds: 20,
      writeSeconds: 20,
      ...overrides,
    };
  }

  /**
   * Our server on a free port, for one connection: `secured` settles with its handshake, `sent`
   * grows by what we sent.
   */
  async serve(
    overrides: Overrides = {},
  ): Promise<{ port: number; secured: Promise<SecureSocket>; sent: Buffer[] }> {
    const server = createServer({ noDelay: true });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const sent: Buffer[] = [];
    const secured = once(server, "connection").then(([socket]: Socket[]) => {
      this.#sockets.add(socket!);
      server.close();
      const write = socket!._write.bind(socket);
      socket!._write = (chunk: Buffer, encoding, callback) => {
        sent.push(Buffer.from(chunk));
        write(chunk, encoding, callback);
      };
      const writeAll = socket!._writev!.bind(socket);
      socket!._writev = (chunks: { chunk: Buffer; encoding: BufferEncoding }[], callback) => {
        sent.push(...chunks.map(({ chunk }) => Buffer.from(chunk)));
        writeAll(chunks, callback);
      };
      return secureConnect(this.#options("server", socket!, overrides));
    });
    // Whoever waits for it sees the failure; nobody else is to.
    secured.catch(() => {});
    const { port } = server.address() as { port: number };
    return { port, secured, sent };
  }

  async dial(port: number, overrides: Overrides = {}): Promise<SecureSocket> {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    this.#sockets.add(socket);
    await once(socket, "connect");
    return secureConnect(this.#options("client", socket, overrides));
  }

  /** `gnutls-cli` towards our server. */
  client(
    port: number,
    options: { priority?: string; key?: boolean; alpn?: string; more?: string[] } = {},
  ): Run {
    const { privateKey, publicKey } = this.theirs;
    return this.#run("gnutls-cli", [
      "127.0.0.1",
      "-p",
      `${port}`,
      "--insecure",
      "--disable-sni",
      "--priority",
      options.priority ?? PRIORITY,
      "--alpn",
      options.alpn ?? "svc-direct/1",
      ...(options.key === false ? [] : ["--rawpkkeyfile", privateKey, "--rawpkfile", publicKey]),
      ...(options.more ?? []),
    ]);
  }

  /**
   * `gnutls-serv` as an echo server, on a port that was free a moment ago; another when somebody
   * took it.
   */
  async server(
    options: { priority?: string; alpn?: string; more?: string[] } = {},
  ): Promise<{ port: number; run: Run }> {
    for (let attempt = 0; ; attempt += 1) {
      const probe = createServer().listen(0, "127.0.0.1");
      await once(probe, "listening");
      const { port } = probe.address() as { port: number };
      probe.close();
      await once(probe, "close");
      const { privateKey, publicKey } = this.theirs;
      const run = this.#run("gnutls-serv", [
        "-p",
        `${port}`,
        "--echo",
        "--priority",
        options.priority ?? PRIORITY,
        "--alpn",
        options.alpn ?? "svc-direct/1",
        "--alpn-fatal",
        "--rawpkkeyfile",
        privateKey,
        "--rawpkfile",
        publicKey,
        ...(options.more ?? ["-r"]),
      ]);
      try {
        await accepting(run.child, port);
        return { port, run };
      } catch (error) {
        if (attempt === 5) throw new Error(run.text(), { cause: error });
      }
    }
  }

  /** Our program over the library: see gnutls-peer.c. */
  peer(
    role: "client" | "server",
    port: number,
    commands: string[],
    options: { priority?: string; recordSize?: number } = {},
  ): Run {
    const { privateKey, publicKey } = this.theirs;
    const { priority = PRIORITY, recordSize = 0 } = options;
    return this.#run(this.#peer, [
      role,
      `${port}`,
      priority,
      privateKey,
      publicKey,
      `${recordSize}`,
      ...commands,
    ]);
  }
}

/** Resolves when something accepts at `port`; rejects when the program ends before. */
async function accepting(child: ChildProcess, port: number): Promise<void> {
  while (child.exitCode === null) {
    const socket = connect({ port, host: "127.0.0.1" });
    const open = await new Promise<boolean>((resolve) => {
      socket.once("connect", () => resolve(true));
      socket.once("error", () => resolve(false));
    });
    socket.destroy();
    if (open) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error("gnutls-serv ended");
}

/** Byte n is n modulo 251, as gnutls-peer.c has it. */
export function pattern(length: number, from = 0): Buffer {
  return Buffer.from(Array.from({ length }, (_, index) => (from + index) % 251));
}

/**
 * Collects what arrives: `until` resolves when so many bytes are there, `end` with the reason at
 * the end.
 */
export class Inbox {
  bytes: Buffer = Buffer.alloc(0);
  readonly end: Promise<Error | null>;
  readonly #watchers = new Set<() => void>();

  constructor(socket: SecureSocket) {
    this.end = new Promise((resolve) => {
      socket.receive({
        data: (bytes) => {
          this.bytes = Buffer.concat([this.bytes, bytes]);
          for (const watcher of this.#watchers) watcher();
        },
        ended: resolve,
      });
    });
  }

  until(length: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        if (this.bytes.length < length) return;
        this.#watchers.delete(look);
        resolve();
      };
      this.#watchers.add(look);
      look();
      void this.end.then((error) => reject(error ?? new Error(`ended after ${this.bytes.length} bytes`)));
    });
  }
}
