/** `svc mcp`: the stdio server. Nothing is opened before a tool needs the daemon, and it ends with its client. */
import { ActorSession } from "./session.ts";
import { StdioTransport } from "./stdio.ts";

/** After its input ended, the server waits this long for calls that are under way. */
const LAST_CALLS_MS = 2000;

/** Runs until the client closes its end; then the process ends. */
export async function serve(): Promise<never> {
  const session = new ActorSession();
  const transport = new StdioTransport(process.stdin, process.stdout);
  const exit = (): void => {
    session.close();
    process.exit(0);
  };
  process.stdout.on("error", exit);
  transport.onIdle = exit;
  transport.onEnd = () => {
    session.endWaits();
    setTimeout(exit, LAST_CALLS_MS).unref();
  };
  // A first message that can be answered without the SDK is, and only then its code is loaded.
  await transport.begun;
  const { serveTools } = await import("./serve.ts");
  await serveTools(session, transport);
  return new Promise(() => undefined);
}
