import assert from "node:assert/strict";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { homePaths, resolveHome } from "../../client/paths.ts";
import { type Home, openHome } from "../../daemon/home/home.ts";
import { HomeProblem } from "../../platform/problem.ts";
import { RealFiles } from "../../platform/real-files.ts";
import { verifies } from "../requirements.ts";
import { realDependencies, removeTemporaryDirectories, temporaryDirectory } from "./setting.ts";

async function opened<T>(root: string, use: (home: Home) => T | Promise<T>): Promise<T> {
  const home = await openHome(realDependencies(), root);
  try {
    return await use(home);
  } finally {
    home.lock.release();
  }
}

function modes(root: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of ["", ...(readdirSync(root, { recursive: true }) as string[])]) {
    found[name] = (statSync(join(root, name)).mode & 0o777).toString(8);
  }
  return found;
}

describe("a Home", () => {
  after(removeTemporaryDirectories);

  it("is where SVC_HOME says, else ~/.svc", () => {
    verifies("ID-002");
    assert.equal(resolveHome({ SVC_HOME: "/a/b" }), "/a/b");
    assert.equal(resolveHome({ SVC_HOME: "a" }), join(process.cwd(), "a"));
    assert.equal(resolveHome({ SVC_HOME: "" }), join(homedir(), ".svc"));
    assert.equal(resolveHome({}), join(homedir(), ".svc"));
  });

  for (const umask of [0, 0o077, 0o777]) {
    it(`is made with 0700 and 0600 under umask ${umask.toString(8)}, with all above it that is missing`, async () => {
      const root = join(temporaryDirectory(), "not", "yet", "there");
      const before = process.umask(umask);
      try {
        await opened(root, () => {
          for (const [name, mode] of Object.entries(modes(root))) {
            const isDirectory = statSync(join(root, name)).isDirectory();
            assert.equal(mode, isDirectory ? "700" : "600", name);
          }
        });
      } finally {
        process.umask(before);
      }
      const { daemon, identity, settings, groups, secrets } = homePaths(root);
      for (const path of [daemon.lock, daemon.key, identity, settings, groups, secrets]) {
        assert.ok(existsSync(path), path);
      }
    });
  }

  it("keeps identity and settings over restarts, copies and moves", async () => {
    verifies("ID-007", "ID-008");
    const root = join(temporaryDirectory(), "home");
    const id = await opened(root, async (home) => {
      await home.settings.update((value) => ({
        ...value,
        remote_access: { provider: "manual", enabled: true, origin: "https://x.example" },
      }));
      return home.identity.instance_id;
    });
    const bytes = readFileSync(homePaths(root).identity);
    assert.equal(await opened(root, (home) => home.identity.instance_id), id);
    const moved = join(temporaryDirectory(), "moved");
    renameSync(root, moved);
    await opened(moved, (home) => {
      assert.equal(home.identity.instance_id, id);
      assert.equal(home.settings.value.remote_access.origin, "https://x.example");
    });
    assert.deepEqual(readFileSync(homePaths(moved).identity), bytes);
  });

  it("tightens what is open to others and says so", async () => {
    const root = temporaryDirectory();
    await opened(root, ({ tightened }) => assert.deepEqual(tightened, []));
    const paths = homePaths(root);
    chmodSync(root, 0o755);
    chmodSync(paths.daemon.directory, 0o770);
    chmodSync(paths.identity, 0o644);
    await opened(root, ({ tightened }) => {
      assert.deepEqual(tightened, [root, paths.daemon.directory, paths.identity]);
    });
    assert.ok(Object.values(modes(root)).every((mode) => mode === "700" || mode === "600"));
  });

  it("refuses links and strange entries in its places, with a remedy", async () => {
    const real = temporaryDirectory();
    await opened(real, () => undefined);
    const link = join(temporaryDirectory(), "link");
    symlinkSync(real, link);
    await assert.rejects(openHome(realDependencies(), link), { code: "insecure" });
    await assert.rejects(
      openHome(realDependencies(), "/dev/null"),
      /It is a device, pipe or socket, not a directory\./,
    );
    for (const name of ["daemon", "groups", "secrets", "settings.json", "group_bridge_identity_key.yaml"]) {
      const root = join(temporaryDirectory(), "home");
      cpSync(real, root, { recursive: true });
      renameSync(join(root, name), join(root, "elsewhere"));
      symlinkSync(join(root, "elsewhere"), join(root, name));
      const error = await openHome(realDependencies(), root).then(
        () => assert.fail(`${name} was taken`),
        (problem: unknown) => problem,
      );
      assert.ok(
        error instanceof HomeProblem && error.code === "insecure" && /Replace it/.test(error.message),
      );
    }
  });

  it("refuses another owner's", async () => {
    const root = temporaryDirectory();
    const deps = realDependencies();
    const host = { ...deps.host, uid: 54321 };
    await assert.rejects(openHome({ ...deps, host }, root), { code: "insecure" });
    assert.deepEqual(readdirSync(root), []);
  });

  it("refuses a newer format and changes nothing", async () => {
    for (const change of [{ format: 2 }, { v: 2 }]) {
      const root = temporaryDirectory();
      await opened(root, () => undefined);
      const { settings } = homePaths(root);
      const newer = JSON.stringify({ ...JSON.parse(readFileSync(settings, "utf8")), ...change });
      writeFileSync(settings, newer);
      const before = modes(root);
      await assert.rejects(openHome(realDependencies(), root), { code: "unsupported_version" });
      assert.equal(readFileSync(settings, "utf8"), newer);
      assert.deepEqual(modes(root), before);
    }
  });

  it("refuses a corrupt identity, keeps its bytes and lets go of the lock", async () => {
    verifies("ID-021");
    const root = temporaryDirectory();
    mkdirSync(root, { recursive: true });
    const { identity } = homePaths(root);
    writeFileSync(identity, "garbage", { mode: 0o600 });
    for (let round = 0; round < 2; round += 1) {
      await assert.rejects(openHome(realDependencies(), root), { code: "corrupt" });
      assert.equal(readFileSync(identity, "utf8"), "garbage");
    }
    writeFileSync(identity, "", { mode: 0o600 });
    new RealFiles().unlink(identity);
    await opened(root, (home) => assert.ok(home.identity.instance_id.startsWith("12D3KooW")));
  });
});
