/**
 * Finds what is wrong with a message before the SDK sees it. The SDK leaves some malformed requests
 * unanswered.
 */

/** The tool that returns messages. */
export const INBOX_TOOL = "svc_inbox_read";

interface RpcError {
  jsonrpc: "2.0";
  id: string | number | null;
  error: { code: number; message: string };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isId(value: unknown): value is string | number {
  return typeof value === "string" || Number.isSafeInteger(value);
}

export function rpcError(id: unknown, code: number, message: string): RpcError {
  return { jsonrpc: "2.0", id: isId(id) ? id : null, error: { code, message } };
}

/** The error to answer with. Null for a valid message, or one that is itself an answer. */
export function problemOf(message: unknown): RpcError | null {
  if (!isObject(message)) return rpcError(null, -32600, "A message must be one JSON object");
  const { jsonrpc, id, method, params } = message;
  if (method === undefined && ("result" in message || "error" in message)) return null;
  if (jsonrpc !== "2.0" || typeof method !== "string" || (id !== undefined && !isId(id)))
    return rpcError(id, -32600, "Not a JSON-RPC 2.0 request");
  if (params !== undefined && !isObject(params)) return rpcError(id, -32602, "params must be an object");
  if (method !== "tools/call") return null;
  const given = params?.["arguments"];
  if (given !== undefined && !isObject(given)) return rpcError(id, -32602, "arguments must be an object");
  // The SDK's parser silently drops this name, but no passed argument may be ignored.
  if (given && Object.hasOwn(given, "__proto__"))
    return rpcError(id, -32602, "'__proto__' isn't an argument");
  return null;
}
