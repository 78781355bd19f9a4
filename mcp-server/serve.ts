/**
 * The part of the stdio server that needs the SDK. It is loaded after the first message has been
 * read.
 */
import { ToolCaller } from "./call.ts";
import { connect } from "./sdk.ts";
import type { ActorSession } from "./session.ts";
import type { StdioTransport } from "./stdio.ts";
import { builtTools } from "./tool-data.ts";

export async function serveTools(session: ActorSession, transport: StdioTransport): Promise<void> {
  await connect(new ToolCaller(builtTools(), session), transport, () => void session.listed());
}
