/** The account service under measurement: the shipped bundle on a filled store. */

import { type ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { freePort } from "../../demo/free-port.ts";
import { ENVIRONMENT } from "../../shared/names.ts";
import { registrationStatement } from "../../shared/wire/v1/signing.ts";
import { nodeFlags, requireBundles, SVC } from "../daemon.ts";
import { bytesFile, httpRequest, load } from "../native.ts";
import { plainEnvironment, start, stop } from "../processes.ts";
import type { FilledStore } from "./store.ts";

/** Requests name this host, whatever the port. */
const ORIGIN = "http://localhost";
const VERSION = "0.5.0";
/** Requests in flight. */
export const WIDTH = 8;

export class Service {
  readonly #child: ChildProcess;
  readonly #port: number;
  readonly #store: FilledStore;

  private constructor(child: ChildProcess, port: number, store: FilledStore) {
    this.#child = child;
    this.#port = port;
    this.#store = store;
  }

  static async started(store: FilledStore): Promise<Service> {
    await requireBundles();
    const port = await freePort();
    const served = ["--folder", store.folder, "--port", `${port}`, "--origin", ORIGIN];
    const args = [...nodeFlags(), SVC, "account-service", ...served];
    const database = store.database === null ? {} : { [ENVIRONMENT.accountDatabase]: store.database };
    const child = start(process.execPath, args, { env: plainEnvironment(database) });
    for (const deadline = performance.now() + 30_000; ; ) {
      const ready = await fetch(`http://127.0.0.1:${port}/ready`).catch(() => null);
      if (ready?.ok === true) return new Service(child, port, store);
      if (child.exitCode !== null || performance.now() > deadline)
        throw new Error("the service didn't start");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Directories a second, of all asking devices in turn. */
  directories(requests: number): Promise<number> {
    const texts = this.#store.asking.map(({ token }) =>
      httpRequest("GET", "/v1/connect/instances", headersOf(token)),
    );
    return this.#load(texts, requests);
  }

  /** Registrations a second. Each is a proof of its own device's instance. */
  registrations(requests: number): Promise<number> {
    const issuedAt = new Date().toISOString();
    const texts = this.#store.asking.map(({ id, token, instance }) => {
      const fields = {
        instance_id: instance.instance_id,
        public_key: instance.public_key,
        client_version: VERSION,
        public_origin: "https://one.example.org",
        issued_at: issuedAt,
      };
      const statement = registrationStatement({ account_origin: ORIGIN, device_id: id });
      const signature = instance.signText(Buffer.from(statement.material(fields)).toString("utf8"));
      const headers = { ...headersOf(token), "content-type": "application/json" };
      return httpRequest("POST", "/v1/connect/instances", headers, JSON.stringify({ ...fields, signature }));
    });
    return this.#load(texts, requests);
  }

  /** The devices go on asking in turn where the last load of this store ended. */
  async #load(texts: string[], requests: number): Promise<number> {
    const warmup = Math.ceil(requests / 10);
    const first = this.#store.turns.take(warmup + requests);
    const inTurn = [...texts.slice(first), ...texts.slice(0, first)];
    const request = bytesFile("requests", inTurn.join("\0"));
    return load({ socket: this.#port, protocol: "http", connections: WIDTH, warmup, requests, request });
  }

  memory(): number {
    return memoryOf(this.#child);
  }

  stop(): Promise<void> {
    return stop(this.#child);
  }
}

/** Resident memory in MiB. */
export function memoryOf({ pid }: ChildProcess): number {
  return Number(/^VmRSS:\s+(\d+) kB/mu.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]) / 1024;
}

function headersOf(token: string): Record<string, string> {
  return {
    authorization: `Bearer ${token}`,
    "svc-membership-version": "1",
    "svc-client-version": VERSION,
  };
}
