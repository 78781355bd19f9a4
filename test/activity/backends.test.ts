/**
 * The channel over both ways into a running daemon, the Web listener and the local socket: the same
 * requests get the same answers.
 */

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { type IncomingHttpHeaders, request } from "node:http";
import { join } from "node:path";
import { findEndpoint } from "../../client/connection.ts";
import { API_PREFIX, HEADERS } from "../../shared/names.ts";
import { startFakeClaude } from "../browser/fake-claude.ts";
import { verifies } from "../requirements.ts";
import { DaemonProcess } from "../support/daemon-process.ts";
import { until } from "../support/until.ts";

/** What differs by nature: time, the request's own name, and how the connection is kept. */
const OWN_HEADERS = new Set(["date", "x-request-id", "connection", "keep-alive", "transfer-encoding"]);

interface Answer {
  status: number | undefined;
  headers: IncomingHttpHeaders;
  text: string;
}

describe("runtime activity over both backends", function () {
  this.timeout(120_000);
  let daemon: DaemonProcess;
  before(async () => {
    daemon = await DaemonProcess.started();
  });
  after(() => daemon.dispose());

  it("is the same snapshot, the same stream and the same refusals", async () => {
    verifies("ACT-033");
    const owner = daemon.client();
    const { group_id: groupId, endTool } = await startFakeClaude({ owner }, "both");
    await owner.result("send", { group_id: groupId, text: "use a TOOL", to: ["ann"] });
    await until("the tool runs", async () => {
      const { events } = await owner.result("runtime_activity_snapshot", { group_id: groupId });
      return events.some(({ kind }) => kind === "tool");
    });
    const endpoint = findEndpoint(daemon.home);
    const { web_origin: webOrigin } = await owner.result("daemon_status", {});
    const { hostname, port } = new URL(webOrigin!);
    const { token } = await owner.result("access_token_create", {});
    const backends = [
      {
        target: { host: hostname, port },
        headers: { authorization: `Bearer ${token}` },
      },
      {
        target: { socketPath: endpoint.socketPath },
        headers: { [HEADERS.socketKey]: endpoint.key },
      },
    ];
    /** The answer's head and, of a stream, what comes until `enough`. */
    const ask = (
      backend: (typeof backends)[number],
      path: string,
      enough?: RegExp,
      opened?: () => void,
    ): Promise<Answer> =>
      new Promise((resolve, reject) => {
        const options = { ...backend.target, path, headers: backend.headers, agent: false };
        const sent = request(options, (response) => {
          let text = "";
          const done = (): void => {
            resolve({ status: response.statusCode, headers: response.headers, text });
            sent.destroy();
          };
          response.setEncoding("utf8").on("data", (chunk: string) => {
            if (text === "") opened?.();
            text += chunk;
            if (enough?.test(text) === true) done();
          });
          response.on("end", done);
        });
        sent.on("error", reject).end();
      });
    const compare = async (path: string, enough?: RegExp, opened?: () => void): Promise<Answer> => {
      const [web, local] = await Promise.all(
        backends.map(async (backend) => {
          const { status, headers, text } = await ask(backend, path, enough, opened);
          const shown = Object.entries(headers).filter(([name]) => !OWN_HEADERS.has(name));
          const body = text.replaceAll(/"request_id":"[^"]*"/g, "");
          return { status, headers: Object.fromEntries(shown), text: body };
        }),
      );
      assert.deepEqual(
        { status: local!.status, text: local!.text },
        { status: web!.status, text: web!.text },
      );
      assert.equal(local!.headers["content-type"], web!.headers["content-type"]);
      return web!;
    };
    const base = `${API_PREFIX}/groups/${groupId}/runtime-activity`;
    const snapshot = await compare(`${base}/snapshot`);
    assert.match(snapshot.text, /"tool_name":"Bash"/);
    const stream = await compare(`${base}/stream?replay=true`, /"tool_name":"Bash".*\n\n/);
    assert.match(String(stream.headers["content-type"]), /^text\/event-stream/);
    assert.equal((await compare(`${base}/stream?replay=maybe`)).status, 400);
    const other = `${API_PREFIX}/groups/g_ffffffffffff/runtime-activity`;
    for (const path of ["snapshot", "stream"]) {
      assert.equal((await compare(`${other}/${path}`)).status, 404);
      assert.equal((await compare(`${base.replace("g_", "x_")}/${path}`)).status, 400);
    }
    const open = { count: 0 };
    const live = compare(`${base}/stream?replay=true`, /"event_type":"Stop".*\n\n/, () => {
      open.count += 1;
    });
    await until("both streams are open", async () => open.count >= 2);
    endTool();
    assert.equal((await live).status, 200);
    await owner.result("actor_stop", { group_id: groupId, actor_id: "ann" });
    await until("its session's end is written", async () => {
      const { events } = await owner.result("runtime_activity_snapshot", { group_id: groupId });
      return events.length > 0 && events.every(({ duration_ms: durationMs }) => durationMs !== null);
    });
    writeFileSync(join(daemon.home, "groups", groupId, "runtime-activity", "ann.json"), "{");
    for (const path of ["snapshot", "stream?replay=true"])
      assert.equal((await compare(`${base}/${path}`)).status, 503);
  });
});
