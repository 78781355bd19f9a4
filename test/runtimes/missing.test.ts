/** What an agent still needs, from the files of installations made here. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { missingFor, type Surroundings } from "../../daemon/runtimes/missing.ts";
import { RealFiles } from "../../platform/real-files.ts";
import { RealProjectFiles } from "../../platform/real-project-files.ts";

describe("What an agent needs before it can work", () => {
  let root: string;
  let project: string;
  beforeEach(() => {
    root = realpathSync(mkdtempSync(join(tmpdir(), "svc-missing-")));
    project = join(root, "work", "tree", "part");
    mkdirSync(project, { recursive: true });
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  const write = (path: string, content: unknown): void => {
    const file = join(root, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  };
  const missing = (runtime: "claude" | "codex" | "gemini", more: Partial<Surroundings> = {}) =>
    missingFor(runtime, {
      files: new RealFiles(),
      projects: new RealProjectFiles(join(root, "svc")),
      directory: project,
      hasKeychain: false,
      ...more,
      environment: { HOME: root, ...more.environment },
    });

  it("is a login and trust where there is nothing yet, and only for agents whose files are known", () => {
    assert.deepEqual(missing("claude"), ["login", "trust"]);
    assert.deepEqual(missing("codex"), ["login", "trust"]);
    assert.deepEqual(missing("gemini"), []);
    assert.deepEqual(missing("claude", { directory: null }), ["login"]);
    assert.deepEqual(missing("claude", { hasKeychain: true }), ["trust"]);
    assert.deepEqual(missing("codex", { environment: { HOME: undefined } }), []);
  });

  it("isn't Claude's login once a file or a variable has one", () => {
    const isMissing = (more?: Partial<Surroundings>) => missing("claude", more).includes("login");
    for (const name of ["ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK"])
      assert.equal(isMissing({ environment: { [name]: "x" } }), false, name);
    assert.equal(isMissing({ environment: { ANTHROPIC_API_KEY: "" } }), true);
    for (const [path, content] of [
      [".claude.json", { oauthAccount: {} }],
      [".claude.json", { primaryApiKey: "x" }],
      [".claude/settings.json", { apiKeyHelper: "print" }],
      [".claude/settings.json", { env: { ANTHROPIC_AUTH_TOKEN: "x" } }],
      [".claude/.credentials.json", { claudeAiOauth: {} }],
    ] as const) {
      write(path, content);
      assert.equal(isMissing(), false, JSON.stringify(content));
      write(path, {});
      assert.equal(isMissing(), true);
    }
    write("other/.credentials.json", { claudeAiOauth: {} });
    assert.equal(isMissing({ environment: { CLAUDE_CONFIG_DIR: join(root, "other") } }), false);
  });

  it("isn't trust once the folder, or one above it in its work tree, is trusted", () => {
    const trusted = (path: string) =>
      write(".claude.json", { projects: { [path]: { hasTrustDialogAccepted: true } } });
    const trustedByCodex = (path: string) =>
      write(".codex/config.toml", `# x\n[projects.${JSON.stringify(path)}]\ntrust_level = "trusted"\n`);
    const inBoth = () => [missing("claude"), missing("codex")].map((all) => all.includes("trust"));
    for (const [path, isMissing] of [
      [project, false],
      [join(root, "work"), false],
      [join(root, "elsewhere"), true],
    ] as const) {
      trusted(path);
      trustedByCodex(path);
      assert.deepEqual(inBoth(), [isMissing, isMissing], path);
    }
    mkdirSync(join(root, "work", "tree", ".git"));
    for (const [path, isMissing] of [
      [join(root, "work", "tree"), false],
      [join(root, "work"), true],
    ] as const) {
      trusted(path);
      trustedByCodex(path);
      assert.deepEqual(inBoth(), [isMissing, isMissing], path);
    }
    write(".claude.json", { projects: { [project]: { hasTrustDialogAccepted: "yes" }, x: null } });
    write(".codex/config.toml", `# [projects.${JSON.stringify(project)}]\n`);
    assert.deepEqual(inBoth(), [true, true]);
  });

  it("isn't Codex's login once it has a key, a login or another provider", () => {
    const isMissing = () => missing("codex", { directory: null }).includes("login");
    write(".codex/auth.json", { OPENAI_API_KEY: "x" });
    assert.equal(isMissing(), false);
    write(".codex/auth.json", "{}");
    assert.equal(isMissing(), true);
    for (const line of ['model_provider = "mine"', 'cli_auth_credentials_store = "keyring"']) {
      write(".codex/config.toml", `${line}\n`);
      assert.equal(isMissing(), false, line);
    }
  });

  it("is nothing where the files can't be read or understood, and follows links to them", () => {
    for (const content of ["{", "[]", "null", "x".repeat(4 * 1024 * 1024 + 1)]) {
      write(".claude.json", content);
      assert.deepEqual(missing("claude"), [], content.slice(0, 5));
    }
    rmSync(join(root, ".claude.json"));
    mkdirSync(join(root, ".claude.json"));
    assert.deepEqual(missing("claude"), []);
    rmSync(join(root, ".claude.json"), { recursive: true });
    write("kept/claude.json", { oauthAccount: {} });
    symlinkSync(join(root, "kept", "claude.json"), join(root, ".claude.json"));
    assert.deepEqual(missing("claude"), ["trust"]);
    symlinkSync(join(root, "nowhere"), join(root, ".codex"));
    assert.deepEqual(missing("codex"), ["login", "trust"]);
  });
});
