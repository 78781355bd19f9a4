/** The daemon under measurement: the shipped bundle, in its own Home. */
import { join } from "node:path";
import { DaemonClient } from "../client/client.ts";
import { findEndpoint } from "../client/connection.ts";
import { ENVIRONMENT, HEADERS, SOCKET_OPERATION_PREFIX } from "../shared/names.ts";
import { scratchPath } from "./folder.ts";
import { bytesFile, httpRequest } from "./native.ts";
import { output, plainEnvironment, start, stop } from "./processes.ts";

const root = join(import.meta.dirname, "..");
/** What the installed command `svc` runs. */
export const SVC = join(root, "dist", "svc.cjs");

export interface Daemon {
  home: string;
  pid: number;
  socket: string;
  client: DaemonClient;
  /** Headers that every request over the local socket carries. */
  headers: Record<string, string>;
  /** File with the bytes of one call of an operation. */
  operation(name: string, input: unknown): string;
  stop(): Promise<void>;
}

let built: Promise<string> | undefined;

/** Builds what ships from the sources as they are, once per run. */
export function requireBundles(): Promise<string> {
  built ??= output(process.execPath, [join(root, "esbuild.mjs"), "node"], { cwd: root });
  return built;
}

/** What a daemon's Node gets in addition to what ships. */
export interface NodeOptions {
  flags?: readonly string[];
  environment?: Record<string, string>;
}

/** What `SVC_BENCH_NODE_FLAGS` (such as `--cpu-prof`) gives the Node of a measured process. */
export function nodeFlags(): string[] {
  return (process.env["SVC_BENCH_NODE_FLAGS"] ?? "").split(" ").filter((flag) => flag !== "");
}

/** `nodeFlags` and `node` go to the daemon's Node. A Home of an earlier daemon may go on. */
export async function startDaemon(node: NodeOptions = {}, home = scratchPath("home")): Promise<Daemon> {
  await requireBundles();
  const environment = plainEnvironment({
    [ENVIRONMENT.home]: home,
    [ENVIRONMENT.webPort]: "0",
    ...node.environment,
  });
  const child = start(process.execPath, [...nodeFlags(), ...(node.flags ?? []), SVC, "daemon", "run"], {
    env: environment,
  });
  const client = new DaemonClient(home, null);
  const deadline = performance.now() + 30_000;
  for (;;) {
    try {
      await client.result("daemon_status", {});
      break;
    } catch (error) {
      if (child.exitCode !== null || performance.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  const { socketPath, key } = findEndpoint(home);
  const headers = { [HEADERS.socketKey]: key };
  return {
    home,
    pid: child.pid!,
    socket: socketPath,
    client,
    headers,
    operation: (name, input) =>
      bytesFile(
        name,
        httpRequest(
          "POST",
          SOCKET_OPERATION_PREFIX + name,
          { ...headers, "content-type": "application/json" },
          JSON.stringify(input),
        ),
      ),
    stop: async () => {
      client.close();
      await stop(child);
    },
  };
}

/** A Group with one Actor; gives its id. */
export async function makeGroup({ client }: Daemon): Promise<string> {
  const group = await client.result("group_create", { title: "Bench" });
  await client.result("actor_add", { group_id: group.group_id, actor_id: "agent" });
  return group.group_id;
}
