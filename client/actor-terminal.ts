/** The WebSocket to an Actor's terminal (shared/terminal.ts) over the local socket. */
import { Agent, type IncomingMessage } from "node:http";
import type { WebSocket } from "ws";
import type { ErrorBody } from "../shared/errors.ts";
import { API_PREFIX } from "../shared/names.ts";
import { findEndpoint } from "./connection.ts";
import { DaemonUnreachable, RefusedByDaemon } from "./failures.ts";

/**
 * Resolves when it is open. `message` is set before that, so that nothing is missed. Throws
 * DaemonUnreachable, or the refusal as RefusedByDaemon.
 */
export async function openTerminal(
  home: string,
  { group_id: groupId, actor_id: actorId }: { group_id: string; actor_id: string },
  message: (data: Buffer, isOutput: boolean) => void,
): Promise<WebSocket> {
  const { WebSocket } = await import("./web-socket.ts");
  const { socketPath, credential } = findEndpoint(home);
  const path = `${API_PREFIX}/groups/${encodeURIComponent(groupId)}/actors/${encodeURIComponent(actorId)}/term`;
  const socket = new WebSocket(`ws://localhost${path}`, {
    agent: new Agent({ socketPath } as object),
    headers: credential,
    perMessageDeflate: false,
  });
  socket.on("message", (data: Buffer, isBinary) => message(data, isBinary));
  return new Promise((resolve, reject) => {
    socket.once("open", () => resolve(socket));
    socket.on("error", (error) => reject(new DaemonUnreachable(home, error.message, error)));
    socket.once("unexpected-response", (_request, response) => void refusalOf(home, response).then(reject));
  });
}

async function refusalOf(home: string, response: IncomingMessage): Promise<Error> {
  try {
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    const { error } = JSON.parse(Buffer.concat(chunks).toString("utf8")) as { error: ErrorBody };
    return new RefusedByDaemon(error);
  } catch (cause) {
    return new DaemonUnreachable(home, `it answered with status ${response.statusCode}`, cause);
  }
}
