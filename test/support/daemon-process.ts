/**
 * The real daemon as a process of its own in a temporary Home: started, found ready by asking it,
 * killed, started again.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DaemonClient } from "../../client/client.ts";
import { launchToken } from "../../client/identity.ts";
import { ENVIRONMENT } from "../../shared/names.ts";

/** The bundles that ship; another copy of them while somebody else builds. */
export const DIST = process.env["WITHSTAND_DIST"] ?? join(import.meta.dirname, "../../dist");
export const SVC = join(DIST, "svc.cjs");
const READY_MS = 120_000;
const OUTPUT_CHARACTERS = 8192;

export interface DaemonOptions {
  /** An existing Home, else a fresh one that `dispose` removes. */
  home?: string;
  /** What Node runs; the bundle that ships by default. */
  program?: readonly string[];
  /** Goes in front of the command, such as `prlimit`. */
  prefix?: readonly string[];
  environment?: Readonly<Record<string, string>>;
}

export class DaemonProcess {
  readonly home: string;
  readonly #options: DaemonOptions;
  readonly #clients = new Set<DaemonClient>();
  #child: ChildProcess | null = null;
  #output = "";

  constructor(options: DaemonOptions = {}) {
    this.#options = options;
    this.home = options.home ?? mkdtempSync(join(tmpdir(), "svc-withstand-"));
  }

  static async started(options: DaemonOptions = {}): Promise<DaemonProcess> {
    const daemon = new DaemonProcess(options);
    await daemon.start();
    return daemon;
  }

  get pid(): number {
    if (this.#child?.pid === undefined) throw new Error("the daemon wasn't started");
    return this.#child.pid;
  }

  /** The end of what the process wrote, for failures. */
  get output(): string {
    return this.#output;
  }

  get hasEnded(): boolean {
    return this.#child === null || this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Starts the process without waiting for anything. */
  spawn(): void {
    const [command, ...args] = [
      ...(this.#options.prefix ?? []),
      process.execPath,
      ...(this.#options.program ?? [SVC, "daemon", "run"]),
    ];
    this.#output = "";
    const child = spawn(command!, args, {
      env: {
        ...plainEnvironment(),
        [ENVIRONMENT.home]: this.home,
        [ENVIRONMENT.webPort]: "0",
        ...this.#options.environment,
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on("data", (chunk: Buffer) => {
        this.#output = (this.#output + chunk.toString("utf8")).slice(-OUTPUT_CHARACTERS);
      });
    }
    this.#child = child;
  }

  /** Starts it and waits until it answers. */
  async start(): Promise<void> {
    this.spawn();
    await this.ready();
  }

  async ready(): Promise<void> {
    const client = this.client();
    const deadline = performance.now() + READY_MS;
    for (;;) {
      try {
        const status = await client.result("daemon_status", {});
        if (status.pid === this.pid || this.#options.prefix !== undefined) return;
      } catch (error) {
        if (this.hasEnded)
          throw new Error(`the daemon ended while it started:\n${this.#output}`, { cause: error });
        if (performance.now() > deadline)
          throw new Error(`the daemon isn't ready:\n${this.#output}`, { cause: error });
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  /** `kill -9`; resolves when the process is gone. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  /** The polite end; gives the exit code. */
  async stop(): Promise<number | null> {
    return this.#end("SIGTERM");
  }

  /** The socket owner's client, or an Actor's when a token is given. */
  client(token: string | null = null): DaemonClient {
    const client = new DaemonClient(this.home, token);
    this.#clients.add(client);
    return client;
  }

  /** The client of the Actor whose token lies in this file. */
  actorClient(tokenFile: string): DaemonClient {
    return this.client(launchToken({ [ENVIRONMENT.actorFile]: tokenFile }));
  }

  /** Resident memory in bytes (Linux). */
  residentBytes(): number {
    const line = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${this.pid}/status`, "utf8"));
    return Number(line?.[1]) * 1024;
  }

  /** Ends the process and removes the Home, unless it was given. */
  async dispose(): Promise<void> {
    await this.kill();
    if (this.#options.home === undefined) rmSync(this.home, { recursive: true, force: true });
  }

  async #end(signal: NodeJS.Signals): Promise<number | null> {
    for (const client of this.#clients) client.close();
    this.#clients.clear();
    const child = this.#child;
    if (child === null) return null;
    if (!this.hasEnded) {
      const ended = once(child, "exit");
      child.kill(signal);
      await ended;
    }
    return child.exitCode;
  }
}

/** This process's environment without anything that names a Home, an Actor or a listener. */
export function plainEnvironment(): NodeJS.ProcessEnv {
  const named = new Set<string>(Object.values(ENVIRONMENT));
  const others = Object.entries(process.env).filter(
    ([name]) => !named.has(name) && name !== "NODE_EXTRA_CA_CERTS",
  );
  // Whose profile this machine has doesn't matter to a test.
  return { ...Object.fromEntries(others), [ENVIRONMENT.loginShell]: "none" };
}
