/** A daemon that is there and doesn't answer: every command ends by itself and says what to do. */
import assert from "node:assert/strict";
import { DaemonProcess } from "../support/daemon-process.ts";
import { envelope, type Ran, run } from "./svc.ts";

describe("a frozen daemon", () => {
  let daemon: DaemonProcess;
  let group: string;

  before(async () => {
    daemon = await DaemonProcess.started();
    group = (await daemon.client().result("group_create", { title: "Frozen" })).group_id;
    process.kill(daemon.pid, "SIGSTOP");
  });
  after(() => daemon.dispose());

  it("is told by every kind of command, with the remedy, and sooner where its state is asked for", async () => {
    const ended: string[] = [];
    const svc = async (...args: string[]): Promise<Ran> => {
      const ran = await run(args, { home: daemon.home });
      ended.push(args.join(" "));
      return ran;
    };
    const asked = Promise.all([svc("daemon", "status"), svc("daemon", "start"), svc("doctor", "--json")]);
    const others = Promise.all([
      svc("send", "x", "--to", "user", "--group", group),
      svc("inbox", "--actor", "a", "--read", "--wait", "50", "--group", group),
      svc("tail", "-f", "--group", group),
      svc("daemon", "stop"),
    ]);
    const [status, started, doctor] = await asked;
    assert.deepEqual(ended.length, 3, `before them came ${ended.join(", ")}`);
    for (const ran of [status, started, ...(await others)]) {
      assert.equal(ran.code, 3, ran.err);
      assert.equal(ran.out, "");
      assert.ok(ran.err.includes(`The daemon (process ${daemon.pid}) doesn't answer.`), ran.err);
      assert.ok(ran.err.includes(`kill -9 ${daemon.pid}`), ran.err);
    }
    assert.equal(doctor.code, 1);
    const { checks } = envelope<{ checks: { code: string }[] }>(doctor).result;
    assert.ok(checks.some(({ code }) => code === "daemon_silent"));
  });
});
