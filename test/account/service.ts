/**
 * The account service in this process, on either database, with what daemons and browsers do with
 * it.
 */
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { type IncomingHttpHeaders, type IncomingMessage, request } from "node:http";
import { request as secureRequest } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type RunningService, startService } from "../../account/service.ts";
import type { Settings } from "../../account/settings.ts";
import { freePort } from "../../demo/free-port.ts";
import type { HttpClient } from "../../platform/http/client.ts";
import { RealHttpClient } from "../../platform/http/real-client.ts";
import type { Log, LogFields } from "../../platform/log.ts";
import { RealClock } from "../../platform/real-clock.ts";
import { RealRandom } from "../../platform/real-random.ts";
import { instanceIdOf } from "../../shared/wire/v1/fields.ts";
import type { Registration } from "../../shared/wire/v1/proofs.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { freshDatabase } from "./postgres.ts";

export type Kind = "sqlite" | "postgres";
export const KINDS: readonly Kind[] = ["sqlite", "postgres"];

/** What the service logged, for tests of what it doesn't. */
export class LinesOfLog implements Log {
  readonly lines: string[] = [];
  readonly #add = (event: string, fields: LogFields = {}): void => {
    this.lines.push(JSON.stringify({ event, ...fields }));
  };
  debug = this.#add;
  info = this.#add;
  warn = this.#add;
  error = this.#add;
}

export interface TestServiceOptions extends Partial<Settings> {
  kind?: Kind;
  clock?: ManualClock;
  http?: HttpClient;
}

/** A running service on loopback with the development login, unless the settings say otherwise. */
export class TestService {
  readonly settings: Settings;
  readonly clock: ManualClock;
  readonly log = new LinesOfLog();
  /** Asks instances about their Groups. */
  readonly http: HttpClient;
  #running: RunningService | null = null;

  private constructor(settings: Settings, clock: ManualClock, http: HttpClient) {
    this.settings = settings;
    this.clock = clock;
    this.http = http;
  }

  static async started({
    kind = "sqlite",
    clock,
    http,
    ...given
  }: TestServiceOptions = {}): Promise<TestService> {
    const port = given.port ?? (await freePort());
    const service = new TestService(
      {
        folder: mkdtempSync(join(tmpdir(), "svc-account-")),
        database: kind === "postgres" ? freshDatabase() : null,
        host: "127.0.0.1",
        port,
        origin: `http://localhost:${port}`,
        // Each client names an address of its own.
        proxies: 1,
        developmentLogin: true,
        minimumVersion: null,
        issuer: null,
        ...given,
      },
      clock ?? new ManualClock({ start: Date.now() }),
      http ?? new RealHttpClient({ clock: new RealClock() }),
    );
    await service.start();
    return service;
  }

  async start(): Promise<void> {
    const platform = { clock: this.clock, random: new RealRandom(), log: this.log, http: this.http };
    this.#running = await startService(this.settings, platform);
  }

  /** Stops it; `start` goes on with the same store. */
  async stop(): Promise<void> {
    await this.#running?.stop();
    this.#running = null;
  }

  async dispose(): Promise<void> {
    await this.stop();
    this.http.close();
    rmSync(this.settings.folder, { recursive: true, force: true });
  }

  get origin(): string {
    return this.settings.origin;
  }

  get store(): RunningService["store"] {
    return this.#running!.store;
  }

  /** A browser without cookies. */
  browser(): TestBrowser {
    return new TestBrowser(this.origin);
  }

  /** A browser that is signed in under this name. */
  async member(name: string): Promise<TestBrowser> {
    const browser = this.browser();
    await browser.submit("/login", "/login/development", { name });
    return browser;
  }

  /** Walks a device through its grant, approved by the member. */
  async device(member: TestBrowser): Promise<TestDevice> {
    const device = new TestDevice(this);
    const grant = await device.ask();
    await member.approve(grant.user_code);
    await device.fetchToken(grant.device_code);
    return device;
  }
}

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  // What a service answers is looked at member by member.
  // oxlint-disable-next-line typescript/no-explicit-any
  body: any;
}

export interface Question {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
  /** Another service than the one of the origin, behind the same name. */
  port?: number | undefined;
  /** The authority of its certificate. */
  ca?: string;
}

/** One request on a connection of its own, which follows no redirect. */
export async function ask(origin: string, path: string, question: Question = {}): Promise<Answer> {
  const { protocol, hostname, port, host } = new URL(origin);
  const { ca } = question;
  return new Promise((resolve, reject) => {
    const send = protocol === "https:" ? secureRequest : request;
    const sent = send(
      {
        host: hostname.endsWith(".svc.test") ? "127.0.0.1" : hostname,
        ...(ca !== undefined && { ca, servername: hostname }),
        port: question.port ?? port,
        path,
        method: question.method ?? "GET",
        headers: { host, ...question.headers },
        agent: false,
      },
      (response: IncomingMessage) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () => {
          const text = Buffer.concat(chunks).toString("utf8");
          const isJson = response.headers["content-type"]?.startsWith("application/json") ?? false;
          resolve({
            status: response.statusCode!,
            headers: response.headers,
            body: isJson ? JSON.parse(text) : text,
          });
        });
      },
    );
    sent.on("error", reject);
    sent.end(question.body);
  });
}

let addresses = 0;
/** An address of its own for each client, as a proxy reports it. */
function freshAddress(): string {
  addresses += 1;
  return `10.${(addresses >> 16) & 255}.${(addresses >> 8) & 255}.${addresses & 255}`;
}

/** What a browser does: keeps its cookie, takes the token from the page, names its origin. */
export class TestBrowser {
  readonly origin: string;
  readonly cookies = new Map<string, string>();
  readonly address = freshAddress();
  readonly #ask: typeof ask;

