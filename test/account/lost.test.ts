/** An account service whose key or store is lost doesn't begin again as a new one. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../demo/free-port.ts";
import { freshDatabase } from "./postgres.ts";
import { ServiceProcess } from "./service-process.ts";

const LOSSES = {
  missing: (path: string) => rmSync(path),
  emptied: (path: string) => writeFileSync(path, ""),
  zeroed: (path: string) => writeFileSync(path, Buffer.alloc(readFileSync(path).length)),
  "a directory": (path: string) => {
    rmSync(path);
    mkdirSync(path);
  },
};

describe("an account service that has lost something", function () {
  this.timeout(120_000);
  let service: ServiceProcess;

  beforeEach(async () => {
    service = new ServiceProcess({ port: await freePort(), database: null });
    await service.start();
    assert.equal(service.command("invite").status, 0);
    await service.end("SIGTERM");
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
        for (const words of [[], ["invite"]] as const) {
          if (file === "account.key" && words.length > 0) continue;
          const { status, stdout, stderr } = service.command(...words);
          assert.equal(status, 1, stdout);
          assert.doesNotMatch(stdout, /One-time link|\/invite/u);
          assert.match(stderr, /^svc: .+/u);
          assert.doesNotMatch(stderr, /at .+\(.+:\d+:\d+\)/u, "no stack");
        }
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

  it("doesn't begin anew on a database that knows nothing of it", () => {
    const database = freshDatabase();
    const { status, stderr } = service.command("--database", database);
    assert.equal(status, 1);
    assert.match(stderr, /knows nothing of the account service that began in .*svc account-service move/u);
    assert.ok(existsSync(join(service.folder, "account.sqlite")));
  });
});
