/**
 * Whole processes as a shell or an MCP client starts them, compared with the emptiest Node program.
 */
import { once } from "node:events";
import { ENVIRONMENT } from "../shared/names.ts";
import { type Daemon, makeGroup, SVC, startDaemon } from "./daemon.ts";
import { compare, interleave, type Measurement } from "./figure.ts";
import { plainEnvironment, start, stop } from "./processes.ts";

const SEND = "svc send as a process";
const MCP = "MCP start to answered initialize";

const initialize = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "bench", version: "1" } },
});

/** Milliseconds from before the start to the end of `node ARGUMENTS`. */
async function wholeProcess(nodeArguments: string[], environment: Record<string, string>): Promise<number> {
  const begin = performance.now();
  const child = start(process.execPath, nodeArguments, {
    env: environment,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const [code] = (await once(child, "exit")) as [number | null];
  if (code !== 0) throw new Error(`node ${nodeArguments.join(" ")} ended with ${code}`);
  return performance.now() - begin;
}

/** Milliseconds from before the start of `svc mcp` to its whole answer to `initialize`. */
async function initialized(environment: Record<string, string>): Promise<number> {
  const begin = performance.now();
  const child = start(process.execPath, [SVC, "mcp"], {
    env: environment,
    stdio: ["pipe", "pipe", "inherit"],
  });
  child.stdin!.write(`${initialize}\n`);
  let answer = "";
  for await (const chunk of child.stdout!.setEncoding("utf8")) {
    answer += chunk;
    if (answer.includes("\n")) break;
  }
  const took = performance.now() - begin;
  const { result } = JSON.parse(answer) as { result?: { serverInfo?: unknown } };
  if (result?.serverInfo === undefined) throw new Error(`initialize was answered with ${answer}`);
  await stop(child, "SIGKILL");
  return took;
}

/** An environment in which `svc mcp` is the bench's Actor. */
async function asActor({ client, home }: Daemon, groupId: string): Promise<Record<string, string>> {
  const { mcpServers } = await client.result("actor_mcp_config", { group_id: groupId, actor_id: "agent" });
  return plainEnvironment({ ...mcpServers.svc.env, [ENVIRONMENT.home]: home });
}

export const startUp: Measurement = {
  figures: [SEND, MCP],
  async run({ short, only }) {
    const daemon = await startDaemon();
    const group = await makeGroup(daemon);
    const empty = plainEnvironment();
    const person = plainEnvironment({ [ENVIRONMENT.home]: daemon.home });
    const actor = await asActor(daemon, group);
    const rounds = short ? 3 : 31;
    const measured = [
      {
        name: SEND,
        // 1.6 needed V8's code packed into the bundles, which no debugger could follow.
        goal: 2,
        floor: 2.5,
        ours: () => wholeProcess([SVC, "send", "--to", "agent", "hello"], person),
      },
      // The floor was 4. 1.5 was measured while `initialize` was answered before the SDK was
      // loaded, with a list of versions of our own.
      { name: MCP, goal: 2.5, floor: 2.5, ours: () => initialized(actor) },
    ];
    const figures = [];
    for (const { name, goal, floor, ours } of measured.filter(({ name }) => name.includes(only))) {
      const times = await interleave(rounds, { ours, theirs: () => wholeProcess(["-e", "0"], empty) });
      const against = { against: "node -e 0", against_value: times.theirs };
      figures.push(
        compare({ name, unit: "ms", value: times.ours, ...against, goal, floor, better: "lower" }),
      );
    }
    await daemon.stop();
    return figures;
  },
};
