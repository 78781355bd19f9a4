/** Connections of strangers who were refused, and never close their own side. */
import assert from "node:assert/strict";
import { connect, type NetConnectOpts, type Socket } from "node:net";
import { API_PREFIX, HEADERS } from "../../shared/names.ts";
import { DaemonProcess } from "../support/daemon-process.ts";
import { until } from "../support/until.ts";

describe("a refused WebSocket", () => {
  let daemon: DaemonProcess;
  const held = new Set<Socket>();

  beforeEach(async () => {
    daemon = await DaemonProcess.started();
  });
  afterEach(async () => {
    for (const socket of held) socket.destroy();
    held.clear();
    await daemon.dispose();
  });

  /** Asks for a WebSocket, and keeps its side open after the refusal. */
  async function refused(to: NetConnectOpts, fields: Readonly<Record<string, string>>): Promise<Socket> {
    const socket = connect({ ...to, allowHalfOpen: true });
    held.add(socket);
    socket.on("error", () => {});
    const head = Object.entries({
      Connection: "Upgrade",
      Upgrade: "websocket",
      "Sec-WebSocket-Version": "13",
      "Sec-WebSocket-Key": Buffer.alloc(16).toString("base64"),
      ...fields,
    }).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`GET ${API_PREFIX}/events/ws HTTP/1.1\r\n${head.join("")}\r\n`);
    let answer = "";
    socket.on("data", (bytes: Buffer) => (answer += bytes.toString("latin1")));
    await new Promise((resolve) => socket.once("end", resolve));
    assert.match(answer, /^HTTP\/1\.1 (?:401|421) /);
    return socket;
  }

  /** What is written to a connection that is gone comes back as an error. */
  async function isGone(socket: Socket): Promise<void> {
    await until("the daemon has let the connection go", () => {
      if (!socket.destroyed) socket.write("x");
      return socket.destroyed;
    });
  }

  it("leaves nothing open at the Web port, with no credential, a wrong one and a wrong Host", async () => {
    const { web_origin: origin } = await daemon.client().result("daemon_status", {});
    const { host, hostname, port } = new URL(origin!);
    const to = { host: hostname, port: Number(port) };
    await isGone(await refused(to, { Host: host }));
    await isGone(await refused(to, { Host: host, Authorization: "Bearer wrong" }));
    await isGone(await refused(to, { Host: "attacker.example" }));
  });

  it("leaves nothing open at the local socket", async () => {
    const { socket } = await daemon.client().result("daemon_status", {});
    await isGone(await refused({ path: socket }, { Host: "localhost", [HEADERS.socketKey]: "wrong" }));
  });
});
