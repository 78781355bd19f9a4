/** A daemon that may open few files and connections, and strangers who take all that they can. */
import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import type { DaemonClient } from "../../client/client.ts";
import { freePort } from "../../demo/free-port.ts";
import { DaemonProcess } from "../support/daemon-process.ts";
import { until } from "../support/until.ts";
import { run } from "./svc.ts";

/** What a stranger begins and never ends. */
const BEGINNINGS = {
  nothing: "",
  "half a head": "GET /health HTTP/1.1\r\nHost: x\r\n",
  "half a body":
    "POST /api/v1/web-access/session HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{",
} as const;

for (const limit of [300, 1024]) {
  describe(`a daemon that may open ${limit} files and connections`, function () {
    this.timeout(180_000);
    let daemon: DaemonProcess;
    let client: DaemonClient;
    let webPort: number;
    let directPort: number;
    const held = new Set<Socket>();

    before(async () => {
      daemon = new DaemonProcess({ prefix: ["prlimit", `--nofile=${limit}:${limit}`] });
      await daemon.start();
      client = daemon.client(null);
      const { web_origin: origin } = await client.result("daemon_status", {});
      webPort = Number(new URL(origin!).port);
      directPort = await freePort();
      const at = `127.0.0.1:${directPort}`;
      await client.result("connect_direct_configure", { listener: { bind: at, address: at } });
    });
    after(async () => {
      leave();
      await daemon.dispose();
    });
    afterEach(() => leave());

    function leave(): void {
      for (const socket of held) socket.destroy();
      held.clear();
    }

    /** As many connections as the daemon could have at all; resolves when each is open or gone. */
    async function crowd(port: number, beginning: string): Promise<void> {
      const all = Array.from({ length: limit + 50 }, () => {
        const socket = connect(port, "127.0.0.1");
        held.add(socket);
        socket.on("error", () => socket.destroy());
        socket.on("connect", () => socket.write(beginning));
        return new Promise<void>((resolve) => {
          socket.once("connect", resolve);
          socket.once("close", resolve);
        });
      });
      await Promise.all(all);
    }

    const svc = (...args: string[]) => run(args, { home: daemon.home });

    for (const [what, beginning] of Object.entries(BEGINNINGS)) {
      it(`serves its person while strangers hold ${what} on every port`, async () => {
        await Promise.all([crowd(webPort, beginning), crowd(directPort, beginning)]);
        const created = await svc("group", "create", `Beside ${what}`);
        assert.equal(created.code, 0, created.err);
        const groupId = /g_[0-9a-f]{12}/.exec(created.out)![0];
        const sent = await svc("send", "hello", "--to", "user", "-g", groupId);
        assert.equal(sent.code, 0, sent.err);
        assert.equal((await svc("daemon", "status")).code, 0);
        const page = await fetch(`http://127.0.0.1:${webPort}/health`);
        assert.equal(page.status, 200);
      });
    }

    // What is so for few of them is so for more.
    if (limit > 300) return;
    it("opens no Group that would take what it needs to answer, and says why", async () => {
      const begun = await client.result("group_list", {});
      let made = begun.groups.length;
      for (;;) {
        const answer = await client.call("group_create", { title: `Group ${made}` });
        if (!answer.ok) {
          assert.equal(answer.error.code, "too_many_open_files");
          break;
        }
        made += 1;
        assert.ok(made <= limit, "more Groups than descriptors");
      }
      const refused = await svc("group", "create", "One more");
      assert.equal(refused.code, 1);
      assert.match(refused.err, /as many files and connections open as the system lets it.*LimitNOFILE/s);
      assert.doesNotMatch(refused.err, /disk|No daemon answers/i);
      await crowd(webPort, BEGINNINGS["half a head"]);
      assert.equal((await svc("send", "still", "--to", "user", "-g", begun.groups[0]!.group_id)).code, 0);
      const doctor = await svc("doctor");
      assert.match(doctor.out, new RegExp(`Open files and connections: \\d+ of ${limit}\\.`));
      assert.match(doctor.out, /No Group can be opened/);
      leave();

      // With a lower limit some of them can't be opened; the others can.
      await daemon.stop();
      const lower = new DaemonProcess({
        home: daemon.home,
        prefix: ["prlimit", `--nofile=${limit - 40}:${limit - 40}`],
      });
      await lower.start();
      const { groups } = await lower.client(null).result("group_list", {});
      assert.ok(groups.length > 0 && groups.length < made, `${groups.length} of ${made}`);
      const told = await svc("doctor");
      assert.match(told.out, /as many files and connections open as the system lets it/);
      await lower.stop();

      await daemon.start();
      client = daemon.client(null);
      await until("all are there", async () => {
        const { groups: now } = await client.result("group_list", {});
        return now.length === made;
      });
    });
  });
}
