/** How this server describes itself, and its answer to `initialize` before the SDK is loaded. */
import { PRODUCT_VERSION } from "../shared/version.ts";

export const SERVER_INFO = { name: "svc", title: "svc", version: PRODUCT_VERSION };
export const CAPABILITIES = { tools: {} };
export const INSTRUCTIONS =
  "svc carries durable messages between you, other agents and a person. Call svc_bootstrap first, svc_help for the rules, and svc_inbox_read to get your messages.";

/** Newest first. If a client asks for another one, it is offered the newest, as the SDK does. */
const PROTOCOL_VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"] as const;

interface InitializeRequest {
  jsonrpc: "2.0";
  id: string | number;
  method: "initialize";
  params: { protocolVersion: string; capabilities: object; clientInfo: { name: string; version: string } };
}

/** Whether a message is such a plain `initialize` that its answer is certain. */
export function isInitialize(message: unknown): message is InitializeRequest {
  const { jsonrpc, id, method, params } = message as Partial<InitializeRequest>;
  return (
    jsonrpc === "2.0" &&
    method === "initialize" &&
    (typeof id === "string" || Number.isInteger(id)) &&
    typeof params?.protocolVersion === "string" &&
    isObject(params.capabilities) &&
    isObject(params.clientInfo) &&
    typeof params.clientInfo.name === "string" &&
    typeof params.clientInfo.version === "string"
  );
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The answer that the SDK's server would give. */
export function initializeAnswer({ id, params }: InitializeRequest): object {
  const asked = PROTOCOL_VERSIONS.find((version) => version === params.protocolVersion);
  return {
    result: {
      protocolVersion: asked ?? PROTOCOL_VERSIONS[0],
      capabilities: CAPABILITIES,
      serverInfo: SERVER_INFO,
      instructions: INSTRUCTIONS,
    },
    jsonrpc: "2.0",
    id,
  };
}
