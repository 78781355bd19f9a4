import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import * as fc from "fast-check";
import {
  createInScope,
  describeScope,
  normaliseRemote,
  openInScope,
  type Reach,
  reachOf,
} from "../../daemon/groups/scopes.ts";
import { originUrl } from "../../platform/git-config.ts";
import { RealProjectFiles } from "../../platform/real-project-files.ts";
import { Refusal } from "../../shared/errors.ts";
import type { Scope } from "../../shared/model.ts";
import { removeTemporaryDirectories, temporaryDirectory } from "../home/setting.ts";
import { verifies } from "../requirements.ts";

const home = temporaryDirectory();
const projects = new RealProjectFiles(home);

function project(files: Record<string, string> = {}): Scope {
  const root = temporaryDirectory();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(root, name, ".."), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return describeScope(projects, root);
}

/** Relative paths count from the first. */
function within(scopes: Scope[]): Reach {
  return { scopes, base: scopes[0] ?? null };
}

function read(scopes: Scope[], path: string): string {
  const opened = openInScope(projects, within(scopes), path);
  try {
    const bytes = new Uint8Array(opened.file.size());
    opened.file.read(bytes, 0);
    return Buffer.from(bytes).toString();
  } finally {
    opened.file.close();
  }
}

function code(expected: string): (error: unknown) => boolean {
  return (error) => error instanceof Refusal && error.code === expected;
}

describe("a remote's normal form", () => {
  const same = [
    "https://example.org/team/App.git",
    "https://example.org/team/App",
    "https://example.org/team/App/",
    "https://user:secret@EXAMPLE.org:443/team/App.git/",
    "http://example.org/team//App.git",
    "ssh://git@example.org/team/App.git",
    "ssh://git@example.org:22/team/App",
    "git+ssh://git@example.org/team/App.git",
    "git@example.org:team/App.git",
    "example.org:/team/App.git",
    "git://example.org:9418/team/App.git",
    "  git@Example.ORG:team/App.git\n",
  ];

  it("is the same for every way to write an address, and holds no credentials", () => {
    for (const url of same) assert.equal(normaliseRemote(url), "example.org/team/App", url);
  });

  it("tells different repositories apart", () => {
    const different = [
      "https://example.org/team/app",
      "https://example.org/other/App",
      "https://example.com/team/App",
      "https://example.org:8443/team/App",
      "file:///team/App",
      "/team/App.git",
    ].map(normaliseRemote);
    assert.ok(!different.includes("example.org/team/App"));
    assert.equal(new Set(different).size, different.length - 1);
    assert.equal(normaliseRemote("file://localhost/team/App.git"), normaliseRemote("/team/App"));
    assert.equal(normaliseRemote("ssh://git@[::1]:22/a/b"), "[::1]/a/b");
  });

  it("is null for what names no repository", () => {
    for (const url of [
      "",
      " ",
      "../sibling",
      "name",
      "C:\\repo",
      "https://",
      "https://host",
      "host:",
      "::",
    ]) {
      assert.equal(normaliseRemote(url), null, url);
    }
  });

  it("does not depend on scheme, user, password, case of the host, port by default, or ending", () => {
    const part = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_-]{0,8}$/);
    const host = fc.tuple(part, part).map(([name, domain]) => `${name}.${domain}`);
    const path = fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/"));
    const secret = fc.stringMatching(/^[A-Za-z0-9%._~-]{1,12}$/);
    fc.assert(
      fc.property(
        host,
        path,
        secret,
        fc.constantFrom("", "/", ".git", ".git/"),
        fc.constantFrom("ssh:22", "https:443", "http:80", "git:9418"),
        fc.boolean(),
        (name, where, password, ending, service, withPort) => {
          const [scheme, port] = service.split(":");
          const shown = withPort ? `${name.toUpperCase()}:${port}` : name;
          const long = normaliseRemote(`${scheme}://me:${password}@${shown}/${where}${ending}`);
          const short = normaliseRemote(`git@${name}:${where}${ending}`);
          assert.equal(long, `${name.toLowerCase()}/${where}`);
          assert.equal(short, long);
        },
      ),
    );
  });

  it("never throws and never keeps what stands before an @ of the host", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        normaliseRemote(text);
        assert.ok(
          normaliseRemote(`https://me:pass-word@host.example/${text}`)?.includes("pass-word") !== true,
        );
      }),
    );
  });
});

