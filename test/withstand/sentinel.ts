/** A Group that attacks must leave alone: read before, and the same afterwards. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { homePaths } from "../../client/paths.ts";
import type { DaemonProcess } from "../support/daemon-process.ts";

export class Sentinel {
  readonly group_id: string;
  readonly token_file: string;
  readonly #daemon: DaemonProcess;
  readonly #pid: number;
  readonly #before: string;

  private constructor(daemon: DaemonProcess, group_id: string, token_file: string, before: string) {
    this.#daemon = daemon;
    this.#pid = daemon.pid;
    this.group_id = group_id;
    this.token_file = token_file;
    this.#before = before;
  }

  static async stand(daemon: DaemonProcess): Promise<Sentinel> {
    const client = daemon.client();
    const group = await client.result("group_create", { title: "sentinel" });
    const { group_id } = group;
    const { token_file } = await client.result("actor_add", { group_id, actor_id: "watch" });
    await client.result("send", { group_id, to: ["user"], text: "before the attack" });
    return new Sentinel(daemon, group_id, token_file, await picture(daemon, group_id));
  }

  /**
   * The same process still answers, the ledger is as it was, and the daemon met nothing that it
   * didn't expect.
   */
  async check(): Promise<void> {
    const client = this.#daemon.client();
    const { pid } = await client.result("daemon_status", {});
    assert.equal(pid, this.#pid, "the daemon is another one");
    assert.equal(await picture(this.#daemon, this.group_id), this.#before);
    const { problems } = await client.result("ledger_verify", { group_id: this.group_id });
    assert.deepEqual(problems, []);
    const log = this.#daemon.output + readLog(this.#daemon.home);
    const unexpected = log.split("\n").filter((line) => /"unexpected"|Unhandled|uncaught/.test(line));
    assert.deepEqual(unexpected, []);
  }
}

async function picture(daemon: DaemonProcess, group_id: string): Promise<string> {
  const client = daemon.client();
  const { events } = await client.result("ledger_tail", { group_id, limit: 200 });
  const group = await client.result("group_show", { group_id });
  return JSON.stringify({ events, group });
}

function readLog(home: string): string {
  try {
    return readFileSync(homePaths(home).daemon.log, "utf8");
  } catch {
    return "";
  }
}
