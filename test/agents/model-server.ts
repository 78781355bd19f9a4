/**
 * The model behind both agents, scripted: the Anthropic Messages API for Claude and the OpenAI
 * Responses API for Codex, on loopback. A word in a prompt chooses the script; how far a script is
 * follows from the tool results behind that prompt, so a repeated request gets the same answer.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What the model does next. `hold`: only once `release` was called with that name. */
export type Step = { hold?: string } & (
  | { say: string }
  | { tool: string; namespace?: string; input: Record<string, unknown> }
);
/** What the model's server refuses every request with. */
export interface Failure {
  status: number;
  headers?: Record<string, string>;
  error: Record<string, unknown>;
}
/** `id`: of the newest svc message in the prompt. */
export type Script = (id: string) => readonly Step[];

interface Item {
  role: "prompt" | "result";
  text: string;
}

const MESSAGE_ID = /\[svc\] message ([0-9a-f]{32})/g;

export class ModelServer {
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  readonly #scripts = new Map<string, Script>();
  readonly #released = new Map<string, PromiseWithResolve>();
  /** Words whose scripts were asked for, with their steps, in order. */
  readonly asked: { word: string; step: number; tools: readonly string[] }[] = [];
  /** What the agents sent, whole. */
  readonly heard: string[] = [];
  #answers = 0;
  /** By the path that an agent asks; while it is set. */
  readonly failures = new Map<"/v1/messages" | "/v1/responses", Failure>();

  async listen(): Promise<void> {
    await once(this.#server.listen(0, "127.0.0.1"), "listening");
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  script(word: string, script: Script): void {
    this.#scripts.set(word, script);
  }

  release(hold: string): void {
    this.#hold(hold).resolve();
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #hold(name: string): PromiseWithResolve {
    let hold = this.#released.get(name);
    if (hold === undefined) {
      hold = withResolve();
      this.#released.set(name, hold);
    }
    return hold;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on("error", () => undefined);
    let body = "";
    try {
      for await (const chunk of request.setEncoding("utf8")) body += String(chunk);
    } catch {
      return;
    }
    this.heard.push(body);
    const path = (request.url ?? "").split("?")[0];
    const failure = this.failures.get(path as "/v1/messages");
    if (failure !== undefined) {
      const { status, headers = {}, error } = failure;
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(JSON.stringify({ type: "error", error }));
      return;
    }
    // A WebSocket, which Codex tries first with OpenAI's own provider.
    if (request.method === "GET" && path === "/v1/responses") response.writeHead(404).end();
    else if (path === "/v1/messages") await this.#answer(JSON.parse(body) as ClaudeRequest, response, claude);
    else if (path === "/v1/responses") await this.#answer(JSON.parse(body) as CodexRequest, response, codex);
    else response.writeHead(200, { "content-type": "application/json" }).end('{"input_tokens":10}');
  }

  async #answer<Request>(request: Request, response: ServerResponse, api: Api<Request>): Promise<void> {
    const tools = api.tools(request);
    const step = tools.length === 0 ? { say: "ok" } : this.#next(api.items(request), tools);
    response.writeHead(200, { "content-type": "text/event-stream" });
    // The head goes at once: an agent shows that its model thinks.
    response.flushHeaders();
    if (step.hold !== undefined) await this.#hold(step.hold).promise;
    for (const event of api.events(step, ++this.#answers)) {
      response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    }
    response.end();
  }

  #next(items: readonly Item[], tools: readonly string[]): Step {
    for (let at = items.length - 1; at >= 0; at -= 1) {
      const { role, text } = items[at]!;
      if (role !== "prompt") continue;
      const words = [...this.#scripts.keys()].filter((word) => text.includes(word));
      const word = words.sort((a, b) => text.lastIndexOf(b) - text.lastIndexOf(a))[0];
      if (word === undefined) continue;
      const results = items.slice(at).filter((item) => item.role === "result").length;
      this.asked.push({ word, step: results, tools });
      const id = [...text.matchAll(MESSAGE_ID)].at(-1)?.[1] ?? "";
      return this.#scripts.get(word)!(id)[results] ?? { say: "Done." };
    }
    return { say: "Nothing to do." };
  }
}

interface PromiseWithResolve {
  promise: Promise<void>;
  resolve: () => void;
}

function withResolve(): PromiseWithResolve {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}

interface StreamEvent {
  type: string;
  [field: string]: unknown;
}

interface Api<Request> {
  tools(request: Request): string[];
  items(request: Request): Item[];
  events(step: Step, answer: number): StreamEvent[];
}

interface ClaudeRequest {
  tools?: { name: string }[];
  messages: { role: string; content: string | { type: string; text?: string }[] }[];
}

const claude: Api<ClaudeRequest> = {
  tools: ({ tools = [] }) => tools.map(({ name }) => name),
  items: ({ messages }) =>
    messages
      .filter(({ role }) => role === "user")
      .flatMap(({ content }) => (typeof content === "string" ? [{ type: "text", text: content }] : content))
      .map(({ type, text = "" }) => ({ role: type === "tool_result" ? "result" : "prompt", text })),
  events(step, answer) {
    const uses = "tool" in step;
    const block = uses
      ? { type: "tool_use", id: `toolu_${answer}`, name: step.tool, input: {} }
      : { type: "text", text: "" };
    const delta = uses
      ? { type: "input_json_delta", partial_json: JSON.stringify(step.input) }
      : { type: "text_delta", text: step.say };
    const usage = { input_tokens: 10, output_tokens: 5 };
    const message = {
      id: `msg_${answer}`,
      type: "message",
      role: "assistant",
      model: "scripted",
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage,
    };
    const ended = { stop_reason: uses ? "tool_use" : "end_turn", stop_sequence: null };
    return [
      { type: "message_start", message },
      { type: "content_block_start", index: 0, content_block: block },
      { type: "content_block_delta", index: 0, delta },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: ended, usage },
      { type: "message_stop" },
    ];
  },
};

interface CodexRequest {
  tools?: { name?: string; type: string }[];
  input: { type: string; role?: string; content?: { text?: string }[] }[];
}

const codex: Api<CodexRequest> = {
  tools: ({ tools = [] }) => tools.map(({ name, type }) => name ?? type),
  items: ({ input }) =>
    input.flatMap(({ type, role, content = [] }): Item[] => {
      if (type.endsWith("_call_output")) return [{ role: "result", text: "" }];
      if (type !== "message" || role !== "user") return [];
      return [{ role: "prompt", text: content.map(({ text = "" }) => text).join("\n") }];
    }),
  events(step, answer) {
    const [name, namespace] =
      "tool" in step && step.tool.startsWith("mcp__svc__")
        ? [step.tool.slice("mcp__svc__".length), "mcp__svc"]
        : "tool" in step
          ? [step.tool, step.namespace]
          : ["", undefined];
    const item =
      "tool" in step
        ? {
            type: "function_call",
            id: `fc_${answer}`,
            call_id: `call_${answer}`,
            name,
            ...(namespace === undefined ? {} : { namespace }),
            arguments: JSON.stringify(step.input),
          }
        : {
            type: "message",
            role: "assistant",
            id: `m_${answer}`,
            content: [{ type: "output_text", text: step.say }],
          };
    const usage = {
      input_tokens: 1,
      input_tokens_details: null,
      output_tokens: 1,
      output_tokens_details: null,
      total_tokens: 2,
    };
    return [
      { type: "response.created", response: { id: `resp_${answer}` } },
      { type: "response.output_item.done", item },
      { type: "response.completed", response: { id: `resp_${answer}`, usage } },
    ];
  },
};
