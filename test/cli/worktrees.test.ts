/** A work tree of Git belongs to the Group of its repository, by whatever door one comes. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { groupsOfFolder } from "../../client/folder-groups.ts";
import type { Group } from "../../shared/model.ts";
import { DaemonProcess } from "../support/daemon-process.ts";
import { until } from "../support/until.ts";
import { collect, envelope, run, start } from "./svc.ts";

describe("work trees of Git", function () {
  this.timeout(180_000);
  let daemon: DaemonProcess;
  let folder: string;
  let count = 0;

  before(async () => {
    daemon = await DaemonProcess.started();
    folder = realpathSync(mkdtempSync(join(tmpdir(), "svc-worktrees-")));
  });
  after(async () => {
    await daemon?.dispose();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  });

  const git = (directory: string, ...args: string[]) =>
    execFileSync(
      "git",
      ["-c", "user.email=a@example.org", "-c", "user.name=a", "-c", "protocol.file.allow=always", ...args],
      // As in a hook of another repository.
      { cwd: directory, stdio: "pipe", env: { PATH: process.env["PATH"], HOME: folder } },
    );

  function place(): string {
    const made = join(folder, String((count += 1)));
    mkdirSync(made);
    return made;
  }

  function repository(path: string): string {
    mkdirSync(path, { recursive: true });
    git(path, "init", "-q", ".");
    git(path, "commit", "-q", "--allow-empty", "-m", "i");
    return path;
  }

  function worktree(of: string, path: string): string {
    git(of, "worktree", "add", "-q", path, "-b", `b${(count += 1)}`);
    return path;
  }

  async function attach(path: string): Promise<{ group_id: string; scope_key: string; created: boolean }> {
    return daemon.client().result("attach", { path });
  }

  async function groups(path: string): Promise<string[]> {
    const client = daemon.client();
    const { groups } = await client.result("group_list", {});
    return groupsOfFolder(client, groups, realpathSync(path));
  }

  it("belong where the same folder of the attached one does", async () => {
    const at = place();
    const main = repository(join(at, "main"));
    for (const name of ["one", "two"]) mkdirSync(join(main, name));
    const outside = worktree(main, join(at, "outside"));
    const inside = worktree(main, join(main, ".worktrees/inside"));
    const { group_id: whole } = await attach(main);
    const { group_id: part } = await attach(join(main, "one"));
    for (const path of [outside, inside]) {
      for (const name of ["one/deep", "two"]) mkdirSync(join(path, name), { recursive: true });
      assert.deepEqual(await groups(path), [whole]);
      assert.deepEqual(await groups(join(path, "two")), [whole]);
    }
    assert.deepEqual(await groups(join(outside, "one/deep")), [part]);
    symlinkSync(outside, join(at, "link"));
    assert.deepEqual(await groups(join(at, "link")), [whole]);
    // A repository inside goes with the folder around it, as in the main work tree.
    assert.deepEqual(await groups(repository(join(outside, "two/nested"))), [whole]);
    // The nearer one counts: a folder around everything is further away.
    const { group_id: around } = await attach(at);
    assert.deepEqual([await groups(outside), await groups(main)], [[whole], [whole]]);
    assert.deepEqual(await groups(repository(join(at, "other"))), [around]);
  });

  it("go with a main one that is only inside of what is attached", async () => {
    const [at, elsewhere] = [place(), place()];
    const main = repository(join(at, "main"));
    const { group_id: group } = await attach(at);
    assert.deepEqual(await groups(worktree(main, join(elsewhere, "tree"))), [group]);
  });

  it("belong to each other where the repository has no main one", async () => {
    const at = place();
    git(at, "clone", "-q", "--bare", repository(join(place(), "origin")), join(at, ".bare"));
    writeFileSync(join(at, ".git"), "gitdir: ./.bare\n");
    const one = worktree(at, join(at, "one"));
    const { group_id: group } = await attach(one);
    assert.deepEqual(await groups(worktree(at, join(at, "two"))), [group]);
    assert.deepEqual(await groups(at), []);
  });

  it("don't take submodules for their repository", async () => {
    const at = place();
    const library = repository(join(at, "library"));
    const main = repository(join(at, "main"));
    git(main, "submodule", "add", "-q", library, "sub");
    git(main, "commit", "-q", "-m", "sub");
    const sub = join(main, "sub");
    const other = worktree(sub, join(place(), "tree"));
    const { group_id: group } = await attach(main);
    assert.deepEqual([await groups(sub), await groups(other), await groups(library)], [[group], [], []]);
    const { group_id: own } = await attach(sub);
    assert.deepEqual([await groups(sub), await groups(other)], [[own], [own]]);
  });

  it("belong to no Group because a file says so that the repository doesn't confirm", async () => {
    const at = place();
    const main = repository(join(at, "main"));
    const tree = worktree(main, join(at, "tree"));
    const { group_id: group } = await attach(main);
    const own = join(main, ".git/worktrees/tree");
    for (const [name, write] of Object.entries<(path: string) => void>({
      "another's entry": (path) => writeFileSync(join(path, ".git"), `gitdir: ${own}\n`),
      "the repository itself": (path) => writeFileSync(join(path, ".git"), `gitdir: ${main}/.git\n`),
      "a link to it": (path) => symlinkSync(join(main, ".git"), join(path, ".git")),
      "a folder that shares it": (path) => {
        mkdirSync(join(path, ".git"));
        writeFileSync(join(path, ".git/commondir"), `${main}/.git\n`);
      },
      "an entry of its own": (path) => {
        mkdirSync(join(path, "entry"));
        writeFileSync(join(path, "entry/commondir"), `${main}/.git\n`);
        writeFileSync(join(path, "entry/gitdir"), `${path}/.git\n`);
        writeFileSync(join(path, ".git"), "gitdir: entry\n");
      },
      "a way around": (path) =>
        writeFileSync(join(path, ".git"), `gitdir: ${own}/../../../.git/worktrees/tree\n`),
      itself: (path) => symlinkSync(".git", join(path, ".git")),
      nothing: (path) => writeFileSync(join(path, ".git"), ""),
      garbage: (path) => writeFileSync(join(path, ".git"), Buffer.from("gitdir: \0\xff\n", "latin1")),
      "too much": (path) => writeFileSync(join(path, ".git"), `gitdir: ${own}${"/.".repeat(1024 * 1024)}\n`),
      "a place that is gone": (path) =>
        writeFileSync(join(path, ".git"), "gitdir: /nowhere/.git/worktrees/x\n"),
    })) {
      const path = place();
      write(path);
      assert.deepEqual(await groups(path), [], name);
      assert.equal((await attach(path)).created, true, name);
    }
    execFileSync("mkfifo", [join(place(), ".git")]);
    assert.deepEqual(await groups(join(folder, String(count))), []);
    assert.deepEqual(await groups(tree), [group]);
    // Git itself doesn't find the repository then, and does again once it is told.
    renameSync(main, join(at, "moved"));
    assert.deepEqual(await groups(tree), []);
    git(join(at, "moved"), "worktree", "repair", tree);
    const { group_id: moved } = await attach(join(at, "moved"));
    assert.deepEqual(await groups(tree), [moved]);
    renameSync(tree, join(at, "elsewhere"));
    assert.deepEqual(await groups(join(at, "elsewhere")), []);
    git(join(at, "moved"), "worktree", "repair", join(at, "elsewhere"));
    assert.deepEqual(await groups(join(at, "elsewhere")), [moved]);
  });

  it("are attached beside each other, and none takes another's place", async () => {
    const at = place();
    const main = repository(join(at, "main"));
    git(main, "remote", "add", "origin", "https://git.example.org/a/b.git");
    const tree = worktree(main, join(at, "tree"));
    const clone = repository(join(at, "clone"));
    git(clone, "remote", "add", "origin", "git@git.example.org:a/b.git");
    const { home } = daemon;
    await run(["attach"], { home, cwd: main });
    const { group_id: group, scope_key: key } = await attach(main);
    const second = await run(["attach"], { home, cwd: tree });
    assert.ok(second.out.includes(`Actors work in “${main}”, which stays attached`), second.out);
    const [, other] = /actor update ACTOR --scope (s_\w+)/u.exec(second.out) ?? [];
    const third = await attach(clone);
    const shown = async (): Promise<Record<string, string>> => {
      const { scopes } = envelope<Group>(await run(["group", "show", group, "--json"], { home })).result;
      return Object.fromEntries(scopes.map(({ path, scope_key: scopeKey }) => [path, scopeKey]));
    };
    assert.deepEqual([third.group_id, third.created], [group, false]);
    const all = { [main]: key, [tree]: other!, [clone]: third.scope_key };
    assert.equal(new Set(Object.values(all)).size, 3);
    assert.deepEqual(await shown(), all);
    // Again, nothing changes; and without the remote, a directory keeps its key.
    git(clone, "remote", "remove", "origin");
    for (const path of [main, tree, clone])
      assert.deepEqual(await attach(path), { group_id: group, scope_key: all[path], created: false });
    assert.deepEqual(await shown(), all);
    // What is gone has moved.
    rmSync(main, { recursive: true });
    const moved = repository(join(at, "moved"));
    git(moved, "remote", "add", "origin", "https://git.example.org/a/b.git");
    assert.deepEqual(await attach(moved), { group_id: group, scope_key: key, created: false });
    assert.deepEqual(await shown(), { [moved]: key, [tree]: other, [clone]: third.scope_key });
  });

  it("are served by `svc mcp --as`, in a hook of another repository, too", async () => {
    const at = place();
    const main = repository(join(at, "main"));
    const tree = worktree(main, join(at, "tree"));
    const { group_id: group } = await attach(main);
    await daemon.client().result("actor_add", { group_id: group, actor_id: "claude", runner: "external" });
    const env = { GIT_DIR: join(repository(join(at, "other")), ".git"), GIT_WORK_TREE: join(at, "other") };
    const mcp = start(["mcp", "--as", "claude"], { home: daemon.home, cwd: tree, env });
    const said = collect(mcp);
    const info = { capabilities: {}, clientInfo: { name: "x", version: "1" } };
    for (const message of [
      { id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", ...info } },
      { method: "notifications/initialized" },
      { id: 2, method: "tools/call", params: { name: "svc_bootstrap", arguments: {} } },
    ])
      mcp.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    await until("the tool answers", () => said.out.includes('"id":2'));
    mcp.kill();
    assert.ok(said.out.includes(group) && said.out.includes('\\"ok\\":true'), said.out);
    // The command line agrees.
    const shown = await run(["group", "show", "--json"], { home: daemon.home, cwd: tree, env });
    assert.equal(envelope<Group>(shown).result.group_id, group);
  });
});
