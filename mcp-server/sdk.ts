/**
 * The only importer of the MCP SDK. It uses the low-level Server, because the high-level one
 * silently accepts unknown arguments. The operations' own schemas check the arguments.
 */
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  CallToolRequestSchema,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
} from "@modelcontextprotocol/sdk/types.js";
import { LIMITS } from "../shared/limits.ts";
import { PRODUCT_VERSION } from "../shared/version.ts";
import type { ToolCaller } from "./call.ts";

export type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";

const SERVER_INFO = { name: "svc", title: "svc", version: PRODUCT_VERSION };
const INSTRUCTIONS =
  "svc carries durable messages between you, other agents and a person. Call svc_bootstrap first, svc_help for the rules, and svc_inbox_read to get your messages.";

/** Only elicitation would need a validator. The bundle leaves out the default one. */
const NO_VALIDATOR = {
  getValidator: () => {
    throw new Error("this server doesn't use elicitation");
  },
};

/**
 * Serves the tools over a transport until it closes. `listed` is called each time the client has
 * asked for the list.
 */
export async function connect(
  caller: ToolCaller,
  transport: Transport,
  listed: () => void = () => undefined,
): Promise<void> {
  const server = new Server(SERVER_INFO, {
    capabilities: { tools: {} },
    instructions: INSTRUCTIONS,
    jsonSchemaValidator: NO_VALIDATOR,
  });
  server.setRequestHandler(ListToolsRequestSchema, () => {
    // After the answer, which this turn of the event loop writes.
    setImmediate(listed);
    return { tools: caller.list };
  });
  server.setRequestHandler(CallToolRequestSchema, async (request, extra) => {
    const { name, arguments: given = {}, _meta } = request.params;
    const token = _meta?.progressToken;
    const result = await caller.call(name, given, {
      signal: extra.signal,
      progress:
        token === undefined
          ? undefined
          : (progress, message) => {
              // A client that has gone away needs no sign of life.
              extra
                .sendNotification({
                  method: "notifications/progress",
                  params: { progressToken: token, progress, message },
                })
                .catch(() => undefined);
            },
    });
    if (result === null) throw new McpError(ErrorCode.InvalidParams, `Unknown tool: ${name}`);
    return { ...result };
  });
  await server.connect(transport);
}

/** A Streamable HTTP transport with its own session; loaded with the first `/mcp` request. */
export async function streamableTransport(sessionId: string, onInitialized: () => void) {
  const { StreamableHTTPServerTransport } = await import(
    "@modelcontextprotocol/sdk/server/streamableHttp.js"
  );
  return new StreamableHTTPServerTransport({
    sessionIdGenerator: () => sessionId,
    maxRequestBodySize: LIMITS.body.jsonBytes,
    onsessioninitialized: onInitialized,
  });
}