  /** `send` carries its requests: over a connection each, unless another way is given. */
  constructor(origin: string, send = ask) {
    this.origin = origin;
    this.#ask = send;
  }

  async get(path: string): Promise<Answer> {
    return this.#keep(await this.#ask(this.origin, path, { headers: this.#headers() }));
  }

  /** Opens a page and sends the form with this action from it, with its hidden fields. */
  async submit(path: string, action: string, fields: Record<string, string>): Promise<Answer> {
    const page = await this.get(path);
    return this.post(action, { csrf: csrfOf(page.body as string), ...fields });
  }

  /** Sends a form as it is. */
  async post(
    path: string,
    fields: Record<string, string>,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    return this.#keep(
      await this.#ask(this.origin, path, {
        method: "POST",
        headers: {
          "content-type": "application/x-www-form-urlencoded",
          origin: this.origin,
          "sec-fetch-site": "same-origin",
          ...this.#headers(),
          ...headers,
        },
        body: new URLSearchParams(fields).toString(),
      }),
    );
  }

  /** Lets the device with this code in, as its member would. */
  async approve(userCode: string): Promise<Answer> {
    const question = await this.submit("/device", "/device", { user_code: userCode });
    return this.post("/device/decide", {
      csrf: csrfOf(question.body as string),
      user_code: userCode,
      decision: "approved",
    });
  }

  #headers(): Record<string, string> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    return { "x-forwarded-for": this.address, ...(cookie !== "" && { cookie }) };
  }

  #keep(answer: Answer): Answer {
    for (const line of answer.headers["set-cookie"] ?? []) {
      const [, name, value] = /^([^=]+)=([^;]*)/u.exec(line)!;
      this.cookies.set(name!, value!);
    }
    return answer;
  }
}

export function csrfOf(page: string): string {
  const [, token] = /name="csrf" value="([^"]+)"/u.exec(page) ?? [];
  if (token === undefined) throw new Error(`no form in:\n${page}`);
  return token;
}

/** An instance's key. */
export class TestInstance {
  readonly #key: KeyObject;
  readonly public_key: string;
  readonly instance_id: string;

  constructor() {
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    const bytes = Buffer.from(publicKey.export({ format: "jwk" }).x!, "base64url");
    this.#key = privateKey;
    this.public_key = bytes.toString("base64");
    this.instance_id = instanceIdOf(bytes);
  }

  /** Signs texts by the contract's own words, not by the product's code (DIR-024). */
  sign(array: readonly unknown[]): string {
    return this.signText(JSON.stringify(array));
  }

  signText(text: string): string {
    return sign(null, Buffer.from(text, "utf8"), this.#key).toString("base64");
  }
}

export const VERSION = "0.5.0";

/** What a device has to know about its service. */
export interface AnyService {
  readonly origin: string;
  readonly clock: { now(): number };
}

/** A daemon as the service sees it. */
export class TestDevice {
  readonly #service: AnyService;
  readonly address = freshAddress();
  token = "";
  id = "";
  hostname = "";

  readonly #port: number | undefined;

  /** `port` leads to another service behind the same name. */
  constructor(service: AnyService, port?: number) {
    this.#service = service;
    this.#port = port;
  }

  async ask(body: object = {}): Promise<{ device_code: string; user_code: string; interval: number }> {
    const { status, body: grant } = await this.post("/v1/device/code", body);
    if (status !== 200) throw new Error(`no grant: ${status} ${JSON.stringify(grant)}`);
    return grant;
  }

  async poll(deviceCode: string): Promise<Answer> {
    return this.post("/v1/device/token", {
      grant_type: "urn:ietf:params:oauth:grant-type:device_code",
      device_code: deviceCode,
    });
  }

  async fetchToken(deviceCode: string): Promise<void> {
    const { status, body } = await this.poll(deviceCode);
    if (status !== 200) throw new Error(`no token: ${status} ${JSON.stringify(body)}`);
    this.token = body.access_token;
    this.id = body.device_id;
    this.hostname = body.hostname;
  }

  headers(more: Record<string, string> = {}): Record<string, string> {
    return {
      "x-forwarded-for": this.address,
      "svc-membership-version": "1",
      "svc-client-version": VERSION,
      ...(this.token === "" ? {} : { authorization: `Bearer ${this.token}` }),
      ...more,
    };
  }

  async get(path: string, more: Record<string, string> = {}): Promise<Answer> {
    return ask(this.#service.origin, path, { headers: this.headers(more), port: this.#port });
  }

  async post(path: string, body: unknown, more: Record<string, string> = {}): Promise<Answer> {
    return ask(this.#service.origin, path, {
      method: "POST",
      port: this.#port,
      headers: { "content-type": "application/json", ...this.headers(more) },
      body: typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body),
    });
  }

  /** A registration that holds, with changes made before it is signed. */
  registration(instance: TestInstance, changes: Partial<Registration> = {}): Registration {
    const fields = {
      instance_id: instance.instance_id,
      public_key: instance.public_key,
      client_version: VERSION,
      public_origin: null,
      issued_at: new Date(this.#service.clock.now()).toISOString(),
      ...changes,
    };
    const signature = instance.sign([
      "svc.connect.register.v1",
      this.#service.origin,
      this.id,
      fields.instance_id,
      fields.public_key,
      fields.client_version,
      fields.public_origin,
      fields.issued_at,
    ]);
    return { ...fields, signature, ...changes };
  }

  async register(instance: TestInstance, changes: Partial<Registration> = {}): Promise<Answer> {
    return this.post("/v1/connect/instances", this.registration(instance, changes));
  }

  async directory(): Promise<Answer> {
    return this.get("/v1/connect/instances");
  }
}
