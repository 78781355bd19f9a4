import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { mock } from "node:test";
import { DaemonClient } from "../../client/client.ts";
import { currentHost, prepareSocket, renewSocketKey, writeAddress } from "../../client/endpoint.ts";
import { DaemonSilent } from "../../client/failures.ts";
import { homePaths } from "../../client/paths.ts";
import { RealFiles } from "../../platform/real-files.ts";
import { RealRandom } from "../../platform/real-random.ts";
import { HEADERS } from "../../shared/names.ts";
import { PRODUCT_VERSION } from "../../shared/version.ts";
import { removeTemporaryDirectories, temporaryDirectory } from "./setting.ts";

describe("the client of the local socket", () => {
  const files = new RealFiles();
  const random = new RealRandom();
  const servers: Server[] = [];

  afterEach(() => {
    for (const server of servers.splice(0)) server.close().closeAllConnections();
  });
  after(removeTemporaryDirectories);

  /** A Home that a daemon seems to serve, by `server`. */
  async function served(
    server: Server,
    backlog: number,
  ): Promise<{ root: string; key: string; renew(): Promise<string> }> {
    const root = temporaryDirectory();
    const paths = homePaths(root);
    mkdirSync(paths.daemon.directory, { recursive: true, mode: 0o700 });
    const path = prepareSocket(files, random, currentHost(), paths);
    const renew = () => renewSocketKey(files, random, paths);
    const key = await renew();
    await writeAddress(files, paths, {
      pid: process.pid,
      version: PRODUCT_VERSION,
      socket: path,
      web_origin: "http://127.0.0.1:1",
      started_at: "2026-01-01T00:00:00.000Z",
    });
    server.listen({ path, backlog });
    await once(server, "listening");
    servers.push(server);
    return { root, key, renew };
  }

  it("waits its turn where more connect at once than may wait to be accepted", async () => {
    let answered = 0;
    const server = createServer((request, response) => {
      request.resume().on("end", () => {
        answered++;
        response.end('{"ok":true,"result":{}}');
      });
    });
    const { root } = await served(server, 1);
    const clients = Array.from({ length: 40 }, () => new DaemonClient(root, null));
    // All in one turn of the event loop: the server, in the same process, accepts none before the
    // last has tried.
    const answers = await Promise.all(clients.map((client) => client.callByName("anything", {})));
    for (const client of clients) client.close();
    assert.deepEqual(new Set(answers.map(({ ok }) => ok)), new Set([true]));
    assert.equal(answered, clients.length);
  });

  it("reads the key anew when another daemon has begun meanwhile, and only then asks again", async () => {
    let asked = 0;
    let key = "";
    let renew = async (): Promise<string> => "";
    const server = createServer((request, response) => void answer(request, response));
    const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      asked++;
      if (asked === 1) key = await renew();
      const known = request.headers[HEADERS.socketKey] === key;
      response.statusCode = known ? 200 : 401;
      response.end(
        known ? '{"ok":true,"result":{}}' : '{"ok":false,"error":{"code":"unauthenticated","message":"no"}}',
      );
    };
    const home = await served(server, 1);
    renew = () => home.renew();
    const client = new DaemonClient(home.root, null);
    assert.deepEqual(await client.callByName("anything", {}), { ok: true, result: {} });
    assert.equal(asked, 2);
    key = "nobody's";
    assert.equal((await client.callByName("anything", {})).ok, false);
    assert.equal(asked, 3);
    client.close();
  });

  it("waits for a long operation as long as the daemon shows that it is alive, and not longer", async () => {
    const held: ServerResponse[] = [];
    let looks = 0;
    let isAlive = true;
    const server = createServer((request, response) => {
      request.resume();
      if (!request.url?.endsWith("daemon_status")) held.push(response);
      else {
        looks++;
        if (isAlive) response.end('{"ok":true,"result":{}}');
      }
    });
    const { root } = await served(server, 8);
    mock.timers.enable({ apis: ["setTimeout"] });
    const client = new DaemonClient(root, null);
    /** Lets the client's time pass until `isTrue`. */
    const pass = async (isTrue: () => boolean): Promise<void> => {
      while (!isTrue()) {
        mock.timers.tick(1000);
        for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
      }
    };
    try {
      const long = client.callByName("long", {});
      await pass(() => looks === 3);
      held.pop()?.end('{"ok":true,"result":{}}');
      assert.equal((await long).ok, true);
      isAlive = false;
      const outcome = client.callByName("stuck", {}).then(
        () => "answered",
        (error: unknown) => error,
      );
      let known: unknown;
      void outcome.then((value) => (known = value));
      await pass(() => known !== undefined);
      assert.ok(known instanceof DaemonSilent);
      assert.equal(looks, 4);
    } finally {
      mock.timers.reset();
      client.close();
    }
  });
});
