/** What every request passes before a page or the API of daemons has it. */
import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { addressReader } from "../../account/http.ts";
import { ask, TestService } from "./service.ts";

describe("the front of the account service", () => {
  let service: TestService;

  before(async () => {
    service = await TestService.started({});
  });
  after(async () => service.dispose());

  it("gives every answer its security headers and a request id, whatever the answer is", async () => {
    const seen = new Set<unknown>();
    for (const [method, path, status, headers] of [
      ["GET", "/health", 200, {}],
      ["POST", "/health", 405, {}],
      ["GET", "/login", 200, {}],
      ["GET", "/login", 421, { host: "elsewhere.example" }],
      ["GET", "/nothing", 404, {}],
      ["GET", "/connect/%E0/disconnect", 400, {}],
      ["GET", "/style.css", 200, {}],
      ["OPTIONS", "/style.css", 404, {}],
      ["GET", "/v1/device", 401, {}],
      ["GET", "/v1/device", 421, { host: "elsewhere.example" }],
      ["GET", "/v1/device?query", 401, {}],
      ["GET", "/v1/device/", 404, {}],
      ["OPTIONS", "/v1/device", 405, {}],
      ["GET", "/v1/device", 403, { origin: service.origin }],
    ] as const) {
      const answer = await ask(service.origin, path, { method, headers });
      const shown = `${method} ${path} ${JSON.stringify(headers)}`;
      assert.equal(answer.status, status, shown);
      assert.match(String(answer.headers["content-security-policy"]), /^default-src 'none'/u, shown);
      assert.equal(answer.headers["x-content-type-options"], "nosniff", shown);
      assert.equal(answer.headers["x-frame-options"], "DENY", shown);
      assert.equal(answer.headers["x-powered-by"], undefined, shown);
      seen.add(answer.headers["svc-request-id"]);
    }
    assert.equal(seen.size, 14);
    assert.ok(!seen.has(undefined));
  });

  it("names the methods that a path takes, to those who use another one", async () => {
    for (const [path, allowed] of [
      ["/health", "GET, HEAD"],
      ["/v1/device", "GET, HEAD"],
      ["/v1/device/code", "POST"],
      ["/v1/connect/instances", "GET, HEAD, POST"],
    ] as const) {
      const { status, headers } = await ask(service.origin, path, { method: "DELETE" });
      assert.deepEqual([status, headers["allow"]], [405, allowed], path);
    }
  });

  it("takes the address that the outermost of its proxies wrote, and no other", () => {
    const asked = (forwarded?: string): IncomingMessage =>
      ({
        socket: { remoteAddress: "::ffff:10.0.0.1" },
        headers: forwarded === undefined ? {} : { "x-forwarded-for": forwarded },
      }) as IncomingMessage;
    for (const [proxies, forwarded, address] of [
      [0, "192.0.2.1", "10.0.0.1"],
      [1, undefined, "10.0.0.1"],
      [1, "", "10.0.0.1"],
      [1, "192.0.2.1", "192.0.2.1"],
      [1, "192.0.2.9, 192.0.2.1", "192.0.2.1"],
      [2, "192.0.2.9,192.0.2.1,192.0.2.2", "192.0.2.1"],
      [2, "192.0.2.1", "192.0.2.1"],
      [1, "192.0.2.1, unknown", "10.0.0.1"],
    ] as const)
      assert.equal(addressReader(proxies)(asked(forwarded)), address, `${proxies} ${forwarded}`);
    const ended = { socket: {}, headers: {} } as IncomingMessage;
    assert.equal(addressReader(1)(ended), "");
  });
});
