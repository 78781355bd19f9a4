/**
 * A PostgreSQL of the tests' own: one cluster for the whole run, a fresh database for each
 * service.
 */
import { spawnSync } from "node:child_process";
import { chownSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";

const PACKAGES = "/usr/lib/postgresql";

interface Cluster {
  folder: string;
  admin: Client;
  stop(): void;
}

let cluster: Promise<Cluster> | null = null;
let databases = 0;

/** Debian keeps the programs of each version apart. */
function program(name: string): string {
  const [version] = readdirSync(PACKAGES).sort((a, b) => Number(b) - Number(a));
  return join(PACKAGES, version!, "bin", name);
}

/** PostgreSQL refuses to run as root. */
function owner(): { uid: number; gid: number } | Record<string, never> {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string): number =>
    Number(spawnSync("id", [flag, "postgres"], { encoding: "utf8" }).stdout);
  return { uid: id("-u"), gid: id("-g") };
}

function run(name: string, args: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync(program(name), args, {
    encoding: "utf8",
    cwd: "/",
    ...owner(),
  });
  if (status !== 0) throw new Error(`${name} ${args.join(" ")}\n${stdout}${stderr}`);
}

/** A cluster that listens on a socket in its own folder. Nothing in it survives a power cut. */
async function started(): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), "svc-postgres-"));
  const { uid, gid } = owner();
  if (uid !== undefined) chownSync(folder, uid, gid);
  const data = join(folder, "data");
  run("initdb", ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]);
  const options = [
    "-c listen_addresses=",
    `-c unix_socket_directories=${folder}`,
    "-c fsync=off -c full_page_writes=off -c max_connections=60 -c shared_buffers=32MB",
  ].join(" ");
  run("pg_ctl", ["-D", data, "-w", "-s", "-l", join(folder, "log"), "-o", options, "start"]);
  const stop = (): void => {
    spawnSync(program("pg_ctl"), ["-D", data, "-s", "-m", "immediate", "stop"], { cwd: "/", ...owner() });
    rmSync(folder, { recursive: true, force: true });
  };
  process.once("exit", stop);
  const admin = new Client({ connectionString: urlOf(folder, "postgres") });
  await admin.connect();
  // Keeps no test run alive.
  (admin as unknown as { connection: { stream: { unref(): void } } }).connection.stream.unref();
  return { folder, admin, stop };
}

function urlOf(folder: string, database: string): string {
  return `postgres://postgres@localhost/${database}?host=${encodeURIComponent(folder)}`;
}

/** The address of a fresh database. */
export async function freshDatabase(): Promise<string> {
  cluster ??= started();
  const { folder, admin } = await cluster;
  databases += 1;
  const name = `svc_${databases}`;
  await admin.query(`create database ${name}`);
  return urlOf(folder, name);
}
