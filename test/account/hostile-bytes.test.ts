/** What a service on the Internet gets as bytes: headers twice, proxies' addresses, slow bodies. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { LIMITS } from "../../shared/limits.ts";
import { until } from "../support/until.ts";
import { hostileService } from "./hostile-setting.ts";
import { ask, KINDS, TestDevice, type TestService } from "./service.ts";

/** What the service answers to these bytes until it ends the connection. */
function spoken(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(text));
    let answer = "";
    socket.setEncoding("latin1").on("data", (piece: string) => {
      answer += piece;
    });
    socket.once("error", reject).once("close", () => resolve(answer));
  });
}

for (const kind of KINDS) {
  describe(`hostile requests, ${kind}`, () => {
    let service: TestService;
    before(async () => {
      service = await hostileService(kind);
    });
    after(async () => service.dispose());

    it("confuse nobody with a header or a cookie twice", async () => {
      const ada = await service.member("Ada");
      const device = await service.device(ada);
      const mallory = await service.device(await service.member("Mallory"));
      const { host } = new URL(service.origin);
      const own = `authorization: Bearer ${device.token}`;
      const versions = ["svc-membership-version: 1", "svc-client-version: 0.5.0"];
      const status = async (method: string, path: string, lines: string[]): Promise<number> => {
        const head = [`${method} ${path} HTTP/1.1`, ...lines, "connection: close", "", ""].join("\r\n");
        return Number(/^HTTP\/1\.1 ([0-9]{3})/u.exec(await spoken(service.settings.port, head))?.[1]);
      };
      const instances = (lines: string[]) => status("GET", "/v1/connect/instances", lines);
      assert.equal(await instances([`host: ${host}`, own, ...versions]), 200);
      for (const [lines, expected] of [
        [[`host: ${host}`, own, `authorization: Bearer ${mallory.token}`, ...versions], 401],
        [
          [`host: ${host}`, `authorization: Bearer ${mallory.token}, Bearer ${device.token}`, ...versions],
          401,
        ],
        [[`host: ${host}`, own, ...versions, "svc-client-version: 0.5.0"], 426],
        [[`host: ${host}`, own, ...versions, "svc-membership-version: 1"], 426],
        [[`host: ${host}`, "host: evil.example", own, ...versions], 421],
        [["host: evil.example", `x-forwarded-host: ${host}`, own, ...versions], 421],
        [[`host: ${host}`, own, ...versions, "content-length: 1", "transfer-encoding: chunked"], 400],
        [[`host: ${host}`, own, ...versions, "content-length: 1", "content-length: 2"], 400],
      ] as const)
        assert.equal(
          await instances([...lines]),
          expected,
          lines.join(" | ").replaceAll(/Bearer \S+/gu, "…"),
        );

      // A person who came by another name of the machine is led to the right one.
      const elsewhere = await ask(service.origin, "/", { headers: { host: "evil.example" } });
      assert.match(elsewhere.body as string, /The account service has another address\. Use http/u);
      assert.ok((elsewhere.body as string).includes(`<p><a href="${service.origin}/">`));

      const [[name, token]] = [...ada.cookies] as [[string, string]];
      const home = (cookie: string) => status("GET", "/", [`host: ${host}`, `cookie: ${cookie}`]);
      assert.equal(await home(`${name}=${token}`), 200);
      for (const cookie of [
        `${name}=${token}; ${name}=${token}`,
        `${name}=${"x".repeat(43)}; ${name}=${token}`,
        `${name.toUpperCase()}=${token}`,
        `__Host-${name}=${token}`,
        `${name}="${token}"`,
        `${name}=${token}=`,
      ])
        assert.equal(await home(cookie), 303, cookie.replaceAll(token, "…"));
    });

    it("are counted by the proxy's address if it forwards none", async () => {
      const statuses: number[] = [];
      for (let tries = 0; tries <= LIMITS.account.grantsPerMinute; tries += 1) {
        const headers = { "x-forwarded-for": `nowhere-${tries}` };
        statuses.push((await new TestDevice(service).post("/v1/device/code", {}, headers)).status);
      }
      assert.equal(statuses.at(-1), 429);
    });

    it("have their own address when the proxy forwards a port with it", async () => {
      for (const [forwarded, address] of [
        ["192.0.2.7:51234", "192.0.2.7"],
        ["[2001:db8::7]:51234", "2001:db8::7"],
        ["[2001:db8::8]", "2001:db8::8"],
        ["::ffff:192.0.2.8", "192.0.2.8"],
      ] as const) {
        const headers = { "x-forwarded-for": forwarded };
        assert.equal((await new TestDevice(service).post("/v1/device/code", {}, headers)).status, 200);
        const { db } = service.store;
        const grants = await db.selectFrom("device_grants").select("address").execute();
        assert.ok(
          grants.some((grant) => grant.address === address),
          forwarded,
        );
      }
    });

    it("hold no request open with a slow body", async () => {
      const ada = await service.member("Ada");
      const device = await service.device(ada);
      const { host } = new URL(service.origin);
      const cookie = [...ada.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
      const json = [
        "content-type: application/json",
        ...Object.entries(device.headers()).map((pair) => pair.join(": ")),
      ];
      const form = [
        "content-type: application/x-www-form-urlencoded",
        `origin: ${service.origin}`,
        `cookie: ${cookie}`,
      ];
      for (const [path, headers] of [
        ["/v1/connect/instances", json],
        ["/v1/device/name", json],
        ["/devices/rename", form],
      ] as const) {
        const head = [`POST ${path} HTTP/1.1`, `host: ${host}`, ...headers, "content-length: 100", "", "{"];
        let answer: string | null = null;
        const slow = spoken(service.settings.port, head.join("\r\n")).then((text) => {
          answer = text;
        });
        await until("the end of the wait", async () => {
          service.clock.advance(LIMITS.http.requestSeconds * 1000);
          // Others are answered meanwhile.
          assert.equal((await ada.get("/login")).status < 400, true);
          return answer;
        });
        await slow;
        assert.match(answer ?? "", /^HTTP\/1\.1 408 [\s\S]*\r\nConnection: close\r\n/u, path);
      }
    });
  });
}
