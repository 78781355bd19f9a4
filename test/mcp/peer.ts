/** An MCP client nobody here wrote: the SDK's own, over stdio to the server that ships. */
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ENVIRONMENT } from "../../shared/names.ts";
import type { DaemonProcess } from "../support/daemon-process.ts";
import { SVC } from "../support/daemon-process.ts";

export interface ToolAnswer {
  ok: boolean;
  result: Record<string, unknown>;
  error: { code: string; message: string; details: { field?: string } };
  isError: boolean;
  text: string;
}

export class Peer {
  readonly client = new Client({ name: "peer", version: "1" });
  readonly #transport: StdioClientTransport;

  constructor(environment: Record<string, string>, args: readonly string[] = [], cwd?: string) {
    this.#transport = new StdioClientTransport({
      command: process.execPath,
      args: [SVC, "mcp", ...args],
      ...(cwd === undefined ? {} : { cwd }),
      env: { PATH: process.env["PATH"] ?? "", ...environment },
    });
  }

  /** Connects as the Actor whose token file this is. */
  static async connected(daemon: DaemonProcess, tokenFile: string): Promise<Peer> {
    const peer = new Peer({ [ENVIRONMENT.home]: daemon.home, [ENVIRONMENT.actorFile]: tokenFile });
    await peer.connect();
    return peer;
  }

  async connect(): Promise<void> {
    await this.client.connect(this.#transport);
    // The client checks structured content against output schemas once it has listed them.
    await this.client.listTools();
  }

  get pid(): number {
    return this.#transport.pid ?? 0;
  }

  async tool(name: string, input: Record<string, unknown> = {}, signal?: AbortSignal): Promise<ToolAnswer> {
    const answer = await this.client.callTool(
      { name, arguments: input },
      undefined,
      signal ? { signal } : undefined,
    );
    const content = answer.content as { type: string; text: string }[];
    return {
      ...(answer.structuredContent as Pick<ToolAnswer, "ok" | "result" | "error">),
      isError: answer.isError === true,
      text: content[0]?.text ?? "",
    };
  }

  /** The result of a tool that must succeed. */
  async result(name: string, input: Record<string, unknown> = {}): Promise<Record<string, unknown>> {
    const answer = await this.tool(name, input);
    if (!answer.ok) throw new Error(`${name}: ${answer.text}`);
    return answer.result;
  }

  async close(): Promise<void> {
    await this.client.close();
  }
}

export interface Taken {
  messages: {
    event: { id: string; by: string; data: { text: string } };
    delivery: string;
    redelivered: boolean;
  }[];
  batch_id: string | null;
}
