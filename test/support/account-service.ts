/**
 * An account service by the contract, in memory and on loopback, that answers what a test wants:
 * late, wrongly, or not at all.
 */
import { createPublicKey, randomBytes, verify } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Registration } from "../../shared/wire/v1/proofs.ts";
import { registrationStatement } from "../../shared/wire/v1/signing.ts";

interface Device {
  id: string;
  account: string;
  token: string;
  name: string;
  isRetired: boolean;
  registration: Registration | null;
  registeredAt: string;
}

interface Grant {
  deviceCode: string;
  userCode: string;
  hostname: string;
  state: "pending" | "approved" | "denied";
  account: string;
}

/** A request as it came, and what the service would answer. */
export interface Asked {
  method: string;
  path: string;
  headers: IncomingMessage["headers"];
  body: unknown;
  at: number;
}

interface Answer {
  status: number;
  body: unknown;
  headers?: Record<string, string>;
}

/** What becomes of an answer: null sends nothing at all. */
export type Fault = (asked: Asked, answer: Answer) => Answer | null | Promise<Answer | null>;

const LABEL = "Ann's account";

export class TestAccountService {
  readonly asked: Asked[] = [];
  readonly devices = new Map<string, Device>();
  readonly #grants = new Map<string, Grant>();
  readonly #server: Server;
  fault: Fault = (_asked, answer) => answer;
  label: string | null = LABEL;
  interval = 1;
  /** How far this service's clock is ahead. */
  ahead = 0;
  origin = "";

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        response.statusCode = 500;
        response.end(String(error));
      });
    });
  }

  static async open(): Promise<TestAccountService> {
    const service = new TestAccountService();
    service.#server.listen(0, "127.0.0.1");
    await once(service.#server, "listening");
    const address = service.#server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    service.origin = `http://127.0.0.1:${address.port}`;
    return service;
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close").catch(() => undefined);
  }

  /** A person confirms a code. */
  approve(userCode: string, account = "account-1"): void {
    const grant = this.#byUserCode(userCode);
    grant.state = "approved";
    grant.account = account;
  }

  deny(userCode: string): void {
    this.#byUserCode(userCode).state = "denied";
  }

  /** A device that is there without a login. */
  device(account = "account-1"): { device_id: string; device_token: string } {
    const device = this.#device(account, "");
    return { device_id: device.id, device_token: device.token };
  }

  retire(deviceId: string): void {
    this.devices.get(deviceId)!.isRetired = true;
  }

  /** Requests to an address, so far. */
  count(method: string, path: string): number {
    return this.asked.filter((one) => one.method === method && one.path === path).length;
  }

  #byUserCode(userCode: string): Grant {
    const grant = [...this.#grants.values()].find((one) => one.userCode === userCode);
    if (grant === undefined) throw new Error("no such code");
    return grant;
  }

  #device(account: string, name: string): Device {
    const device: Device = {
      id: `dev_${randomBytes(6).toString("hex")}`,
      account,
      token: randomBytes(32).toString("base64url"),
      name,
      isRetired: false,
      registration: null,
      registeredAt: "",
    };
    this.devices.set(device.id, device);
    return device;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const text = Buffer.concat(pieces).toString();
    const asked: Asked = {
      method: request.method ?? "",
      path: request.url ?? "",
      headers: request.headers,
      body: text === "" ? null : JSON.parse(text),
      at: performance.now(),
    };
    this.asked.push(asked);
    const answer = await this.fault(asked, this.#answer(asked));
    if (answer === null) {
      request.socket.destroy();
      return;
    }
    response.writeHead(answer.status, { "content-type": "application/json", ...answer.headers });
    response.end(typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body));
  }

  #answer(asked: Asked): Answer {
    const { method, path, headers } = asked;
    const body = (asked.body ?? {}) as Record<string, string>;
    if (method === "POST" && path === "/v1/device/code") return this.#code(body["hostname"] ?? "");
    if (method === "POST" && path === "/v1/device/token") return this.#token(body["device_code"] ?? "");
    const token = /^Bearer (.+)$/u.exec(headers.authorization ?? "")?.[1];
    const device = [...this.devices.values()].find((one) => one.token === token);
    if (device === undefined) return refused(401, "unauthenticated");
    if (method === "POST" && path === "/v1/device/disable") {
      device.isRetired = true;
      return { status: 200, body: { disabled: true } };
    }
    if (device.isRetired) return refused(403, "device_disabled");
    if (method === "POST" && path === "/v1/device/name") {
      device.name = body["display_name"] ?? "";
      return { status: 200, body: { display_name: device.name } };
    }
    if (path === "/v1/connect/instances") {
      if (method === "POST") {
        const refusal = this.#register(device, asked.body as Registration);
        if (refusal !== null) return refusal;
      }
      return { status: 200, body: this.#directory(device), headers: { "cache-control": "no-store" } };
    }
    return refused(404, "not_found");
  }

  #code(hostname: string): Answer {
    const grant: Grant = {
      deviceCode: randomBytes(32).toString("base64url"),
      userCode: "BCDF-GHJK".replaceAll(/[A-Z]/gu, () => "BCDFGHJKLM"[randomBytes(1)[0]! % 10]!),
      hostname,
      state: "pending",
      account: "",
    };
    this.#grants.set(grant.deviceCode, grant);
    const page = `${this.origin}/device`;
    return {
      status: 200,
      body: {
        device_code: grant.deviceCode,
        user_code: grant.userCode,
        verification_uri: page,
        verification_uri_complete: `${page}?user_code=${grant.userCode}`,
        expires_in: 900,
        interval: this.interval,
      },
    };
  }

  #token(deviceCode: string): Answer {
    const grant = this.#grants.get(deviceCode);
    if (grant === undefined) return { status: 400, body: { error: "expired_token" } };
    if (grant.state === "pending") return { status: 400, body: { error: "authorization_pending" } };
    if (grant.state === "denied") return { status: 400, body: { error: "access_denied" } };
    this.#grants.delete(deviceCode);
    const device = this.#device(grant.account, "");
    return {
      status: 200,
      body: {
        access_token: device.token,
        token_type: "Bearer",
        device_id: device.id,
        hostname: `${device.id}.example`,
      },
    };
  }

  #register(device: Device, registration: Registration): Answer | null {
    const key = createPublicKey({
      key: {
        kty: "OKP",
        crv: "Ed25519",
        x: Buffer.from(registration.public_key, "base64").toString("base64url"),
      },
      format: "jwk",
    });
    const statement = registrationStatement({ account_origin: this.origin, device_id: device.id });
    if (!verify(null, statement.material(registration), key, Buffer.from(registration.signature, "base64")))
      return refused(400, "invalid_request");
    if (Math.abs(Date.parse(registration.issued_at) - this.#now()) > 120_000)
      return refused(400, "invalid_request");
    const other = [...this.devices.values()].find(
      (one) => one !== device && !one.isRetired && one.registration?.instance_id === registration.instance_id,
    );
    if (other !== undefined) return refused(409, "instance_conflict");
    if (device.registration !== null && device.registration.issued_at > registration.issued_at)
      return refused(409, "conflict");
    device.registration = registration;
    device.registeredAt = new Date(this.#now()).toISOString();
    return null;
  }

  #now(): number {
    return Date.now() + this.ahead;
  }

  #directory(caller: Device): unknown {
    return {
      protocol_version: 1,
      account_id: caller.account,
      account_label: this.label,
      device_id: caller.id,
      issued_at: new Date(this.#now()).toISOString(),
      expires_at: new Date(this.#now() + 120_000).toISOString(),
      instances: [...this.devices.values()]
        .filter(
          ({ account, isRetired, registration }) =>
            account === caller.account && !isRetired && registration !== null,
        )
        .map(({ id, name, registration, registeredAt }) => ({
          instance_id: registration!.instance_id,
          device_id: id,
          public_key: registration!.public_key,
          client_version: registration!.client_version,
          public_origin: registration!.public_origin,
          display_name: name || `Svc · ${id.slice(-6)}`,
          registered_at: registeredAt,
          // Something that a later version might tell.
          colour: "blue",
        })),
    };
  }
}

function refused(status: number, code: string): Answer {
  return { status, body: { error: { code, message: `The test refuses: ${code}.` } } };
}
