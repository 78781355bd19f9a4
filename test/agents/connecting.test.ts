/** The real agents read the configurations that the editor writes, and join as their Actors. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { withEntry } from "../../extension/agents/config-text.ts";
import { agentClient, serverFor } from "../../shared/agent-clients.ts";
import { SVC } from "../support/daemon-process.ts";
import { textOf } from "../support/events.ts";
import { Crew, PATIENCE } from "./setting.ts";

describe("real agents that a person connects", function () {
  this.timeout(4 * PATIENCE);
  const crew = new Crew();

  /** Runs the agent in the project until it ends; its output. */
  async function run(words: readonly string[], environment: Record<string, string>): Promise<string> {
    const bin = join(crew.agents.root, "bin");
    mkdirSync(bin, { recursive: true });
    writeFileSync(join(bin, "svc"), `#!/bin/sh\nexec '${process.execPath}' '${SVC}' "$@"\n`, { mode: 0o755 });
    const [program, ...args] = words;
    const child = spawn(program!, args, {
      cwd: crew.agents.project,
      env: { ...environment, PATH: [bin, environment["PATH"]].join(delimiter) },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => (output += chunk.toString("utf8")));
    await once(child, "close");
    return output;
  }

  /** Adds the Actor and writes what "Connect an Agent" writes. */
  async function connect(id: string, path: string): Promise<void> {
    const { client, group_id: groupId, model } = crew.agents;
    const agent = agentClient(id)!;
    await client.result("actor_add", { group_id: groupId, actor_id: agent.actorId, runner: "external" });
    const server = serverFor(agent, { actorId: agent.actorId, home: crew.daemon.home });
    mkdirSync(dirname(path), { recursive: true });
    const before = existsSync(path) ? readFileSync(path, "utf8") : "";
    writeFileSync(path, withEntry(before, agent, agent.entry(server)));
    model.script(`greet-${id}`, () => [
      {
        tool: "mcp__svc__svc_message_send",
        input: { text: `hello from ${id}`, to: ["user"], message_mode: "send" },
      },
      { say: "Sent." },
    ]);
  }

  async function greets(id: string, output: string): Promise<void> {
    const event = (await crew.agents.events()).findLast(
      ({ kind, by }) => kind === "chat.message" && by === agentClient(id)!.actorId,
    );
    assert.ok(event, output);
    assert.equal(textOf(event), `hello from ${id}`);
  }

  it("Claude Code reads the project's .mcp.json", async () => {
    const environment = { ...crew.agents.claudeEnvironment("own-claude"), SVC_HOME: crew.daemon.home };
    await connect("claude", join(crew.agents.project, ".mcp.json"));
    // The person has approved the project's server.
    const settings = join(crew.agents.root, "own-claude", "settings.json");
    writeFileSync(settings, JSON.stringify({ enabledMcpjsonServers: ["svc"] }));
    const allowed = ["--allowedTools", "mcp__svc__svc_message_send"];
    const tools = { ...environment, ENABLE_TOOL_SEARCH: "false" };
    await greets("claude", await run(["claude", "-p", "greet-claude", ...allowed], tools));
  });

  it("Codex reads its own config.toml", async () => {
    const environment = crew.agents.codexEnvironment("own-codex", "never");
    await connect("codex", join(environment["CODEX_HOME"]!, "config.toml"));
    const words = ["codex", "exec", "--disable", "plugins", "--skip-git-repo-check", "greet-codex"];
    await greets("codex", await run(words, environment));
  });
});