describe("the origin in a Git configuration", () => {
  it("is found as git finds it", () => {
    const values = [
      "https://example.org/a.git",
      '"https://example.org/a b.git"',
      "https://example.org/a.git ; comment",
      "https://example.org/a.git # comment",
      '"https://example.org/a#b"',
      'https://example.org/"quoted part"/x',
      "https://example.org/a\\\n  /b",
      '"with \\"quotes\\" and \\\\"',
    ];
    const directory = temporaryDirectory();
    for (const value of values) {
      for (const section of [
        '[remote "origin"]',
        '[REMOTE "origin"] # c',
        '[remote "other"]\nurl = x\n[remote "origin"]',
      ]) {
        const text = `[core]\n\turl = no\n${section}\n\tfetch = +refs\n\tURL = ${value}\n[branch "x"]\n\turl = no\n`;
        writeFileSync(join(directory, "config"), text);
        const git = spawnSync("git", [
          "config",
          "--file",
          join(directory, "config"),
          "--get",
          "remote.origin.url",
        ]);
        assert.equal(git.status, 0, `${text}${git.stderr.toString()}`);
        assert.equal(originUrl(text), git.stdout.toString().replace(/\n$/, ""), text);
      }
    }
  });

  it("is null without one, whatever else stands there", () => {
    for (const text of [
      "",
      "[remote]\nurl = x\n",
      '[remote "Origin"]\nurl = x\n',
      '[remote "origin"]\n',
      "url = x",
      '[remote "origin"]\nurl =\n',
    ]) {
      assert.equal(originUrl(text), null, text);
    }
    fc.assert(fc.property(fc.string(), (text) => void originUrl(text)));
  });
});

describe("a scope", () => {
  it("is named after the remote of its Git work tree, from below and in worktrees too", () => {
    const root = temporaryDirectory();
    const git = (...given: string[]) => {
      const { status, stderr } = spawnSync(
        "git",
        ["-c", "user.name=t", "-c", "user.email=t@example.org", ...given],
        {
          cwd: root,
        },
      );
      assert.equal(status, 0, stderr.toString());
    };
    git("init", "-q");
    git("remote", "add", "origin", "https://me:secret@example.org/team/app.git");
    git("commit", "-q", "--allow-empty", "-m", "first");
    const worktree = join(temporaryDirectory(), "tree");
    git("worktree", "add", "-q", worktree);
    mkdirSync(join(root, "sub"));
    const key = `s_${createHash("sha256").update("example.org/team/app").digest("hex").slice(0, 12)}`;
    for (const path of [root, worktree, join(root, "sub")]) {
      const scope = describeScope(projects, path);
      assert.equal(scope.scope_key, key, path);
      assert.equal(scope.git_remote, "example.org/team/app");
      assert.equal(scope.path, path);
    }
  });

  it("is named after its real path without a remote", () => {
    const root = temporaryDirectory();
    const link = join(temporaryDirectory(), "link");
    symlinkSync(root, link);
    const key = `s_${createHash("sha256").update(root).digest("hex").slice(0, 12)}`;
    assert.deepEqual(describeScope(projects, link), {
      scope_key: key,
      path: root,
      label: root.split("/").at(-1),
      git_remote: null,
    });
  });

  it("has no label that misleads the eye", () => {
    const root = join(temporaryDirectory(), "evil\u202etxt");
    mkdirSync(root);
    const scope = describeScope(projects, root);
    assert.equal(scope.label, scope.scope_key);
  });

  it("must be an existing directory outside the Home, by an absolute path", () => {
    const { path } = project({ "file.txt": "" });
    mkdirSync(join(home, "groups"), { recursive: true });
    for (const bad of [join(path, "file.txt"), join(path, "none"), ".", "", home, join(home, "groups")]) {
      assert.throws(() => describeScope(projects, bad), code("invalid_project_root"), bad);
    }
  });
});

