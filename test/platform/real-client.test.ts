/** What the HTTP client says of a server that it can't trust. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer as createPlainServer, type Server } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { RealHttpClient } from "../../platform/http/real-client.ts";
import { RealClock } from "../../platform/real-clock.ts";
import { TestAuthority } from "../support/certificates.ts";
import { until } from "../support/until.ts";

describe("The HTTP client", () => {
  let authority: TestAuthority;
  const servers: Server[] = [];
  const clients: RealHttpClient[] = [];
  before(() => {
    authority = new TestAuthority();
  });
  after(() => {
    for (const client of clients) client.close();
    for (const server of servers) server.close();
    authority.remove();
  });

  /** Why a question to this host fails, where the certificate is one for `named`. */
  async function reasonOf(
    host: string,
    named: string,
    { days = 2, isKnown = true, isPlain = false } = {},
  ): Promise<string> {
    const { cert, key } = authority.issue(named, days);
    const server = isPlain
      ? createPlainServer()
      : createServer({ cert: readFileSync(cert), key: readFileSync(key) });
    server.listen(0, "127.0.0.1");
    servers.push(server);
    await once(server, "listening");
    const client = new RealHttpClient({
      clock: new RealClock(),
      ...(isKnown ? { ca: authority.pem } : {}),
      lookup: (_hostname, options, callback) =>
        options.all === true
          ? callback(null, [{ address: "127.0.0.1", family: 4 }])
          : callback(null, "127.0.0.1", 4),
    });
    clients.push(client);
    return until("a refusal", async () => {
      const outcome = await client.request({
        method: "GET",
        url: `https://${host}:${(server.address() as AddressInfo).port}/`,
        headers: {},
        body: null,
        limit: 1024,
        milliseconds: 2000,
        signal: new AbortController().signal,
      });
      assert.ok(outcome.kind === "failed");
      // Until the certificate has expired, only the answer is missing.
      return outcome.why === "untrusted" ? outcome.reason : null;
    });
  }

  it("says what is wrong with a certificate, and what helps", async () => {
    assert.match(
      await reasonOf("old.svc.test", "old.svc.test", { days: 0 }),
      /has expired\. Renew it there/u,
    );
    assert.match(await reasonOf("one.svc.test", "two.svc.test"), /is for another name/u);
    assert.match(
      await reasonOf("three.svc.test", "three.svc.test", { isKnown: false }),
      /isn't trusted here.*NODE_EXTRA_CA_CERTS/u,
    );
    assert.match(
      await reasonOf("four.svc.test", "four.svc.test", { isPlain: true }),
      /doesn't speak TLS\. Check its address and port/u,
    );
  });
});
