import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { createServer } from "node:http";
import { DaemonClient } from "../../daemon/client/client.ts";
import { currentHost, prepareSocket, renewSocketKey, writeAddress } from "../../daemon/home/endpoint.ts";
import { homePaths } from "../../daemon/home/paths.ts";
import { RealFiles } from "../../daemon/platform/real-files.ts";
import { RealRandom } from "../../daemon/platform/real-random.ts";
import { PRODUCT_VERSION } from "../../shared/version.ts";
import { removeTemporaryDirectories, temporaryDirectory } from "./setting.ts";

describe("the client of the local socket", () => {
  after(removeTemporaryDirectories);

  it("waits its turn where more connect at once than may wait to be accepted", async () => {
    const files = new RealFiles();
    const random = new RealRandom();
    const root = temporaryDirectory();
    const paths = homePaths(root);
    mkdirSync(paths.daemon.directory, { recursive: true, mode: 0o700 });
    const path = prepareSocket(files, random, currentHost(), paths);
    await renewSocketKey(files, random, paths);
    await writeAddress(files, paths, {
      pid: process.pid,
      version: PRODUCT_VERSION,
      socket: path,
      web_origin: "http://127.0.0.1:1",
      started_at: "2026-01-01T00:00:00.000Z",
    });
    let answered = 0;
    const server = createServer((request, response) => {
      request.resume().on("end", () => {
        answered++;
        response.end('{"ok":true,"result":{}}');
      });
    });
    server.listen({ path, backlog: 1 });
    await once(server, "listening");
    const clients = Array.from({ length: 40 }, () => new DaemonClient(root, null));
    // All in one turn of the event loop: the server, in the same process, accepts none before the last has tried.
    const answers = await Promise.all(clients.map((client) => client.callByName("anything", {}))).finally(
      () => {
        for (const client of clients) client.close();
        server.close();
        server.closeAllConnections();
      },
    );
    assert.deepEqual(new Set(answers.map(({ ok }) => ok)), new Set([true]));
    assert.equal(answered, clients.length);
  });
});