describe("a file in a scope", () => {
  after(removeTemporaryDirectories);

  it("opens by relative or absolute path, through links inside", () => {
    const scope = project({ "a/b.txt": "hello" });
    symlinkSync(join(scope.path, "a"), join(scope.path, "inside"));
    assert.equal(read([scope], "a/b.txt"), "hello");
    assert.equal(read([scope], join(scope.path, "a/b.txt")), "hello");
    assert.equal(read([scope], "inside/../a/./b.txt"), "hello");
    const opened = openInScope(projects, within([scope]), "inside/b.txt");
    opened.file.close();
    assert.deepEqual(
      [opened.name, opened.path, opened.scope_key],
      ["b.txt", join(scope.path, "a/b.txt"), scope.scope_key],
    );
  });

  it("opens in any of the scopes by absolute path", () => {
    const [one, other] = [project(), project({ "x.txt": "x" })];
    assert.equal(read([one, other], join(other.path, "x.txt")), "x");
    assert.throws(() => read([one], join(other.path, "x.txt")), code("invalid_path"));
    assert.throws(() => read([], "x.txt"), code("scope_not_attached"));
  });

  it("counts relative paths from the Actor's project, else from the active one, and never from another", () => {
    const [first, active, own] = [project({ x: "1" }), project({ x: "2" }), project({ x: "3" })];
    const record = { scopes: [first, active, own], active_scope_key: active.scope_key };
    const text = (reach: Reach): string => {
      const { file } = openInScope(projects, reach, "x");
      const bytes = Buffer.alloc(1);
      file.read(bytes, 0);
      file.close();
      return bytes.toString();
    };
    assert.equal(text(reachOf(record, null)), "2");
    assert.equal(text(reachOf(record, { scope_key: null })), "2");
    assert.equal(text(reachOf(record, { scope_key: own.scope_key })), "3");
    const unset = reachOf({ ...record, active_scope_key: null }, null);
    assert.throws(() => text(unset), code("scope_not_attached"));
    const gone = reachOf(record, { scope_key: "s_000000000000" });
    assert.throws(() => createInScope(projects, gone, "y"), code("scope_not_attached"));
  });

  it("is refused outside, by any way out", () => {
    verifies("MSG-063");
    const outside = project({ "secret.txt": "secret" });
    const scope = project({ "file.txt": "" });
    symlinkSync(join(outside.path, "secret.txt"), join(scope.path, "link.txt"));
    symlinkSync(outside.path, join(scope.path, "directory"));
    symlinkSync("/proc/self/root", join(scope.path, "magic"));
    mkdirSync(`${scope.path}-sibling`);
    writeFileSync(`${scope.path}-sibling/x.txt`, "x");
    for (const path of [
      join(outside.path, "secret.txt"),
      `../${outside.path.split("/").at(-1)}/secret.txt`,
      "link.txt",
      "directory/secret.txt",
      `magic${outside.path}/secret.txt`,
      `${scope.path}-sibling/x.txt`,
      "/etc/passwd",
      "none.txt",
      ".",
      "",
      "file.txt\u0000",
      "file.txt/below",
    ]) {
      assert.throws(() => read([scope], path), code("invalid_path"), path);
    }
    rmSync(`${scope.path}-sibling`, { recursive: true });
  });

  it("is refused when it is no regular file, and nobody waits for a pipe", () => {
    const scope = project();
    mkdirSync(join(scope.path, "directory"));
    assert.equal(spawnSync("mkfifo", [join(scope.path, "pipe")]).status, 0);
    for (const path of ["directory", "pipe"]) {
      assert.throws(() => read([scope], path), code("invalid_path"), path);
    }
  });

  it("is refused in the Home, even when a scope contains it", () => {
    const scope = { ...project(), path: join(home, "..") };
    writeFileSync(join(home, "secret"), "secret");
    assert.throws(() => read([scope], join(home, "secret")), code("invalid_path"));
    assert.throws(() => createInScope(projects, within([scope]), join(home, "new")), code("invalid_path"));
  });

  it("is refused when the scope's directory was replaced by a link", () => {
    const scope = project({ "x.txt": "x" });
    renameSync(scope.path, `${scope.path}-moved`);
    symlinkSync(`${scope.path}-moved`, scope.path);
    assert.throws(() => read([scope], "x.txt"), code("invalid_path"));
    rmSync(scope.path);
    rmSync(`${scope.path}-moved`, { recursive: true });
  });

  it("never opens what a link that is swapped in meanwhile leads to", async function () {
    verifies("MSG-063");
    const outside = project({ "file.txt": "secret" });
    const scope = project({ "real/file.txt": "mine", "place/file.txt": "mine" });
    // A thread that swaps the directory and a link out of the scope as fast as it can.
    const worker = new Worker(
      `const { renameSync, symlinkSync } = require("node:fs");
       const { workerData: { root, outside } } = require("node:worker_threads");
       symlinkSync(outside, root + "/link");
       for (;;) {
         renameSync(root + "/place", root + "/aside");
         renameSync(root + "/link", root + "/place");
         renameSync(root + "/place", root + "/link");
         renameSync(root + "/aside", root + "/place");
       }`,
      { eval: true, workerData: { root: scope.path, outside: outside.path } },
    );
    let mine = 0;
    let refused = 0;
    try {
      const end = performance.now() + 60_000;
      while ((mine < 200 || refused < 200) && performance.now() < end) {
        try {
          assert.equal(read([scope], "place/file.txt"), "mine");
          mine += 1;
        } catch (error) {
          assert.ok(error instanceof Refusal && error.code === "invalid_path", String(error));
          refused += 1;
        }
        if ((mine + refused) % 64 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
    } finally {
      await worker.terminate();
    }
    assert.ok(mine > 0 && refused > 0, `${mine} opened, ${refused} refused: the race never happened`);
  });

  it("is made anew with mode 0600, over nothing and through no link", () => {
    const outside = project();
    const scope = project({ "there.txt": "old" });
    const made = createInScope(projects, within([scope]), "new.txt");
    made.file.write(Buffer.from("new"), 0);
    made.file.close();
    assert.equal(readFileSync(join(scope.path, "new.txt"), "utf8"), "new");
    assert.equal(statSync(join(scope.path, "new.txt")).mode & 0o777, 0o600);
    assert.throws(() => createInScope(projects, within([scope]), "there.txt"), code("already_exists"));
    symlinkSync(join(outside.path, "x.txt"), join(scope.path, "dangling.txt"));
    assert.throws(() => createInScope(projects, within([scope]), "dangling.txt"), Refusal);
    symlinkSync(outside.path, join(scope.path, "out"));
    assert.throws(() => createInScope(projects, within([scope]), "out/x.txt"), code("invalid_path"));
    for (const path of ["none/x.txt", "../x.txt", "..", "."]) {
      assert.throws(() => createInScope(projects, within([scope]), path), Refusal, path);
    }
  });
});
