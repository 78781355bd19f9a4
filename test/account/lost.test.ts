/** An account service whose key or store is lost doesn't begin again as a new one. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { freePort } from "../../demo/free-port.ts";
import { freshDatabase } from "./postgres.ts";
import { ServiceProcess } from "./service-process.ts";

const HUGE = 10 * 1024 * 1024;
const replaced = (path: string, make: () => void) => {
  rmSync(path);
  make();
};
const LOSSES = {
  missing: (path: string) => rmSync(path),
  emptied: (path: string) => writeFileSync(path, ""),
  zeroed: (path: string) => writeFileSync(path, Buffer.alloc(statSync(path).size)),
  "zeroed at its beginning": (path: string) => zero(path, 0, 16),
  "zeroed at its end": (path: string) => zero(path, statSync(path).size * (2 / 3), statSync(path).size),
  "cut in half": (path: string) => truncateSync(path, Math.floor(statSync(path).size / 2)),
  "ten megabytes of something": (path: string) => writeFileSync(path, Buffer.alloc(HUGE, "something ")),
  "a directory": (path: string) => replaced(path, () => mkdirSync(path)),
  "a FIFO": (path: string) => replaced(path, () => execFileSync("mkfifo", [path])),
  "a link to /dev/zero": (path: string) => replaced(path, () => symlinkSync("/dev/zero", path)),
  "a link to nothing": (path: string) => replaced(path, () => symlinkSync("/nowhere/at/all", path)),
};

function zero(path: string, from: number, to: number): void {
  const bytes = readFileSync(path);
  writeFileSync(path, bytes.fill(0, Math.floor(from), to));
}

describe("an account service that has lost something", function () {
  this.timeout(120_000);
  let kept: string;
  let service: ServiceProcess;

  before(async () => {
    const first = new ServiceProcess({ port: await freePort(), database: null });
    await first.start();
    assert.equal(first.command("invite").status, 0);
    await first.end("SIGTERM");
    kept = `${first.folder}-kept`;
    renameSync(first.folder, kept);
  });
  after(() => rmSync(kept, { recursive: true, force: true }));
  beforeEach(async () => {
    service = new ServiceProcess({ port: await freePort(), database: null });
    cpSync(kept, service.folder, { recursive: true });
  });
  afterEach(() => service.dispose());

  /** Names of everything there, the log and SQLite's own files aside. */
  const files = () => readdirSync(service.folder).filter((name) => !/\.log$|-(?:wal|shm)$/u.test(name));

  for (const file of ["account.key", "account.sqlite"]) {
    for (const [how, lose] of Object.entries(LOSSES)) {
      it(`${file}, ${how}: says so, and makes nothing in its place`, () => {
        const path = join(service.folder, file);
        const bytes = readFileSync(path);
        lose(path);
        const before = files();
        const start = service.command();
        assert.equal(start.status, 1, start.stdout);
        assert.match(start.stderr, /^svc: .+/u);
        const said = start.stderr.replace(/^svc: /u, "");
        const doctor = service.command("doctor");
        assert.equal(doctor.status, 1);
        assert.ok(`${doctor.stdout}${doctor.stderr}`.includes(said), "'doctor' says the same");
        // Those who are let in need the key only where they type a code.
        if (file === "account.sqlite") assert.equal(service.command("invite").stderr, start.stderr);
        assert.doesNotMatch(start.stdout, /One-time link/u);
        assert.doesNotMatch(start.stderr, /at .+\(.+:\d+:\d+\)/u, "no stack");
        assert.deepEqual(files(), before);
        rmSync(path, { recursive: true, force: true });
        writeFileSync(path, bytes, { mode: 0o600 });
        assert.equal(service.command("members").status, 0, "put back, it goes on");
      });
    }
  }

  it("account.sqlite: names what is gone and what to do", () => {
    rmSync(join(service.folder, "account.sqlite"));
    const { stderr } = service.command();
    assert.ok(
      stderr.includes(`account.sqlite has been lost: there was an account service in ${service.folder}.`),
      stderr,
    );
    assert.match(stderr, /Put it back from a backup .*another --folder/u);
  });

  /** As an older version left it, which noted nothing. */
  const ofBefore = () => rmSync(join(service.folder, "account.begun"));

  for (const how of ["missing", "emptied"] as const) {
    it(`account.sqlite of a folder of before, ${how}: is missed beside its key`, () => {
      ofBefore();
      LOSSES[how](join(service.folder, "account.sqlite"));
      const before = files();
      for (const words of [[], ["invite"]] as const) {
        const { status, stdout, stderr } = service.command(...words);
        assert.equal(status, 1, stdout);
        assert.match(stderr, /account\.sqlite has been lost/u);
      }
      assert.deepEqual(files(), before);
    });
  }

  it("account.key of a folder of before, missing: is missed beside its store", () => {
    ofBefore();
    rmSync(join(service.folder, "account.key"));
    const before = files();
    const { status, stdout, stderr } = service.command();
    assert.equal(status, 1, stdout);
    assert.match(stderr, /account\.key isn't there, and the store belongs to a key\. Put it back/u);
    assert.deepEqual(files(), before);
  });

  it("goes on with a folder of before that has both, and notes it", async () => {
    ofBefore();
    const key = readFileSync(join(service.folder, "account.key"));
    await service.start();
    assert.deepEqual(readFileSync(join(service.folder, "account.key")), key);
    assert.ok(existsSync(join(service.folder, "account.begun")));
  });

  it("says that a key isn't one where there is no store", () => {
    ofBefore();
    rmSync(join(service.folder, "account.sqlite"));
    writeFileSync(join(service.folder, "account.key"), "nonsense");
    const { status, stderr } = service.command();
    assert.equal(status, 1);
    assert.match(stderr, /account\.key isn't a key of the account service/u);
  });

  it("doesn't begin anew on a database that knows nothing of it", () => {
    const database = freshDatabase();
    const { status, stderr } = service.command("--database", database);
    assert.equal(status, 1);
    assert.match(stderr, /knows nothing of the account service that began in .*svc account-service move/u);
    assert.ok(existsSync(join(service.folder, "account.sqlite")));
  });
});
