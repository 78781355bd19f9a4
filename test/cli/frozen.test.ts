/** A daemon that is there and doesn't answer: every command ends by itself and says what to do. */
import assert from "node:assert/strict";
import { type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DaemonLink } from "../../extension/daemon/link.ts";
import { DaemonProcess } from "../support/daemon-process.ts";
import { until } from "../support/until.ts";
import { collect, envelope, type Ran, run, start } from "./svc.ts";

const FILE_BYTES = 24 * 1024 * 1024;

describe("a frozen daemon", () => {
  let daemon: DaemonProcess;
  /** Frozen for good: the end that it is asked for would come as soon as it goes on. */
  let stopped: DaemonProcess;
  let group: string;
  let folder: string;
  let following: { child: ChildProcess; ran: Ran };
  /** A window's link to it, and what it says, in order. */
  let link: DaemonLink;
  const said: string[] = [];
  const none = () => {};
  let saving: { child: ChildProcess; ran: Ran; closed: Promise<unknown> };

  const started = (...args: string[]) => {
    const child = start([...args, "--group", group], { home: daemon.home });
    return { child, ran: collect(child), closed: once(child, "close") };
  };

  before(async () => {
    [daemon, stopped] = await Promise.all([DaemonProcess.started(), DaemonProcess.started()]);
    process.kill(stopped.pid, "SIGSTOP");
    folder = mkdtempSync(join(tmpdir(), "svc-frozen-"));
    group = (await daemon.client().result("group_create", { title: "Frozen" })).group_id;
    const attached = join(folder, "attached");
    writeFileSync(attached, Buffer.alloc(FILE_BYTES, 1));
    const { event } = await daemon
      .client()
      .result("send", { group_id: group, to: ["user"], text: "first", paths: [attached] });
    rmSync(attached);
    link = new DaemonLink(daemon.home);
    link.on("state", () => said.push(link.problem ?? link.state));
    link.open({ restart: none, group: none, gone: none, actors: none });
    await until("the window is connected", () => link.state === "online");
    following = started("tail", "-f");
    await until("the first event", () => following.ran.out.includes("first"));
    // It follows: what comes now is shown.
    await daemon.client().result("send", { group_id: group, to: ["user"], text: "second" });
    await until("the second event", () => following.ran.out.includes("second"));
    // The daemon freezes while the file is on its way.
    for (;;) {
      saving = started("file", event.id, "--save-to", join(folder, "saved"));
      await until("the file", () => existsSync(join(folder, "saved")));
      process.kill(daemon.pid, "SIGSTOP");
      // What the machine still has of it is much less than the other half.
      if (statSync(join(folder, "saved")).size < FILE_BYTES / 2) break;
      process.kill(daemon.pid, "SIGCONT");
      await saving.closed;
      rmSync(join(folder, "saved"));
    }
  });
  after(async () => {
    link?.close();
    following.child.kill("SIGKILL");
    await Promise.all([daemon.dispose(), stopped.dispose()]);
    rmSync(folder, { recursive: true, force: true });
  });

  it("is told by every kind of command, with the remedy, and sooner where its state is asked for", async () => {
    const ended: string[] = [];
    const svc = async ({ home, pid }: DaemonProcess, ...args: string[]): Promise<[number, Ran]> => {
      const ran = await run(args, { home });
      ended.push(args.join(" "));
      return [pid, ran];
    };
    const asked = Promise.all([
      svc(daemon, "daemon", "status"),
      svc(daemon, "daemon", "start"),
      svc(daemon, "doctor", "--json"),
    ]);
    const others = Promise.all([
      svc(daemon, "send", "x", "--to", "user", "--group", group),
      svc(daemon, "inbox", "--actor", "a", "--read", "--wait", "50", "--group", group),
      svc(daemon, "tail", "-f", "--group", group),
      svc(stopped, "daemon", "stop"),
    ]);
    const [status, first, [, doctor]] = await asked;
    assert.deepEqual(ended.length, 3, `before them came ${ended.join(", ")}`);
    for (const [pid, ran] of [status, first, ...(await others)]) {
      assert.equal(ran.code, 3, ran.err);
      assert.equal(ran.out, "");
      assert.ok(ran.err.includes(`The daemon (process ${pid}) doesn't answer.`), ran.err);
      assert.ok(ran.err.includes(`kill -9 ${pid}`), ran.err);
    }
    assert.equal(doctor.code, 1);
    const { checks } = envelope<{ checks: { code: string }[] }>(doctor).result;
    assert.ok(checks.some(({ code }) => code === "daemon_silent"));
  });

  it("is told by who saves a file, of which nothing stays", async () => {
    await saving.closed;
    assert.equal(saving.child.exitCode, 3, saving.ran.err);
    assert.ok(saving.ran.err.includes(`The daemon (process ${daemon.pid}) doesn't answer.`), saving.ran.err);
    assert.deepEqual(readdirSync(folder), []);
  });

  it("is told by who follows a Group, and goes on when it is back", async () => {
    const { ran, child } = following;
    const silence = `The daemon (process ${daemon.pid}) doesn't answer.`;
    await until("the loss", () => said.some((one) => one.includes(silence)));
    assert.equal(link.state, "connecting", "a frozen daemon isn't started again");
    await until("the words", () => ran.err.includes(`process ${daemon.pid}) doesn't answer. Waiting for it`));
    process.kill(daemon.pid, "SIGCONT");
    await until("the answer", () => ran.err.includes("the daemon answers again"));
    await daemon.client().result("send", { group_id: group, to: ["user"], text: "third" });
    await until("the window is connected again", () => link.state === "online");
    await until("the third event", () => ran.out.includes("third"));
    assert.equal(child.exitCode, null);
    assert.equal(ran.err.trim().split("\n").length, 2, ran.err);
    assert.equal(ran.out.match(/first|second|third/g)?.length, 3, ran.out);
  });
});
