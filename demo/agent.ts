/**
 * A scripted agent: it starts the real MCP server (`svc mcp`) and talks to it over its standard
 * input and output, as an agent's runtime does.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";

interface Answer {
  id?: number;
  result?: { isError?: boolean; structuredContent?: { ok: boolean; result?: Record<string, unknown> } };
  error?: { message: string };
}

export class Agent {
  readonly name: string;
  readonly #process: ChildProcessByStdio<Writable, Readable, null>;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #lastId = 0;
  #rest = "";
  #isOver = false;

  private constructor(name: string, process: ChildProcessByStdio<Writable, Readable, null>) {
    this.name = name;
    this.#process = process;
    process.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      const lines = (this.#rest + chunk).split("\n");
      this.#rest = lines.pop() ?? "";
      for (const line of lines) this.#receive(JSON.parse(line) as Answer);
    });
    process.once("exit", () => {
      this.#isOver = true;
      for (const answer of this.#waiting.values()) answer(this.#overAnswer());
    });
    // What is written to a process that has just ended is answered by its end.
    process.stdin.on("error", () => undefined);
  }

  /** Starts the server as this Actor and initialises it. */
  static async start(name: string, program: string, environment: Record<string, string>): Promise<Agent> {
    const { PATH = "" } = process.env;
    const child = spawn(process.execPath, [program, "mcp"], {
      env: { PATH, ...environment },
      stdio: ["pipe", "pipe", "inherit"],
    });
    const agent = new Agent(name, child);
    const { error } = await agent.#request("initialize", {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: `demo-${name}`, version: "1" },
    });
    if (error) throw new Error(error.message);
    agent.#write({ jsonrpc: "2.0", method: "notifications/initialized" });
    return agent;
  }

  /** Its input is closed, or the process has ended: nothing is answered from now on. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** The result of a tool. Throws when it answers with an error. */
  async tool(name: string, input: Record<string, unknown> = {}): Promise<Record<string, unknown>> {
    const { result, error } = await this.#request("tools/call", { name, arguments: input });
    const content = result?.structuredContent;
    if (error || !content?.ok || !content.result)
      throw new Error(`${this.name}: ${name}: ${error?.message ?? JSON.stringify(content)}`);
    return content.result;
  }

  /** Closes its input, as a runtime does, and waits for the server's end. */
  async stop(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = new Promise((resolve) => this.#process.once("exit", resolve));
    this.#isOver = true;
    this.#process.stdin.end();
    await ended;
  }

  #request(method: string, params: object): Promise<Answer> {
    // An agent may be about to speak when Ctrl-C stops it.
    if (this.#isOver) return Promise.resolve(this.#overAnswer());
    const id = ++this.#lastId;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.#write({ jsonrpc: "2.0", id, method, params });
    });
  }

  #overAnswer(): Answer {
    return { error: { message: `${this.name}'s MCP server ended` } };
  }

  #write(message: object): void {
    this.#process.stdin.write(`${JSON.stringify(message)}\n`);
  }

  #receive(answer: Answer): void {
    if (answer.id === undefined) return;
    this.#waiting.get(answer.id)?.(answer);
    this.#waiting.delete(answer.id);
  }
}
