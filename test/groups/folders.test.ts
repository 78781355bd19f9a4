/** What a person who chooses a folder is shown of the machine. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { listFolders } from "../../daemon/groups/folders.ts";
import { RealProjectFiles } from "../../platform/real-project-files.ts";
import { LIMITS } from "../../shared/limits.ts";

describe("The folders of a folder", () => {
  let root: string;
  let projects: RealProjectFiles;
  beforeEach(() => {
    root = realpathSync(mkdtempSync(join(tmpdir(), "svc-folders-")));
    mkdirSync(join(root, "home", "groups"), { recursive: true });
    projects = new RealProjectFiles(join(root, "home"));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  const list = (path?: string, hidden = false) =>
    listFolders(projects, { ...(path === undefined ? {} : { path }), hidden });

  it("are its own ones by name: no files, no links, no Home, and hidden ones only when wanted", async () => {
    for (const name of ["b10", "b9", ".git", "A <img src=x>\n\u202e"]) mkdirSync(join(root, name));
    writeFileSync(join(root, "file"), "");
    symlinkSync("/", join(root, "link"));
    symlinkSync(join(root, "nowhere"), join(root, "dangling"));
    mkdirSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xe9])]));
    assert.deepEqual(await list(root), {
      path: root,
      parent: dirname(root),
      folders: ["A <img src=x>\n\u202e", "b9", "b10"],
      more: false,
    });
    assert.deepEqual((await list(root, true)).folders.includes(".git"), true);
    // A link is followed when it is named, and the answer says where it leads.
    symlinkSync(join(root, "b9"), join(root, "to b9"));
    assert.equal((await list(join(root, "to b9"))).path, join(root, "b9"));
    assert.deepEqual((await list("/")).parent, null);
    assert.equal((await list()).path, realpathSync(projects.ownFolder()));
  });

  it("are refused for what isn't a folder, isn't there, isn't absolute, or is in the Home", async () => {
    writeFileSync(join(root, "file"), "");
    for (const path of ["file", "nowhere", "home", "home/groups"])
      await assert.rejects(list(join(root, path)), { code: "invalid_project_root" }, path);
    for (const path of [".", "../", basename(root)])
      await assert.rejects(list(path), { code: "invalid_project_root" }, path);
  });

  it("are at most so many, and it says that there are more", async () => {
    const { listed, examined } = LIMITS.folder;
    let asked = 0;
    const many = Object.assign(Object.create(projects) as RealProjectFiles, {
      canonical: (path: string) => path,
      isDirectory: () => true,
      folders: async (_path: string, most: number) => {
        asked = most;
        return { names: Array.from({ length: listed + 1 }, (_, at) => `f${at}`), more: false };
      },
    });
    const { folders, more } = await listFolders(many, { path: root, hidden: false });
    assert.deepEqual([folders.length, more, asked], [listed, true, examined]);
    for (const name of ["1", "2", "3"]) mkdirSync(join(root, name));
    assert.equal((await projects.folders(root, 3)).more, true);
    assert.ok((await projects.folders(root, 3)).names.length <= 3);
    assert.equal((await projects.folders(root, 4)).more, false);
  });

  it("are refused when another folder has taken the place of the one that was looked at", async () => {
    mkdirSync(join(root, "project"));
    const swapping = Object.assign(Object.create(projects) as RealProjectFiles, {
      canonical: (path: string) => projects.canonical(path),
      isDirectory: (path: string) => projects.isDirectory(path),
      folders: async (path: string, most: number) => {
        const found = await projects.folders(path, most);
        rmSync(path, { recursive: true });
        symlinkSync("/", path);
        return found;
      },
    });
    await assert.rejects(listFolders(swapping, { path: join(root, "project"), hidden: false }), {
      code: "invalid_project_root",
    });
  });
});
