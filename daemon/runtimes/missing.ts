/**
 * What an agent still needs before it can work: its login, and the trust in its folder. Read from
 * the files that Claude Code and Codex keep (docs/runtimes.md#what-is-missing-before-a-start);
 * nothing is run. Where the files don't say it for sure, nothing is missing.
 */
import { dirname, join } from "node:path";
import { readWhole } from "../../platform/durable.ts";
import type { Files } from "../../platform/files.ts";
import type { ProjectFiles } from "../../platform/project-files.ts";
import type { Runtime } from "../../shared/model.ts";

type Environment = Readonly<Record<string, string | undefined>>;

export interface Surroundings {
  files: Files;
  projects: Pick<ProjectFiles, "canonical">;
  /** What the process would get. */
  environment: Environment;
  /** Where it would run; null if that isn't known. */
  directory: string | null;
  /** The system keeps logins elsewhere than in files. */
  hasKeychain: boolean;
}

/** Larger files are somebody else's. */
const FILE_BYTES = 4 * 1024 * 1024;

const CLAUDE_LOGINS = [
  "ANTHROPIC_API_KEY",
  "ANTHROPIC_AUTH_TOKEN",
  "CLAUDE_CODE_OAUTH_TOKEN",
  "CLAUDE_CODE_USE_BEDROCK",
  "CLAUDE_CODE_USE_FOUNDRY",
  "CLAUDE_CODE_USE_VERTEX",
];
const CODEX_LOGINS = ["CODEX_API_KEY", "OPENAI_API_KEY"];

/** Settings of an organization, which may hold a login. */
const CLAUDE_MANAGED = "/etc/claude-code";

export function missingFor(runtime: Runtime, around: Surroundings): ("login" | "trust")[] {
  if (around.environment["HOME"] === undefined) return [];
  if (runtime === "claude") return claude(around);
  return runtime === "codex" ? codex(around) : [];
}

function claude(around: Surroundings): ("login" | "trust")[] {
  const { environment, directory, hasKeychain } = around;
  const own = environment["CLAUDE_CONFIG_DIR"];
  const home = environment["HOME"]!;
  const folder = own ?? join(home, ".claude");
  const state = textOf(around, join(own ?? home, ".claude.json"));
  const settings = textOf(around, join(folder, "settings.json"));
  const credentials = textOf(around, join(folder, ".credentials.json"));
  const known = objectOf(state);
  if (known === null || settings === undefined || credentials === undefined) return [];
  const isLoggedIn =
    hasKeychain ||
    isSet(environment, CLAUDE_LOGINS) ||
    exists(around, CLAUDE_MANAGED) ||
    (credentials !== null && credentials.trim() !== "" && credentials.trim() !== "{}") ||
    known["oauthAccount"] !== undefined ||
    known["primaryApiKey"] !== undefined ||
    // A helper that prints a key, or one of the variables above.
    ["apiKeyHelper", ...CLAUDE_LOGINS].some((name) => settings?.includes(`"${name}"`) === true);
  const projects = (known["projects"] ?? {}) as Record<string, { hasTrustDialogAccepted?: unknown } | null>;
  const isTrusted =
    directory === null ||
    isSet(environment, ["CLAUDE_CODE_SANDBOXED"]) ||
    upTo(around, directory).some((path) => projects[path]?.hasTrustDialogAccepted === true);
  return missing(isLoggedIn, isTrusted);
}

function codex(around: Surroundings): ("login" | "trust")[] {
  const { environment, directory } = around;
  const folder = environment["CODEX_HOME"] ?? join(environment["HOME"]!, ".codex");
  const auth = textOf(around, join(folder, "auth.json"));
  const config = textOf(around, join(folder, "config.toml"));
  if (auth === undefined || config === undefined) return [];
  const lines = (config ?? "").split("\n").map((line) => line.trim());
  const sets = (name: string) => lines.some((line) => line.startsWith(name));
  const isLoggedIn =
    (auth !== null && auth.trim() !== "" && auth.trim() !== "{}") ||
    isSet(environment, CODEX_LOGINS) ||
    // Another provider, or a login that the system keeps.
    sets("model_provider") ||
    sets("profile") ||
    sets("cli_auth_credentials_store");
  const isDecided = (path: string) =>
    [JSON.stringify(path), `'${path}'`].some((name) =>
      lines.some((line) => /^\[? *projects\b/.test(line) && line.includes(name)),
    );
  const isTrusted = directory === null || upTo(around, directory).some(isDecided);
  return missing(isLoggedIn, isTrusted);
}

function missing(isLoggedIn: boolean, isTrusted: boolean): ("login" | "trust")[] {
  return [...(isLoggedIn ? [] : ["login" as const]), ...(isTrusted ? [] : ["trust" as const])];
}

function isSet(environment: Environment, names: readonly string[]): boolean {
  return names.some((name) => (environment[name] ?? "") !== "");
}

/** The folder and those above it, up to the root of its work tree; all of them outside of one. */
function upTo(around: Surroundings, directory: string): string[] {
  const paths = [directory];
  for (let path = directory; !exists(around, join(path, ".git")); ) {
    const above = dirname(path);
    if (above === path) break;
    paths.push(above);
    path = above;
  }
  return paths;
}

function exists({ files }: Surroundings, path: string): boolean {
  try {
    return files.stat(path) !== null;
  } catch {
    return true;
  }
}

/** Null if there is no such file; undefined if it can't be read. Links are followed. */
function textOf({ files, projects }: Surroundings, path: string): string | null | undefined {
  try {
    if (files.stat(path) === null) return null;
    const canonical = projects.canonical(path);
    const status = canonical === null ? null : files.stat(canonical);
    if (canonical === null || status?.kind !== "file" || status.bytes > FILE_BYTES) return undefined;
    return readWhole(files, canonical)?.toString("utf8");
  } catch {
    return undefined;
  }
}

/** An empty object for a file that isn't there; null for one that can't be understood. */
function objectOf(text: string | null | undefined): Record<string, unknown> | null {
  if (text === null) return {};
  try {
    const value: unknown = JSON.parse(text ?? "");
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
