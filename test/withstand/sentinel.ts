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

  private constructor(daemon: DaemonProcess, groupId: string, tokenFile: string, before: string) {
    this.#daemon = daemon;
    this.#pid = daemon.pid;
    this.group_id = groupId;
    this.token_file = tokenFile;
    this.#before = before;
  }

  static async stand(daemon: DaemonProcess): Promise<Sentinel> {
    const client = daemon.client();
    const group = await client.result("group_create", { title: "sentinel" });
    const { group_id: groupId } = group;
    const { token_file: tokenFile } = await client.result("actor_add", {
      group_id: groupId,
      actor_id: "watch",
    });
    await client.result("send", { group_id: groupId, to: ["user"], text: "before the attack" });
    return new Sentinel(daemon, groupId, tokenFile, await picture(daemon, groupId));
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

async function picture(daemon: DaemonProcess, groupId: string): Promise<string> {
  const client = daemon.client();
  const { events } = await client.result("ledger_tail", { group_id: groupId, limit: 200 });
  const group = await client.result("group_show", { group_id: groupId });
  return JSON.stringify({ events, group });
}

function readLog(home: string): string {
  try {
    return readFileSync(homePaths(home).daemon.log, "utf8");
  } catch {
    return "";
  }
}
