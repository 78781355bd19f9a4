import assert from "node:assert/strict";
import { once } from "node:events";
import { chmodSync, existsSync, lstatSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createConnection, createServer } from "node:net";
import { dirname, join } from "node:path";
import {
  checkSocket,
  currentHost,
  type Host,
  prepareSocket,
  readNoted,
  readSocketKey,
  removeSocket,
  renewSocketKey,
  writeAddress,
} from "../../client/endpoint.ts";
import { type HomePaths, homePaths } from "../../client/paths.ts";
import type { FileStatus } from "../../platform/files.ts";
import { RealFiles } from "../../platform/real-files.ts";
import { RealRandom } from "../../platform/real-random.ts";
import { removeTemporaryDirectories, temporaryDirectory } from "./setting.ts";

const files = new RealFiles();
const random = new RealRandom();

function hostWith(change: Partial<Host>): Host {
  return { ...currentHost(), ...change };
}

function emptyHome(root = temporaryDirectory()): HomePaths {
  const paths = homePaths(root);
  mkdirSync(paths.daemon.directory, { recursive: true, mode: 0o700 });
  return paths;
}

/** A Home whose path is too long for a socket. */
function longHome(): HomePaths {
  return emptyHome(join(temporaryDirectory(), "deep".repeat(30)));
}

/** Files as another owner would have them: root alone could make real ones. */
class ForeignFiles extends RealFiles {
  readonly #foreign: string;

  constructor(foreign: string) {
    super();
    this.#foreign = foreign;
  }

  override stat(path: string): FileStatus | null {
    const status = super.stat(path);
    return status !== null && path === this.#foreign ? { ...status, uid: 54321 } : status;
  }
}

const insecure = { code: "insecure" };

