/** `svc mcp` as an agent's client would start it, with lines written to it as they are. */

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { ENVIRONMENT } from "../../shared/names.ts";
import { plainEnvironment, SVC } from "../support/daemon-process.ts";
import { until } from "../support/until.ts";

export interface RpcMessage {
  id?: unknown;
  result?: Record<string, unknown>;
  error?: { code: number; message: string };
}

export class McpProcess {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #messages: RpcMessage[] = [];
  readonly #ended: Promise<unknown>;
  #rest = "";
  #next = 1;

  constructor(home: string, environment: Record<string, string>) {
    this.#child = spawn(process.execPath, [SVC, "mcp"], {
      env: { ...plainEnvironment(), [ENVIRONMENT.home]: home, ...environment },
    });
    this.#child.stdin.on("error", () => undefined);
    this.#ended = once(this.#child, "exit");
    this.#child.stdout.on("data", (chunk: Buffer) => {
      this.#rest += chunk.toString("utf8");
      const lines = this.#rest.split("\n");
      this.#rest = lines.pop() ?? "";
      for (const line of lines) this.#messages.push(JSON.parse(line) as RpcMessage);
    });
  }

  get messages(): readonly RpcMessage[] {
    return this.#messages;
  }

  get exitCode(): number | null {
    return this.#child.exitCode;
  }

  write(line: string | Buffer): void {
    this.#child.stdin.write(line);
    this.#child.stdin.write("\n");
  }

  /** A request and its answer. */
  async request(method: string, params: unknown): Promise<RpcMessage> {
    const id = `mine-${this.#next++}`;
    this.write(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    return until(`an answer to ${method}`, () => this.#messages.find((message) => message.id === id));
  }

  async initialize(): Promise<void> {
    await this.request("initialize", {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "test", version: "1" },
    });
    this.write('{"jsonrpc":"2.0","method":"notifications/initialized"}');
  }

  /** A tool call's envelope. */
  async tool(
    name: string,
    args: unknown,
  ): Promise<{ ok: boolean; result?: unknown; error?: { code: string } }> {
    const { result } = await this.request("tools/call", { name, arguments: args });
    return result?.["structuredContent"] as { ok: boolean };
  }

  /** Ends its input and waits until it has ended. */
  async end(): Promise<void> {
    this.#child.stdin.end();
    await this.#ended;
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
  }
}
