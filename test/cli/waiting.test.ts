/** What the command line says of messages for an Actor that doesn't run. */
import assert from "node:assert/strict";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DaemonProcess } from "../support/daemon-process.ts";
import { envelope, run } from "./svc.ts";

describe("messages for an Actor that doesn't run", () => {
  let folder: string;
  let daemon: DaemonProcess;
  before(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "svc-waiting-")));
    daemon = await DaemonProcess.started();
  });
  after(async () => {
    await daemon.dispose();
    rmSync(folder, { recursive: true, force: true });
  });

  it("are told as they are sent and by doctor, with the program that isn't there, until it runs", async () => {
    const svc = (...args: string[]) => run(args, { home: daemon.home });
    const doctor = async () => (await svc("doctor")).out;
    const attached = envelope<{ group_id: string }>(await svc("attach", folder, "--json"));
    const at = ["--group", attached.result.group_id];
    assert.equal((await svc("actor", "add", "absent", ...at, "--runtime", "gemini")).code, 0);
    assert.match(await doctor(), /None waits for one that isn't running\./u);
    const { out, err } = await svc("send", "hello", "--to", "absent", ...at);
    assert.match(out, /^Sent to absent: /u);
    assert.match(
      err,
      /^absent isn’t running\. It gets this once started\.\nsvc: Gemini.* isn't installed: /u,
    );
    assert.match(
      await doctor(),
      /1 waits for absent, which has no program: “gemini” isn't on this machine\./u,
    );
    const other = await svc("actor", "update", "absent", ...at, "--prompts", "--", "sleep", "1000");
    assert.equal(other.code, 0, other.err);
    assert.match(await doctor(), /1 waits for absent, which isn't running\./u);
    assert.equal((await svc("actor", "start", "absent", ...at)).code, 0);
    assert.match(await doctor(), /None waits for one that isn't running\./u);
  });
});
