/**
 * The agents that people connect themselves, and what each of them reads: the one source of the
 * steps that the command line, the Workbench and the editor show. A configuration names `svc mcp`
 * and an Actor, never a token. One that lies in the project can be committed: it holds no path of
 * one person.
 */
import type { Runtime } from "./model.ts";
import { shellWords, tomlString } from "./quoting.ts";

/** What an entry consists of, in JSON and in TOML. */
export type EntryValue = string | boolean | readonly string[] | Readonly<Record<string, string>>;
export type Entry = Readonly<Record<string, EntryValue>>;

/** How the MCP server is started. */
export interface ServerCommand {
  command: string;
  args: readonly string[];
  env?: Readonly<Record<string, string>>;
}

export interface AgentClient {
  id: string;
  title: string;
  /** Of the Actor that the agent becomes. */
  runtime: Runtime;
  /** The id that this Actor has unless people choose another. */
  actorId: string;
  /** Whose configuration it is: the project's, which may be committed, or the person's. */
  owner: "project" | "person";
  /** Below the project's folder, or below the person's. */
  path: string;
  /** Names the folder of a person's configuration instead of the usual one. */
  variable?: string;
  format: "json" | "toml";
  /** Where in the file the entry belongs. */
  keys: readonly string[];
  entry(server: ServerCommand): Entry;
  /** Words in front of the server's command that make the agent write the configuration itself. */
  adds?: readonly string[];
  /** What it puts the project's folder for, where it starts its servers somewhere else. */
  folder?: string;
  /** What to do once the configuration is written. */
  next: string;
}

const plain = ({ command, args, env }: ServerCommand): Entry => ({
  command,
  args,
  ...(env === undefined ? {} : { env }),
});

const clients = [
  {
    id: "claude",
    title: "Claude Code",
    runtime: "claude",
    actorId: "claude",
    owner: "project",
    path: ".mcp.json",
    format: "json",
    keys: ["mcpServers", "svc"],
    entry: plain,
    adds: ["claude", "mcp", "add", "--scope", "project", "svc", "--"],
    next: "Start claude in the folder and approve the server svc. The command /mcp shows it.",
  },
  {
    id: "codex",
    title: "Codex",
    runtime: "codex",
    actorId: "codex",
    owner: "person",
    path: ".codex/config.toml",
    variable: "CODEX_HOME",
    format: "toml",
    keys: ["mcp_servers", "svc"],
    entry: plain,
    adds: ["codex", "mcp", "add", "svc", "--"],
    next: "Start codex in the folder. The command /mcp shows the server svc.",
  },
  {
    id: "vscode",
    title: "Copilot in VS Code",
    runtime: "copilot",
    actorId: "copilot",
    owner: "project",
    path: ".vscode/mcp.json",
    format: "json",
    keys: ["servers", "svc"],
    entry: (server: ServerCommand): Entry => ({ type: "stdio", ...plain(server) }),
    folder: "${workspaceFolder}",
    next: "Run MCP: List Servers in VS Code, choose svc and start it.",
  },
  {
    id: "copilot",
    title: "Copilot CLI",
    runtime: "copilot",
    actorId: "copilot-cli",
    owner: "person",
    path: ".copilot/mcp-config.json",
    format: "json",
    keys: ["mcpServers", "svc"],
    entry: (server: ServerCommand): Entry => ({ type: "local", ...plain(server), tools: ["*"] }),
    adds: ["copilot", "mcp", "add", "svc", "--"],
    next: "Start copilot in the folder. The command /mcp shows the server svc.",
  },
  {
    id: "cursor",
    title: "Cursor",
    runtime: "cursor",
    actorId: "cursor",
    owner: "project",
    path: ".cursor/mcp.json",
    format: "json",
    keys: ["mcpServers", "svc"],
    entry: plain,
    folder: "${workspaceFolder}",
    next: "Open the folder in Cursor and turn on svc under Settings, MCP.",
  },
  {
    id: "gemini",
    title: "Gemini CLI",
    runtime: "gemini",
    actorId: "gemini",
    owner: "project",
    path: ".gemini/settings.json",
    format: "json",
    keys: ["mcpServers", "svc"],
    entry: plain,
    adds: ["gemini", "mcp", "add", "svc"],
    next: "Start gemini in the folder. The command /mcp shows the server svc.",
  },
  {
    id: "opencode",
    title: "opencode",
    runtime: "opencode",
    actorId: "opencode",
    owner: "project",
    path: "opencode.json",
    format: "json",
    keys: ["mcp", "svc"],
    entry: ({ command, args }) => ({ type: "local", command: [command, ...args], enabled: true }),
    next: "Start opencode in the folder.",
  },
] as const satisfies readonly AgentClient[];

