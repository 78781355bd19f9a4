/**
 * PostgreSQL of the tests' own: one cluster for a whole run with a fresh database for each service,
 * or a cluster that a test may end and start again.
 */
import { spawnSync } from "node:child_process";
import { chownSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const PACKAGES = "/usr/lib/postgresql";

/** Debian keeps the programs of each version apart. */
function program(name: string): string {
  const [version] = readdirSync(PACKAGES).sort((a, b) => Number(b) - Number(a));
  return join(PACKAGES, version!, "bin", name);
}

/** PostgreSQL and its poolers refuse to run as root. */
export function owner(): { uid: number; gid: number } | Record<string, never> {
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

export interface ClusterOptions {
  /** Where its folder is made. */
  parent?: string;
  /** Whether it syncs what it writes. Otherwise nothing in it survives a power cut. */
  isDurable?: boolean;
}

/** A cluster that listens on a socket in its own folder. */
export class Cluster {
  readonly #folder: string;
  readonly #isDurable: boolean;
  #databases = 0;

  private constructor(folder: string, isDurable: boolean) {
    this.#folder = folder;
    this.#isDurable = isDurable;
  }

  static started({ parent = tmpdir(), isDurable = false }: ClusterOptions = {}): Cluster {
    const folder = mkdtempSync(join(parent, "svc-postgres-"));
    const { uid, gid } = owner();
    if (uid !== undefined) chownSync(folder, uid, gid);
    const cluster = new Cluster(folder, isDurable);
    const made = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"];
    run("initdb", ["-D", cluster.#data, ...made, "--wal-segsize=1"]);
    process.once("exit", () => cluster.remove());
    cluster.start();
    return cluster;
  }

  get #data(): string {
    return join(this.#folder, "data");
  }

  start(): void {
    const options = [
      "-c listen_addresses=",
      `-c unix_socket_directories=${this.#folder}`,
      "-c max_connections=60 -c shared_buffers=32MB -c min_wal_size=2MB",
      ...(this.#isDurable ? [] : ["-c fsync=off -c full_page_writes=off"]),
    ].join(" ");
    run("pg_ctl", ["-D", this.#data, "-w", "-s", "-l", join(this.#folder, "log"), "-o", options, "start"]);
  }

  /** Starts it if it ended itself, as it does when it can't write its log. */
  revive(): void {
    const { status } = spawnSync(program("pg_ctl"), ["-D", this.#data, "status"], { cwd: "/", ...owner() });
    if (status !== 0) this.start();
  }

  /** `immediate` is as if its processes were killed. */
  stop(mode: "fast" | "immediate"): void {
    run("pg_ctl", ["-D", this.#data, "-s", "-w", "-m", mode, "stop"]);
  }

  remove(): void {
    spawnSync(program("pg_ctl"), ["-D", this.#data, "-s", "-m", "immediate", "stop"], {
      cwd: "/",
      ...owner(),
    });
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** The address of a fresh database. */
  database(): string {
    this.#databases += 1;
    const name = `svc_${this.#databases}`;
    run("createdb", ["-h", this.#folder, "-U", "postgres", name]);
    return `postgres://postgres@localhost/${name}?host=${encodeURIComponent(this.#folder)}`;
  }

  /** Writes a database to a file, as an operator's backup does; or takes it from there. */
  dump(url: string): void {
    run("pg_dump", ["-Fc", "-f", this.#backup, url]);
  }

  restore(url: string): void {
    run("pg_restore", ["--clean", "--if-exists", "-1", "-d", url, this.#backup]);
  }

  get #backup(): string {
    return join(this.#folder, "backup");
  }
}

let cluster: Cluster | null = null;

/** The address of a fresh database in the cluster of this run. */
export function freshDatabase(): string {
  cluster ??= Cluster.started();
  return cluster.database();
}
