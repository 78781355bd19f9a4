/**
 * Streams of a running daemon: large pasts, credentials that don't reach them, files that stay
 * closed.
 */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import { WebSocket } from "ws";
import type { DaemonClient } from "../../client/client.ts";
import { findEndpoint } from "../../client/connection.ts";
import { launchToken } from "../../client/identity.ts";
import { API_PREFIX, ENVIRONMENT, HEADERS } from "../../shared/names.ts";
import { DaemonProcess } from "../support/daemon-process.ts";
import { messageOf } from "../support/events.ts";
import { until } from "../support/until.ts";
import { exchange } from "./raw.ts";
import { StreamClient } from "./stream-client.ts";

const LARGE = 120;
const LARGE_TEXT = "x".repeat(30_000);

describe("streams of a running daemon", () => {
  let daemon: DaemonProcess;
  let user: DaemonClient;
  let groupId: string;
  let path: string;
  let key: Record<string, string>;
  let tokenFile: string;
  let origin: string;
  let authorization: string;

  beforeEach(async () => {
    daemon = await DaemonProcess.started();
    user = daemon.client();
    ({ group_id: groupId } = await user.result("group_create", { title: "streams" }));
    ({ token_file: tokenFile } = await user.result("actor_add", { group_id: groupId, actor_id: "a" }));
    const endpoint = findEndpoint(daemon.home);
    path = endpoint.socketPath;
    key = { [HEADERS.socketKey]: endpoint.key };
    origin = (await user.result("daemon_status", {})).web_origin!;
    authorization = `Bearer ${(await user.result("access_token_create", {})).token}`;
  });
  afterEach(() => daemon.dispose());

  async function sendLarge(): Promise<string[]> {
    const ids: string[] = [];
    for (let count = 0; count < LARGE; count++) {
      const { event } = await user.result("send", { group_id: groupId, to: ["user"], text: LARGE_TEXT });
      ids.push(event.id);
    }
    return ids;
  }

  it("bring a past of many MiB whole and in order, and then what comes", async () => {
    const watching = new StreamClient({ path }, `${API_PREFIX}/events/stream`, key, true);
    await until("the stream of all Groups is open", () => watching.isOpen);
    const ids = await sendLarge();
    await until("it has brought everything", () => watching.ids.length === ids.length);
    watching.close();
    const one = new StreamClient(
      { path },
      `${API_PREFIX}/groups/${groupId}/ledger/stream?after=${ids[0]}`,
      key,
      true,
    );
    const all = new StreamClient({ path }, `${API_PREFIX}/events/stream?after=${ids[0]}`, key, true);
    const frames: string[] = [];
    const socket = new WebSocket(`${origin.replace("http", "ws")}${API_PREFIX}/events/ws`, {
      headers: { authorization },
    });
    socket.on("message", (data: Buffer) => {
      const message = JSON.parse(data.toString("utf8")) as { type: string; event?: { id: string } };
      if (message.event !== undefined) frames.push(message.event.id);
    });
    socket.on("open", () =>
      socket.send(
        JSON.stringify({ type: "subscribe", id: "s", channel: "ledger", group_id: groupId, after: ids[0] }),
      ),
    );
    await until("the streams are open", () => one.isOpen && all.isOpen && frames.length > 0);
    const { event } = await user.result("send", { group_id: groupId, to: ["user"], text: "and now" });
    const expected = [...ids.slice(1), event.id];
    await until("everything came", () =>
      [one.ids, all.ids, frames].every((came) => came.length >= expected.length),
    );
    for (const came of [one.ids, all.ids, frames]) assert.deepEqual(came, expected);
    assert.equal(socket.readyState, WebSocket.OPEN);
    socket.terminate();
    one.close();
    all.close();
  });

  it("lose and repeat nothing for a client that comes back whenever it was told to", async () => {
    const target = `${API_PREFIX}/groups/${groupId}/ledger/stream`;
    const came: string[] = [];
    let reader = new StreamClient({ path }, target, key, true);
    await until("it is open", () => reader.isOpen);
    const sent = await Promise.all(
      Array.from({ length: 100 }, async () => {
        const client = daemon.client();
        const { event } = await client.result("send", {
          group_id: groupId,
          to: ["user"],
          text: "x".repeat(60_000),
        });
        return event.id;
      }),
    );
    await until("it has everything", () => {
      if (reader.isClosed) {
        came.push(...reader.ids);
        assert.ok(reader.resumeAfter, "it was closed without a word");
        reader = new StreamClient({ path }, `${target}?after=${reader.resumeAfter}`, key, true);
      }
      return came.length + reader.ids.length >= sent.length;
    });
    came.push(...reader.ids);
    const { events } = await user.result("ledger_tail", {
      group_id: groupId,
      limit: 200,
      kinds: ["chat.message"],
    });
    assert.deepEqual(
      came,
      events.map(({ id }) => id),
    );
    reader.close();
  });

  it("and files of the whole Group aren't an Actor's", async () => {
    const text = "between others";
    await user.result("actor_add", { group_id: groupId, actor_id: "b" });
    await user.result("send", {
      group_id: groupId,
      to: ["b"],
      text,
      paths: [new URL(import.meta.url).pathname],
    });
    const { events } = await user.result("ledger_tail", { group_id: groupId, kinds: ["chat.message"] });
    const [attachment] = messageOf(events[0]).attachments;
    const actor = { ...key, [HEADERS.launchToken]: launchToken({ [ENVIRONMENT.actorFile]: tokenFile })! };
    const group = `${API_PREFIX}/groups/${groupId}`;
    const upgrade = { connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": "13" };
    for (const [method, target, more] of [
      ["GET", `${group}/ledger/stream?after=${events[0]!.id}`, {}],
      ["GET", `${API_PREFIX}/events/stream`, {}],
      [
        "GET",
        `${API_PREFIX}/events/ws`,
        { ...upgrade, "sec-websocket-key": Buffer.alloc(16).toString("base64") },
      ],
      ["GET", `${group}/blobs/${attachment!.sha256}`, {}],
      ["POST", `${group}/uploads`, { "content-length": "0" }],
      ["GET", `${group}/ledger/tail`, {}],
      ["GET", `${group}/draft`, {}],
      ["GET", "/metrics", {}],
    ] as [string, string, Record<string, string>][]) {
      const fields = Object.entries({ host: "localhost", ...actor, ...more }).map(
        ([name, value]) => `${name}: ${value}\r\n`,
      );
      const { statuses, bytes } = await exchange({ path }, [
        `${method} ${target} HTTP/1.1\r\n${fields.join("")}\r\n`,
      ]);
      assert.deepEqual(statuses, [403], `${method} ${target}`);
      assert.ok(!bytes.toString("utf8").includes(text));
    }
  });

  it("and downloads leave no file open in the daemon", async () => {
    const body = Buffer.alloc(300_000, "file");
    const sha256 = createHash("sha256").update(body).digest("hex");
    const target = `${origin}${API_PREFIX}/groups/${groupId}`;
    const upload = await fetch(`${target}/uploads?name=f`, {
      method: "POST",
      headers: { authorization },
      body,
    });
    assert.equal(upload.status, 200);
    const descriptors = (): number => readdirSync(`/proc/${daemon.pid}/fd`).length;
    const before = descriptors();
    for (let count = 0; count < 40; count++) {
      const blob = `${target}/blobs/${sha256}`;
      assert.equal(
        (await (await fetch(blob, { headers: { authorization } })).arrayBuffer()).byteLength,
        body.length,
      );
      await fetch(blob, { method: "HEAD", headers: { authorization } });
      await (await fetch(blob, { headers: { authorization, range: "bytes=9999999-" } })).arrayBuffer();
      const broken = await fetch(blob, { headers: { authorization } });
      await broken.body?.cancel();
    }
    await until("the files are closed again", () => descriptors() < before + 30);
  });
});
