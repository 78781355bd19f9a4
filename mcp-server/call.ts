/**
 * Turns a tool call into an operation, and its envelope into a tool result. The same for stdio and
 * HTTP.
 */
import type { Envelope } from "../client/client.ts";
import { ERRORS, fieldSentence } from "../shared/errors.ts";
import { LIMITS } from "../shared/limits.ts";
import type { DerivedTool } from "./derive.ts";
import { HELP } from "./help.ts";
import { told } from "./told.ts";
import { TOOLS, type Tool } from "./tools.ts";

/** The daemon as an Actor reaches it. */
export interface ActorPort {
  /** The Actor's Group. Throws if the launch identity isn't valid. */
  group(): Promise<string>;
  call(operation: string, input: unknown, options: { signal: AbortSignal }): Promise<Envelope<unknown>>;
}

export interface CallProgress {
  signal: AbortSignal;
  /** Shows a sign of life; absent if the client didn't ask for one. */
  progress?: ((seconds: number, message: string) => void) | undefined;
}

/** `CallToolResult` of the protocol. */
export interface ToolResult {
  content: { type: "text"; text: string }[];
  structuredContent: Record<string, unknown>;
  isError?: true;
}

type Arguments = Record<string, unknown>;

/** An error as tools return it: from the catalogue, or that no daemon answers. */
interface ToolError {
  code: string;
  message: string;
  details: Record<string, unknown>;
}

/** Refusals from either side of the socket, and a daemon that doesn't answer. */
function tellsItself(error: unknown): error is { body(): ToolError } {
  return typeof (error as { body?: unknown }).body === "function";
}

function errorResult(error: ToolError): ToolResult {
  const envelope = { ok: false, error: told(error) };
  return {
    content: [{ type: "text", text: JSON.stringify(envelope) }],
    structuredContent: envelope,
    isError: true,
  };
}

function wrongArgument(field: string, problem: string): ToolResult {
  return errorResult({
    code: "invalid_args",
    message: `${fieldSentence(field, problem)} ${ERRORS.invalid_args.remedy}`,
    details: { field, problems: [{ field, problem }] },
  });
}

function argumentOf(tool: Tool, field: string): string {
  const [first = "", ...rest] = field.split(/(?=[.[])/);
  const fields = Object.assign(
    {},
    tool.fields,
    ...(tool.switches ?? []).map((one) => one.arguments),
  ) as Record<string, string>;
  const renamed = Object.entries(fields).find(([, name]) => name === first)?.[0] ?? first;
  return renamed + rest.join("");
}

/** The daemon names its own fields, but an agent knows the tool's arguments. */
function inArguments(tool: Tool, error: ToolError): ToolError {
  const { field, problems } = error.details as {
    field?: unknown;
    problems?: { field: string; problem: string }[];
  };
  if (typeof field !== "string") return error;
  const argument = argumentOf(tool, field);
  const details = {
    ...error.details,
    field: argument,
    ...(Array.isArray(problems)
      ? { problems: problems.map((one) => ({ ...one, field: argumentOf(tool, one.field) })) }
      : {}),
  };
  return { ...error, message: error.message.replace(`'${field}'`, `'${argument}'`), details };
}

/** Signs of life while the daemon waits for a message. */
function reportProgress(progress: CallProgress["progress"]): () => void {
  if (!progress) return () => undefined;
  const every = LIMITS.inbox.progressSeconds;
  let seconds = 0;
  const timer = setInterval(() => {
    seconds += every;
    progress(seconds, `waiting for messages, ${seconds} s`);
  }, every * 1000);
  return () => clearInterval(timer);
}

export class ToolCaller {
  readonly #derived: ReadonlyMap<string, DerivedTool>;
  readonly #port: ActorPort;

  constructor(derived: readonly DerivedTool[], port: ActorPort) {
    this.#derived = new Map(derived.map((tool) => [tool.listed.name, tool]));
    this.#port = port;
  }

  get list(): DerivedTool["listed"][] {
    return [...this.#derived.values()].map(({ listed }) => listed);
  }

  /**
   * Null for a tool that doesn't exist. Rejects with the signal's reason if the call was cancelled.
   */
  async call(name: string, given: Arguments, { signal, progress }: CallProgress): Promise<ToolResult | null> {
    const tool = TOOLS.find((entry) => entry.name === name);
    const derived = this.#derived.get(name);
    if (!tool || !derived) return null;
    const { action: chosen, ...rest } = given;
    const named = "action" in given && "action" in (derived.listed.inputSchema["properties"] as object);
    const action = named ? chosen : (tool.defaultAction ?? "");
    const plan =
      typeof action === "string" && Object.hasOwn(derived.actions, action)
        ? derived.actions[action]
        : undefined;
    if (Object.keys(tool.operations).length === 0) {
      const [unknown] = Object.keys(given);
      if (unknown !== undefined) return wrongArgument(unknown, "isn't an argument of this tool");
      const envelope = { ok: true, result: { text: HELP } };
      return { content: [{ type: "text", text: HELP }], structuredContent: envelope };
    }
    if (!plan) return wrongArgument("action", `must be one of ${Object.keys(tool.operations).join(", ")}`);
    for (const argument of Object.keys(given))
      if (!plan.takes.includes(argument))
        return wrongArgument(argument, unknownArgument(tool, action as string));
    for (const argument of plan.needs)
      if (given[argument] === undefined) return wrongArgument(argument, "is missing");

    const chosenWays = (tool.switches ?? []).filter((one) =>
      Object.keys(one.arguments).some((argument) => given[argument] !== undefined),
    );
    const [way, otherWay] = chosenWays;
    if (otherWay)
      return wrongArgument(
        Object.keys(otherWay.arguments)[0]!,
        "can't be combined with the other destination",
      );
    const input: Arguments = {};
    const defaults = tool.defaultsFor?.(given) ?? tool.defaults;
    for (const [argument, value] of Object.entries({ ...defaults, ...(named ? rest : given) }))
      input[tool.fields?.[argument] ?? way?.arguments[argument] ?? argument] = value;
    if (plan.takes.includes("idempotency_key") && input["client_id"] === undefined)
      input["client_id"] = crypto.randomUUID();
    const operation = way?.operation ?? plan.operation;
    const stop = operation === "inbox_read" ? reportProgress(progress) : undefined;
    try {
      const group = plan.inGroup ? { group_id: await this.#port.group() } : {};
      const envelope = await this.#port.call(operation, { ...group, ...input }, { signal });
      if (!envelope.ok) return errorResult(inArguments(tool, envelope.error));
      const { result } = envelope;
      const answer = { ...envelope, result: told(result) };
      return { content: [{ type: "text", text: JSON.stringify(answer) }], structuredContent: answer };
    } catch (error) {
      signal.throwIfAborted();
      if (tellsItself(error)) return errorResult(error.body());
      throw error;
    } finally {
      stop?.();
    }
  }
}

function unknownArgument(tool: Tool, action: string): string {
  return action === ""
    ? "isn't an argument of this tool"
    : `isn't an argument of ${tool.name} with the action ${action}`;
}
