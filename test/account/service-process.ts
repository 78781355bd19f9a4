/** `svc account-service` as a process of its own, which can be killed and started again. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { plainEnvironment, SVC } from "../support/daemon-process.ts";
import { until } from "../support/until.ts";

export interface ServiceProcessOptions {
  port: number;
  /** PostgreSQL; null for the embedded database. */
  database: string | null;
  /** A folder that exists; a fresh one, which goes with the process, by default. */
  folder?: string;
  /** The service whose name and key it shares, on the same PostgreSQL. */
  beside?: ServiceProcess;
  /** How members name it; `http://localhost` by default. */
  origin?: string;
  proxies?: number;
}

/** A service that can be killed and started again on the same store. */
export class ServiceProcess {
  readonly folder: string;
  readonly origin: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly port: number;
  readonly clock = { now: () => Date.now() };
  readonly #proxies: number;
  #child: ChildProcess | null = null;
  #said = "";

  constructor({ port, database, folder, beside, origin, proxies = 1 }: ServiceProcessOptions) {
    this.port = port;
    this.#proxies = proxies;
    this.folder = folder ?? mkdtempSync(join(tmpdir(), "svc-account-"));
    this.origin = origin ?? beside?.origin ?? `http://localhost:${port}`;
    if (beside !== undefined) cpSync(join(beside.folder, "account.key"), join(this.folder, "account.key"));
    this.environment = {
      ...plainEnvironment(),
      ALLOW_DEV_LOGIN: "1",
      SVC_ACCOUNT_FOLDER: this.folder,
      ...(database !== null && { SVC_ACCOUNT_DATABASE: database }),
    };
  }

  get said(): string {
    return this.#said;
  }

  /** Whether it was started and hasn't ended. */
  get isRunning(): boolean {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async start(): Promise<void> {
    const args = [SVC, "account-service", "--port", String(this.port)];
    args.push("--proxies", String(this.#proxies), "--origin", this.origin);
    this.#said = "";
    const child = spawn(process.execPath, args, { env: this.environment, stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => {
        this.#said += chunk.toString("utf8");
      });
    this.#child = child;
    await until("the service listens", () => {
      if (child.exitCode !== null) throw new Error(this.#said);
      return this.#said.includes("is at http");
    });
  }

  async end(signal: NodeJS.Signals): Promise<number | null> {
    const child = this.#child;
    if (child === null) return null;
    if (this.isRunning) {
      const ended = once(child, "exit");
      child.kill(signal);
      await ended;
    }
    return child.exitCode;
  }

  command(...words: string[]): { status: number | null; stdout: string; stderr: string } {
    const args = [SVC, "account-service", ...words];
    return spawnSync(process.execPath, args, { env: this.environment, encoding: "utf8", timeout: 60_000 });
  }

  async dispose(): Promise<void> {
    await this.end("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true });
  }
}
