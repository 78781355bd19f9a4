/**
 * Every check of `.ci/run` fails on a fault that is planted for it, in a copy of the repository. A
 * check that can't fail guards nothing.
 */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What a planted module begins with. */
const HEADER = "/** Planted. */\n";

interface Gate {
  /** What `.ci/run` calls. */
  readonly command: readonly string[];
  /** Makes the fault. */
  plant(at: (path: string) => string): void;
  /** What the check says of it. */
  readonly says: RegExp;
}

const npm = (script: string) => ["npm", "run", "--silent", script];
const text = (path: string) => readFileSync(path, "utf8");

const GATES: Record<string, Gate> = {
  types: {
    command: npm("check:types"),
    plant: (at) =>
      writeFileSync(at("shared/planted-type.ts"), `${HEADER}export const planted: number = "";\n`),
    says: /shared\/planted-type\.ts.*TS2322/,
  },
  lint: {
    command: npm("check:lint"),
    plant: (at) =>
      writeFileSync(
        at("shared/planted-lint.ts"),
        `${HEADER}export function planted(work: Promise<void>): void {\n  work;\n}\n`,
      ),
    says: /shared\/planted-lint\.ts/,
  },
  format: {
    command: npm("check:format"),
    plant: (at) =>
      writeFileSync(at("shared/planted-format.ts"), `${HEADER}export const planted   = { a : 1 }\n`),
    says: /shared\/planted-format\.ts/,
  },
  "import rules, upwards": {
    command: npm("check:imports"),
    plant: (at) =>
      writeFileSync(at("shared/planted-import.ts"), `${HEADER}import "../daemon/home/home.ts";\n`),
    says: /shared\/planted-import\.ts -> daemon\/home\/home\.ts/,
  },
  "import rules, a circle of folders": {
    command: npm("check:imports"),
    plant(at) {
      for (const [from, to] of [
        ["one", "other"],
        ["other", "one"],
      ]) {
        const folder = at(`webview/planted-${from}`);
        mkdirSync(folder);
        writeFileSync(join(folder, "from.ts"), `${HEADER}import "../planted-${to}/to.ts";\n`);
        writeFileSync(join(folder, "to.ts"), `${HEADER}export {};\n`);
      }
    },
    says: /circle between folders: webview: .*planted-one, planted-other/,
  },
  "unused code": {
    command: npm("check:unused"),
    plant: (at) => writeFileSync(at("shared/planted-unused.ts"), `${HEADER}export const planted = 1;\n`),
    says: /shared\/planted-unused\.ts/,
  },
  "requirements, a row without a test": {
    command: npm("coverage:requirements"),
    plant: (at) =>
      appendFileSync(at("test/requirements.tsv"), "ZZ-998\tThe product does what nobody tests.\tby hand\n"),
    says: /without a test: ZZ-998/,
  },
  "requirements, an id without a row": {
    command: npm("coverage:requirements"),
    plant: (at) =>
      // In pieces: this file's text is searched too.
      appendFileSync(at("test/groups/recipients.test.ts"), ["\nverifies", `("ZZ-999");\n`].join("")),
    says: /no requirement: ZZ-999, cited in recipients\.test\.ts/,
  },
  "size budgets": {
    command: ["node", "esbuild.mjs"],
    plant(at) {
      const path = at("cli/main.ts");
      const long = Buffer.alloc(400 * 1024, "planted ").toString();
      writeFileSync(path, `${text(path)}\nglobalThis.name = ${JSON.stringify(long)};\n`);
    },
    says: /cli.*(?:budget|KiB)/,
  },
};

describe("each check of .ci/run", () => {
  let copy: string;
  const at = (path: string) => join(copy, path);

  before(() => {
    copy = mkdtempSync(join(tmpdir(), "svc-gates-"));
    const listed = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    const files = execFileSync("git", listed, { encoding: "utf8" });
    for (const path of files.split("\0").filter(Boolean)) cpSync(path, at(path));
    symlinkSync(join(process.cwd(), "node_modules"), at("node_modules"));
    for (const gate of Object.values(GATES)) gate.plant(at);
  });
  after(() => rmSync(copy, { recursive: true, force: true }));

  it("is among those that have a fault here", () => {
    const called = text(".ci/run").matchAll(/^step ".*" npm run --silent ((?:check|coverage):\w+)$/gm);
    const commands = new Set(Object.values(GATES).map(({ command }) => command.at(-1)));
    for (const [, script] of called) assert.ok(commands.has(script), script);
  });

  for (const [name, { command, says }] of Object.entries(GATES))
    it(`fails on a fault: ${name}`, () => {
      const [program, ...args] = command;
      const { status, stdout, stderr } = spawnSync(program!, args, { cwd: copy, encoding: "utf8" });
      assert.notEqual(status, 0);
      assert.match(stdout + stderr, says);
    });
});