export const AGENT_CLIENTS: readonly AgentClient[] = clients;

/** Any other agent: a person pastes the entry where the agent reads it. */
export function otherClient(folder: string): AgentClient {
  return {
    id: "other",
    title: "Another agent",
    runtime: "custom",
    actorId: "agent",
    owner: "person",
    path: "mcp.json",
    format: "json",
    keys: ["mcpServers", "svc"],
    entry: plain,
    folder,
    next: "Paste it into the agent's MCP configuration and start the agent.",
  };
}

/** What installs a runtime's program, for those that npm has. */
export const INSTALL_COMMANDS: Partial<Record<Runtime, string>> = {
  claude: "npm install -g @anthropic-ai/claude-code",
  codex: "npm install -g @openai/codex",
  gemini: "npm install -g @google/gemini-cli",
  opencode: "npm install -g opencode-ai",
  copilot: "npm install -g @github/copilot",
};

export function agentClient(id: string): AgentClient | undefined {
  return AGENT_CLIENTS.find((client) => client.id === id);
}

/** The usual Home isn't named anywhere. */
function isUsual(home: string): boolean {
  return /[\\/]\.svc$/.test(home);
}

export interface AgentChoices {
  actorId: string;
  /** The Home of the daemon. */
  home: string;
  /** What starts svc where the agent runs; `svc` from PATH by default. */
  program?: ServerCommand;
}

/**
 * The server as this agent starts it. In a project's configuration nothing of one person is named:
 * neither where svc is installed nor the Home.
 */
export function serverFor(
  { owner, folder }: AgentClient,
  { actorId, home, program }: AgentChoices,
): ServerCommand {
  const { command, args, env }: ServerCommand = (owner === "person" ? program : undefined) ?? {
    command: "svc",
    args: [],
  };
  return {
    command,
    ...(env === undefined ? {} : { env }),
    args: [
      ...args,
      "mcp",
      "--as",
      actorId,
      ...(folder === undefined ? [] : ["--folder", folder]),
      ...(owner === "person" && !isUsual(home) ? ["--home", home] : []),
    ],
  };
}

/** How to connect one agent, for people who do it themselves. */
export interface AgentSteps {
  /** The file as people name it: in the folder, or below `~`. */
  file: string;
  format: AgentClient["format"];
  /** What the file must contain. */
  snippet: string;
  /** A command that writes it, if the agent has one. */
  command: string | null;
  /** Set in the environment of the agent, if anything must be. */
  environment: string | null;
  next: string;
}

export function agentSteps(client: AgentClient, choices: AgentChoices): AgentSteps {
  const { owner, path, format, keys, adds, next } = client;
  const server = serverFor(client, choices);
  const entry = client.entry(server);
  return {
    file: owner === "person" ? `~/${path}` : path,
    format,
    snippet: format === "toml" ? tomlTable(keys, entry) : JSON.stringify(nested(keys, entry), null, 2),
    command: adds === undefined ? null : shellWords([...adds, server.command, ...server.args]),
    environment:
      owner === "project" && !isUsual(choices.home) ? shellWords([`SVC_HOME=${choices.home}`]) : null,
    next,
  };
}

function nested(keys: readonly string[], entry: Entry): object {
  return keys.reduceRight<object>((inner, key) => ({ [key]: inner }), entry);
}

/** A table of TOML without the newline at its end. */
export function tomlTable(keys: readonly string[], entry: Entry): string {
  const lines = Object.entries(entry).map(([name, value]) => `${name} = ${tomlValue(value)}`);
  return [`[${keys.join(".")}]`, ...lines].join("\n");
}

export function tomlValue(value: EntryValue): string {
  if (typeof value === "string") return tomlString(value);
  if (typeof value === "boolean") return String(value);
  if (isList(value)) return `[${value.map(tomlString).join(", ")}]`;
  const members = Object.entries(value).map(([name, text]) => `${name} = ${tomlString(text)}`);
  return `{ ${members.join(", ")} }`;
}

function isList(value: EntryValue): value is readonly string[] {
  return Array.isArray(value);
}
