/**
 * The only importer of the MCP SDK: its low-level Server, because the high-level one takes unknown arguments in silence. The arguments are
 * checked by the operations' own schemas.
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
import type { ToolCaller } from "./call.ts";
import { CAPABILITIES, INSTRUCTIONS, SERVER_INFO } from "./protocol.ts";

export type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";

/** Only elicitation would need one; the bundle leaves the default one out. */
const NO_VALIDATOR = {
  getValidator: () => {
    throw new Error("this server doesn't use elicitation");
  },
};

/** Serves the tools over a transport until it closes. `listed` is called each time the client has asked for their list. */
export async function connect(
  caller: ToolCaller,
  transport: Transport,
  listed: () => void = () => undefined,
): Promise<void> {
  const server = new Server(SERVER_INFO, {
    capabilities: CAPABILITIES,
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
              // A client that went away meanwhile needs no sign of life.
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

/** A Streamable HTTP transport with a session of its own; loaded with the first `/mcp` request. */
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
