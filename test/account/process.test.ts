/**
 * `svc account-service` as its operator runs it: a process of its own, from the bundles that ship.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "kysely";
import { moveStore } from "../../account/store/move.ts";
import type { StoreProblem } from "../../account/store/problem.ts";
import { openStore } from "../../account/store/store.ts";
import { freePort } from "../../demo/free-port.ts";
import { until } from "../support/until.ts";
import { insertMembers } from "./inserted.ts";
import { freshDatabase } from "./postgres.ts";
import { ask, KINDS, TestBrowser, TestDevice, TestInstance } from "./service.ts";
import { ServiceProcess } from "./service-process.ts";

const KILLS = 3;
/** Requests that are under way when the process is killed. */
const LOAD = 8;

describe("svc account-service", function () {
  this.timeout(120_000);

  it("curl alone walks the device grant by RFC 8628; the operator's commands see it", async () => {
    const service = new ServiceProcess({ port: await freePort(), database: null });
    try {
      const damaged = (file: string): string => {
        const folder = join(service.folder, `damaged-${file}`);
        mkdirSync(folder);
        writeFileSync(join(folder, file), "nonsense ".repeat(1000));
        return folder;
      };
      const early = service.command("doctor");
      assert.equal(early.status, 1);
      assert.match(early.stderr, /There is no account service in /u);
      assert.deepEqual(readdirSync(service.folder), []);
      await service.start();
      const beside = ["--folder", join(service.folder, "beside"), "--port", String(service.port)];
      const second = service.command(...beside);
      assert.equal(second.status, 1);
      assert.match(second.stderr, /^svc: Another program listens on this port, .* Choose another --port/mu);
      for (const [options, told] of [
        [
          [...beside, "--host", "203.0.113.9"],
          /^svc: The service can't listen on 203\.0\.113\.9, port \d+ \(EADDRNOTAVAIL\)\. /u,
        ],
        [
          [...beside, "--host", "300.1.1.1"],
          /^svc: The service can't listen on 300\.1\.1\.1, .* Choose another --host /u,
        ],
        [["--folder", "/dev/null"], /^svc: \/dev\/null can't be used \(EEXIST\)\. Choose another --folder/u],
        [
          [...beside, "--database", "postgres://user:password@[x"],
          /^svc: The address of the database isn't one\. Give postgres:\/\/USER@HOST\/NAME\.$/mu,
        ],
        [
          [...beside, "--database", "postgres://127.0.0.1:1/x"],
          /can't be used\. .* --database or SVC_ACCOUNT_DATABASE\.$/mu,
        ],
        [
          ["--folder", damaged("account.sqlite")],
          /^svc: The embedded database is damaged, or isn't one\. Restore a backup/u,
        ],
        [
          ["--folder", damaged("account.key")],
          /account\.key isn't a key of the account service\. Put back the one that was kept with/u,
        ],
      ] as const) {
        const refused = service.command(...options);
        assert.equal(refused.status, 1);
        assert.match(refused.stderr, told);
        assert.equal(refused.stderr.split("\n").length, 2, refused.stderr);
      }
      assert.equal(service.command("members").stdout, "There is no member yet.\n");
      assert.equal(service.command("devices").stdout, "There is no device yet.\n");
      await until("the link", () =>
        /One-time link: http:\/\/localhost:\d+\/join#[\w-]{43}\n/u.test(service.said),
      );
      const curl = (path: string, fields: Record<string, string>): Record<string, string> => {
        const data = Object.entries(fields).flatMap(([name, value]) => [
          "--data-urlencode",
          `${name}=${value}`,
        ]);
        const { stdout } = spawnSync("curl", ["-s", ...data, `${service.origin}${path}`], {
          encoding: "utf8",
        });
        return JSON.parse(stdout) as Record<string, string>;
      };
      const grant = curl("/v1/device/code", { client_id: "curl", scope: "", audience: "any" });
      assert.equal(
        grant["verification_uri_complete"],
        `${service.origin}/device?user_code=${grant["user_code"]}`,
      );
      const poll = {
        grant_type: "urn:ietf:params:oauth:grant-type:device_code",
        device_code: grant["device_code"]!,
        client_id: "curl",
      };
      assert.deepEqual(curl("/v1/device/token", poll), { error: "authorization_pending" });
      const browser = new TestBrowser(service.origin);
      await browser.submit("/login", "/login/development", { name: "Ada" });
      await browser.approve(grant["user_code"]!);
      const token = curl("/v1/device/token", poll);
      assert.deepEqual(Object.keys(token), ["access_token", "token_type", "device_id", "hostname"]);
      assert.deepEqual(curl("/v1/device/token", { ...poll, grant_type: "password" }), {
        error: "unsupported_grant_type",
      });
      assert.deepEqual(curl("/v1/device/token", { ...poll, device_code: "" }), { error: "invalid_request" });

      assert.equal((await ask(service.origin, "/health")).status, 200);
      assert.equal((await ask(service.origin, "/ready")).status, 200);
      const metrics = (await ask(service.origin, "/metrics")).body as string;
      assert.match(metrics, /^svc_account_user_codes_total\{outcome="approved"\} 1$/mu);
      assert.match(
        metrics,
        /^svc_account_request_seconds_count\{route="\/v1\/device\/token",status="400"\} 3$/mu,
      );
      const misled = await ask(service.origin, "/", { headers: { host: "evil.example" } });
      assert.equal(misled.status, 421);
      assert.match(misled.headers["content-security-policy"] as string, /^default-src 'none'/u);

      assert.match(service.command("members").stdout, /^Ada .* {2}1 {2,}[-0-9a-f]{36}$/mu);
      assert.match(service.command("devices").stdout, new RegExp(`  ${token["device_id"]}$`, "mu"));
      assert.ok(service.command("invite").stdout.startsWith(`${service.origin}/join#`));
      assert.equal(service.command("doctor").status, 0);
      const copy = join(service.folder, "copy.sqlite");
      assert.equal(service.command("backup", copy).status, 0);
      assert.equal(statSync(copy).mode & 0o777, 0o600);
      for (const [file, words] of [
        [copy, /^svc: There is something at .*copy\.sqlite already\. Choose another file\.$/mu],
        [join(service.folder, "nowhere", "copy"), /copy can't be written\./u],
      ] as const) {
        const failed = service.command("backup", file);
        assert.equal(failed.status, 1);
        assert.match(failed.stderr, words);
      }
      assert.equal(service.command("retire", token["device_id"]!).status, 0);
      const headers = { authorization: `Bearer ${token["access_token"]}` };
      assert.equal((await ask(service.origin, "/v1/device", { headers })).body.disabled, true);
      const unknown = service.command("retire", "nothing");
      assert.deepEqual([unknown.status, unknown.stdout], [1, ""]);
      assert.match(unknown.stderr, /There is no such device\./u);
      assert.equal(await service.end("SIGTERM"), 0);
    } finally {
      await service.dispose();
    }
  });

  it("leaves everything in one file when it stops, as its commands do, and copies of it are whole", async () => {
    const service = new ServiceProcess({ port: await freePort(), database: null });
    const copies: string[] = [];
    /** The members, as a service has them that has nothing but the database and the key. */
    const membersOfCopy = async (): Promise<string> => {
      const folder = mkdtempSync(join(tmpdir(), "svc-account-"));
      copies.push(folder);
      for (const file of ["account.sqlite", "account.key"])
        copyFileSync(join(service.folder, file), join(folder, file));
      const copy = new ServiceProcess({ port: await freePort(), database: null, folder });
      try {
        await copy.start();
        assert.doesNotMatch(copy.said, /One-time link/u);
        return copy.command("members").stdout;
      } finally {
        await copy.end("SIGKILL");
      }
    };
    try {
      await service.start();
      const ada = new TestBrowser(service.origin);
      await ada.submit("/login", "/login/development", { name: "Ada" });
      assert.equal(await service.end("SIGTERM"), 0);
      assert.match(await membersOfCopy(), /Ada/u);
      await service.start();
      const grace = new TestBrowser(service.origin);
      await grace.submit("/login", "/login/development", { name: "Grace" });
      await service.end("SIGKILL");
      // A command is the only one that opens the store now.
      assert.match(service.command("members").stdout, /Grace/u);
      assert.match(await membersOfCopy(), /Ada[^]*Grace/u);
    } finally {
      await service.dispose();
      for (const folder of copies) rmSync(folder, { recursive: true, force: true });
    }
  });

  it("isn't ready while its database takes no writes", async () => {
    const service = new ServiceProcess({ port: await freePort(), database: null });
    try {
      await service.start();
      const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
      const beside = await openStore({ folder: service.folder, database: null, log });
      try {
        await sql`create trigger shut before update on settings begin select raise(fail, 'shut'); end`.execute(
          beside.db,
        );
        // The first one makes the row.
        assert.equal((await ask(service.origin, "/ready")).status, 200);
        const { status, body } = await ask(service.origin, "/ready");
        assert.deepEqual([status, body], [503, { ok: false, reason: "The database can't be used." }]);
        assert.equal((await ask(service.origin, "/health")).status, 200);
        await sql`drop trigger shut`.execute(beside.db);
      } finally {
        await beside.close();
      }
      assert.equal((await ask(service.origin, "/ready")).status, 200);
    } finally {
      await service.dispose();
    }
  });

  it("says at its start what would keep members out", async () => {
    const port = await freePort();
    for (const [origin, told] of [
      [`http://127.0.0.1:${port}`, /^svc: Passkeys don't work under an IP address \(127\.0\.0\.1\)\. /mu],
      ["https://account.example/", /^svc: All requests seem to come from the proxy .* --proxies /mu],
    ] as const) {
      const service = new ServiceProcess({ port, database: null, origin, proxies: 0 });
      try {
        await service.start();
        await until("the warning", () => told.test(service.said));
      } finally {
        await service.dispose();
      }
    }
  });

  it("moves to PostgreSQL with everything that it has, once", async () => {
    const service = new ServiceProcess({ port: await freePort(), database: null });
    try {
      await service.start();
      const ada = new TestBrowser(service.origin);
      await ada.submit("/login", "/login/development", { name: "Ada" });
      const device = new TestDevice(service);
      const grant = await device.ask();
      await ada.approve(grant.user_code);
      await device.fetchToken(grant.device_code);
      const instance = new TestInstance();
      assert.equal((await device.register(instance)).status, 200);
      assert.equal(await service.end("SIGTERM"), 0);
      const unnamed = service.command("move");
      assert.equal(unnamed.status, 1);
      assert.match(unnamed.stderr, /No PostgreSQL is named/u);

      const database = freshDatabase();
      service.environment["SVC_ACCOUNT_DATABASE"] = database;
      const moved = service.command("move");
      assert.equal(moved.status, 0, moved.stderr);

      // A device that is retired from now on is still active in the embedded database.
      delete service.environment["SVC_ACCOUNT_DATABASE"];
      const wrong = /was moved to PostgreSQL at .*Name the PostgreSQL with --database/u;
      await assert.rejects(service.start(), wrong);
      service.environment["SVC_ACCOUNT_DATABASE"] = database;
      await service.start();
      const { status, body } = await device.directory();
      assert.equal(status, 200);
      assert.equal(body.instances[0].instance_id, instance.instance_id);
      assert.equal((await ada.get("/")).status, 200);
      assert.match((await ada.get("/security")).body as string, /Ada/u);
      assert.equal(await service.end("SIGTERM"), 0);
      const again = service.command("move");
      assert.equal(again.status, 1);
      assert.match(again.stderr, wrong);
    } finally {
      await service.dispose();
    }
  });

  it("moves to no database in use, and says when the embedded one could still be started", async () => {
    const folder = mkdtempSync(join(tmpdir(), "svc-account-"));
    const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
    const from = await openStore({ folder, database: null, log });
    const to = await openStore({ folder, database: freshDatabase(), log });
    try {
      await insertMembers(to.db, 1);
      await assert.rejects(moveStore(from, to, "now"), /^StoreProblem: The database isn't empty\./u);
      await to.db.deleteFrom("members").execute();
      const [member] = await insertMembers(from.db, 1);
      await sql`create trigger full before insert on settings begin select raise(fail, 'full'); end`.execute(
        from.db,
      );
      await assert.rejects(
        moveStore(from, to, "now"),
        (error: StoreProblem) =>
          error.message.startsWith("Everything was copied, but") && error.remedy.startsWith("Never start"),
      );
      assert.deepEqual(await to.db.selectFrom("members").select("id").execute(), [{ id: member }]);
    } finally {
      await Promise.all([from.close(), to.close()]);
      rmSync(folder, { recursive: true });
    }
  });

  for (const kind of KINDS) {
    it(`loses and doubles no binding when it is killed under load, ${kind}`, async () => {
      const service = new ServiceProcess({
        port: await freePort(),
        database: kind === "postgres" ? freshDatabase() : null,
      });
      try {
        await service.start();
        const ada = new TestBrowser(service.origin);
        await ada.submit("/login", "/login/development", { name: "Ada" });
        const instances = Array.from({ length: LOAD }, () => new TestInstance());
        const devices: TestDevice[] = [];
        for (const _ of instances) {
          const device = new TestDevice(service);
          const grant = await device.ask();
          await ada.approve(grant.user_code);
          await device.fetchToken(grant.device_code);
          devices.push(device);
        }
        const confirmed = new Map<string, string>();
        for (let kill = 1; kill <= KILLS; kill += 1) {
          const before = confirmed.size;
          const load = devices.map(async (device, index) => {
            const origin = `https://kill${kill}-${index}.example`;
            const registered = await device
              .register(instances[index]!, { public_origin: origin })
              .catch(() => null);
            if (registered?.status === 200) confirmed.set(device.id, origin);
          });
          if (before === 0) await until("something is confirmed", () => confirmed.size > 0);
          await service.end("SIGKILL");
          await Promise.all(load);
          await service.start();
          const { body } = await devices[0]!.directory();
          const listed = new Map<string, string>(
            body.instances.map((entry: Record<string, string>) => [
              entry["device_id"],
              entry["public_origin"],
            ]),
          );
          assert.equal(listed.size, body.instances.length);
          for (const [device, origin] of confirmed) {
            const now = Number(/kill(\d+)-/u.exec(listed.get(device) ?? "")?.[1]);
            // What wasn't confirmed may have been written all the same, never the other way round.
            assert.ok(now >= Number(/kill(\d+)-/u.exec(origin)![1]), `${device} ${origin}`);
          }
        }
        assert.match(service.command("doctor").stdout, /No problems were found/u);
      } finally {
        await service.dispose();
      }
    });
  }
});
