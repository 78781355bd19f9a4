/**
 * `svc mcp`: the stdio server. It opens nothing before a tool needs the daemon, except one call
 * when the tools are listed. It ends with its client.
 */
import { resolveHome } from "../client/paths.ts";
import { ToolCaller } from "./call.ts";
import { connect } from "./sdk.ts";
import { ActorSession, type FindActor } from "./session.ts";
import { StdioTransport } from "./stdio.ts";
import { builtTools } from "./tool-data.ts";

/** After its input ended, the server waits this long for running calls. */
const LAST_CALLS_MS = 2000;

/**
 * Runs until the client closes its end; then the process ends. The Home is the environment's unless
 * one is named. Where the environment names no Actor, `findActor` says which one to act as.
 */
export async function serve(
  home = resolveHome(process.env),
  findActor: FindActor | null = null,
): Promise<never> {
  const session = new ActorSession(home, findActor);
  const transport = new StdioTransport(process.stdin, process.stdout);
  const exit = (): void => {
    session.close();
    process.exit(0);
  };
  process.stdout.on("error", exit);
  transport.onIdle = exit;
  transport.onLateCancel = () => session.renew();
  transport.onEnd = () => {
    session.endWaits();
    setTimeout(exit, LAST_CALLS_MS).unref();
  };
  await connect(new ToolCaller(builtTools(), session), transport, () => void session.listed());
  return new Promise(() => undefined);
}
