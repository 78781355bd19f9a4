import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { processTable } from "../../platform/real-process-table.ts";
import { RealSocketPeers } from "../../platform/real-socket-peers.ts";

/** Connects, says a word when told to, and ends with its standard input. */
const CLIENT = `
const socket = require("node:net").connect(process.argv[1]);
process.stdin.on("data", () => socket.write("word")).on("end", () => process.exit());
`;

describe("the process at the other end of a local socket", () => {
  let folder: string;
  let server: Server;
  let child: ChildProcess;
  let socket: Socket;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "svc-peers-"));
    const path = join(folder, "socket");
    server = createServer().listen(path);
    await once(server, "listening");
    const connected = once(server, "connection");
    child = spawn(process.execPath, ["-e", CLIENT, path], { stdio: ["pipe", "ignore", "ignore"] });
    [socket] = (await connected) as [Socket];
  });
  after(() => {
    child.kill();
    socket.destroy();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  for (const program of ["perl", "python3"]) {
    it(`is read by ${program}, and the connection goes on`, async () => {
      const found = `/usr/bin/${program}`;
      assert.ok(existsSync(found), `the tests need ${program}`);
      const bin = join(folder, program);
      mkdirSync(bin);
      symlinkSync(found, join(bin, program));
      const peers = new RealSocketPeers("linux", [bin]);
      assert.equal(peers.canTell, true);
      assert.equal(await peers.pidOf(socket), child.pid);
      const heard = once(socket, "data");
      socket.resume();
      child.stdin?.write("now");
      assert.equal(String((await heard)[0]), "word");
    });
  }

  it("isn't known where nothing can say it", async () => {
    for (const peers of [
      new RealSocketPeers("linux", [join(folder, "nothing")]),
      new RealSocketPeers("win32"),
    ]) {
      assert.equal(peers.canTell, false);
      assert.equal(await peers.pidOf(socket), null);
    }
  });

  it("is found with what started it", async () => {
    const entries = await processTable("linux").ancestry(child.pid!);
    assert.deepEqual(
      entries.slice(0, 2).map(({ pid }) => pid),
      [child.pid, process.pid],
    );
    assert.deepEqual(await processTable("linux").ancestry(2 ** 30), []);
  });

  it("is nobody once that process is gone", async () => {
    const holder = spawn(
      "perl",
      [
        "-e",
        'socket S,1,1,0;connect S,pack("Sa108",1,$ARGV[0]);exit if fork;sysread S,$b,1',
        join(folder, "socket"),
      ],
      { stdio: "ignore" },
    );
    const [[late]] = (await Promise.all([once(server, "connection"), once(holder, "exit")])) as [
      [Socket],
      unknown,
    ];
    assert.equal(await new RealSocketPeers("linux").pidOf(late), null);
    late.destroy();
  });
});