describe("the socket's place", () => {
  after(removeTemporaryDirectories);

  it("is the Home's daemon directory, and a client may connect there", async () => {
    const paths = emptyHome();
    const socket = prepareSocket(files, random, currentHost(), paths);
    assert.equal(socket, paths.daemon.socket);
    const server = createServer().listen(socket);
    await once(server, "listening");
    checkSocket(files, currentHost(), socket);
    const connection = createConnection(socket);
    await once(connection, "connect");
    connection.destroy();
    server.close();
  });

  it("is a short one in the runtime directory for a Home with a long path, the same at every start", async () => {
    const runtimeDirectory = temporaryDirectory();
    const host = hostWith({ runtimeDirectory });
    const paths = longHome();
    const socket = prepareSocket(files, random, host, paths);
    assert.equal(dirname(socket), join(runtimeDirectory, "svc"));
    assert.equal(lstatSync(dirname(socket)).mode & 0o777, 0o700);
    assert.equal(prepareSocket(files, random, host, paths), socket);
    assert.notEqual(prepareSocket(files, random, host, longHome()), socket);
    const server = createServer().listen(socket);
    await once(server, "listening");
    assert.ok(existsSync(socket), "the path was cut");
    server.close();
  });

  it("is refused in a directory in /tmp that another uid made first", () => {
    const uid = 3_000_000 + process.pid;
    const directory = `/tmp/svc-${uid}`;
    const own = new ForeignFiles("");
    const host = hostWith({ runtimeDirectory: undefined, uid });
    try {
      // To the uid that the host claims, the directory belongs to another: the one that runs the
      // test.
      assert.throws(() => prepareSocket(own, random, host, longHome()), insecure);
      assert.equal(lstatSync(directory).mode & 0o777, 0o700);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });

  it("lies in a directory of this uid in /tmp without a runtime directory", () => {
    const directory = `/tmp/svc-${currentHost().uid}`;
    const before = existsSync(directory);
    try {
      const socket = prepareSocket(files, random, hostWith({ runtimeDirectory: undefined }), longHome());
      assert.equal(dirname(socket), directory);
      checkSocket(files, currentHost(), socket);
    } finally {
      if (!before) rmSync(directory, { recursive: true });
    }
  });

  it("counts bytes, not characters, with the limit of the system", () => {
    const runtimeDirectory = temporaryDirectory();
    const root = temporaryDirectory();
    const filler = 107 - Buffer.byteLength(join(root, "/daemon/socket")) - 1;
    const fits = emptyHome(join(root, "x".repeat(filler)));
    const linux = hostWith({ platform: "linux", runtimeDirectory });
    const darwin = hostWith({ platform: "darwin", runtimeDirectory });
    assert.equal(Buffer.byteLength(fits.daemon.socket), 107);
    assert.equal(prepareSocket(files, random, linux, fits), fits.daemon.socket);
    assert.notEqual(prepareSocket(files, random, darwin, fits), fits.daemon.socket);
    const wide = emptyHome(join(root, `${"x".repeat(filler - 1)}ä`));
    assert.notEqual(prepareSocket(files, random, linux, wide), wide.daemon.socket);
  });

  it("is a random pipe name on Windows", () => {
    const host = hostWith({ platform: "win32", uid: -1 });
    const pipe = prepareSocket(files, random, host, emptyHome());
    assert.match(pipe, /^\\\\\.\\pipe\\svc-[0-9a-f]{32}$/);
    assert.notEqual(pipe, prepareSocket(files, random, host, emptyHome()));
    checkSocket(files, host, pipe);
    assert.throws(() => checkSocket(files, host, "\\\\.\\pipe\\other"), insecure);
  });

  it("is refused by daemon and client when others may enter the directory", () => {
    const paths = emptyHome();
    const { socket, directory } = paths.daemon;
    for (const mode of [0o750, 0o705, 0o777]) {
      chmodSync(directory, mode);
      assert.throws(() => prepareSocket(files, random, currentHost(), paths), insecure);
      assert.throws(() => checkSocket(files, currentHost(), socket), insecure);
    }
    chmodSync(directory, 0o700);
    checkSocket(files, currentHost(), socket);
  });

  it("is refused when the directory is a link or another's", () => {
    const real = emptyHome();
    const paths = homePaths(temporaryDirectory());
    symlinkSync(real.daemon.directory, paths.daemon.directory);
    assert.throws(() => prepareSocket(files, random, currentHost(), paths), insecure);
    assert.throws(() => checkSocket(files, currentHost(), paths.daemon.socket), insecure);
    const foreign = new ForeignFiles(real.daemon.directory);
    assert.throws(() => checkSocket(foreign, currentHost(), real.daemon.socket), insecure);
  });

  it("is refused when another user's link lies on the way", () => {
    const paths = emptyHome();
    const link = join(temporaryDirectory(), "link");
    symlinkSync(paths.root, link);
    const through = homePaths(link).daemon.socket;
    checkSocket(files, currentHost(), through);
    assert.throws(() => checkSocket(new ForeignFiles(link), currentHost(), through), insecure);
  });

  it("never unlinks or trusts what isn't a socket of this user", async () => {
    const paths = emptyHome();
    const { socket } = paths.daemon;
    writeFileSync(socket, "a file");
    assert.throws(() => removeSocket(files, currentHost(), socket), insecure);
    rmSync(socket);
    const elsewhere = join(temporaryDirectory(), "socket");
    const server = createServer().listen(elsewhere);
    await once(server, "listening");
    symlinkSync(elsewhere, socket);
    assert.throws(() => checkSocket(files, currentHost(), socket), insecure);
    assert.throws(() => prepareSocket(files, random, currentHost(), paths), insecure);
    rmSync(socket);
    server.close();
    for (const path of ["socket", "", `/${"x".repeat(200)}`]) {
      assert.throws(() => checkSocket(files, currentHost(), path), insecure);
    }
  });
});

describe("key and address", () => {
  after(removeTemporaryDirectories);

  it("are owner-only, and null before the first daemon", async () => {
    const paths = emptyHome();
    assert.equal(readSocketKey(files, currentHost(), paths), null);
    assert.equal(readNoted(files, currentHost(), paths), null);
    const key = await renewSocketKey(files, random, paths);
    assert.equal(Buffer.from(key, "base64url").length, 32);
    assert.equal(readSocketKey(files, currentHost(), paths), key);
    assert.equal(lstatSync(paths.daemon.key).mode & 0o777, 0o600);
    const address = {
      pid: 1,
      version: "0.5.0",
      socket: paths.daemon.socket,
      web_origin: null,
      started_at: "2026-01-01T00:00:00.000Z",
    };
    await writeAddress(files, paths, address);
    assert.deepEqual(readNoted(files, currentHost(), paths)?.address, address);
    assert.equal(lstatSync(paths.daemon.address).mode & 0o777, 0o600);
  });

  it("are refused when others may read them, when they are links, another's or garbage", async () => {
    const paths = emptyHome();
    const key = await renewSocketKey(files, random, paths);
    chmodSync(paths.daemon.key, 0o640);
    assert.throws(() => readSocketKey(files, currentHost(), paths), insecure);
    chmodSync(paths.daemon.key, 0o600);
    assert.throws(() => readSocketKey(new ForeignFiles(paths.daemon.key), currentHost(), paths), insecure);
    rmSync(paths.daemon.key);
    const elsewhere = join(temporaryDirectory(), "key");
    writeFileSync(elsewhere, key, { mode: 0o600 });
    symlinkSync(elsewhere, paths.daemon.key);
    assert.throws(() => readSocketKey(files, currentHost(), paths), insecure);
    rmSync(paths.daemon.key);
    writeFileSync(paths.daemon.key, "short\n", { mode: 0o600 });
    assert.throws(() => readSocketKey(files, currentHost(), paths), { code: "corrupt" });
    for (const text of ["", "null", "[]", '{"pid":"1"}']) {
      writeFileSync(paths.daemon.address, text, { mode: 0o600 });
      assert.throws(() => readNoted(files, currentHost(), paths), { code: "corrupt" }, text);
    }
  });
});
