/** Notifications over a real Home, with Actors and a push service of a test's own. */
import assert from "node:assert/strict";
import {
  createDecipheriv,
  createECDH,
  createPublicKey,
  type ECDH,
  hkdfSync,
  randomBytes,
  verify,
} from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import type { IncomingHttpHeaders } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { RealHttpClient } from "../../platform/http/real-client.ts";
import { Signal } from "../../platform/signal.ts";
import type { Caller } from "../../shared/operations/caller.ts";
import type { NeedsYouItem } from "../../shared/operations/notifications.ts";
import { TestHome } from "../messaging/setting.ts";
import { TestAuthority } from "../support/certificates.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { NO_PEERS, NO_PROCESSES, type Parts } from "../support/services.ts";

interface Asked {
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** A push service on this machine, which answers with `status`. */
export class TestPushService {
  readonly #authority = new TestAuthority();
  readonly #server: Server;
  readonly asked: Asked[] = [];
  status = 201;

  private constructor() {
    const { cert, key } = this.#authority.issue("localhost");
    this.#server = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (request, response) => {
      void buffer(request).then((body) => {
        this.asked.push({ path: request.url ?? "", headers: request.headers, body });
        response.writeHead(this.status).end();
      });
    });
  }

  static async open(): Promise<TestPushService> {
    const service = new TestPushService();
    await new Promise<void>((resolve) => service.#server.listen(0, "localhost", resolve));
    return service;
  }

  get host(): string {
    return `localhost:${(this.#server.address() as AddressInfo).port}`;
  }

  get certificate(): string {
    return this.#authority.pem;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
    this.#authority.remove();
  }
}

/** A browser's end of a subscription: its keys, and reading what comes (RFC 8291). */
export class TestBrowser {
  readonly #key: ECDH = createECDH("prime256v1");
  readonly #auth = randomBytes(16);
  readonly endpoint: string;

  constructor(host: string, name: string) {
    this.#key.generateKeys();
    this.endpoint = `https://${host}/push/${name}`;
  }

  get keys(): { p256dh: string; auth: string } {
    return { p256dh: this.#key.getPublicKey("base64url"), auth: this.#auth.toString("base64url") };
  }

  read({ body }: Asked): unknown {
    const salt = body.subarray(0, 16);
    const sender = body.subarray(21, 21 + body[20]!);
    const sealed = body.subarray(21 + body[20]!);
    const derive = (secret: Uint8Array, with_: Uint8Array, info: string | Uint8Array, bytes: number) =>
      Buffer.from(hkdfSync("sha256", secret, with_, info, bytes));
    const info = Buffer.concat([Buffer.from("WebPush: info\0"), this.#key.getPublicKey(), sender]);
    const secret = derive(this.#key.computeSecret(sender), this.#auth, info, 32);
    const key = derive(secret, salt, "Content-Encoding: aes128gcm\0", 16);
    const nonce = derive(secret, salt, "Content-Encoding: nonce\0", 12);
    const decipher = createDecipheriv("aes-128-gcm", key, nonce).setAuthTag(sealed.subarray(-16));
    const text = Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]);
    return JSON.parse(text.subarray(0, text.lastIndexOf(2)).toString());
  }
}

/** What the sender says of itself, if its signature is by `publicKey` (RFC 8292). */
export function senderOf({ headers }: Asked, publicKey: string): Record<string, unknown> {
  const [, token, key] = /^vapid t=(\S+), k=(\S+)$/u.exec(headers.authorization ?? "") ?? [];
  assert.equal(key, publicKey);
  const point = Buffer.from(publicKey, "base64url");
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((part) => part.toString("base64url"));
  const jwk = createPublicKey({ key: { kty: "EC", crv: "P-256", x: x!, y: y! }, format: "jwk" });
  const [head, claims, signature] = token!.split(".");
  const isValid = verify(
    "sha256",
    Buffer.from(`${head}.${claims}`),
    { key: jwk, dsaEncoding: "ieee-p1363" },
    Buffer.from(signature!, "base64url"),
  );
  assert.ok(isValid, "the signature isn't valid");
  return JSON.parse(Buffer.from(claims!, "base64url").toString()) as Record<string, unknown>;
}

type Doing = ReturnType<Parts["activity"]["workingState"]>;

const NO_DIRECT = {
  health: { problem: null, listener: null, clocks: [] },
  status: () => ({ listener: null, display_name: "", addresses: [], runtime: null, relations: [] }),
  onChange: () => () => {},
};

const IDLE: Doing = { state: "idle", reason: "ready", since: null, last_activity: null, attention: false };

export class Setting {
  readonly home: TestHome;
  readonly #states: Map<string, Doing>;
  readonly #presence: Signal<[groupId: string, actorId: string]>;

  private constructor(
    home: TestHome,
    states: Map<string, Doing>,
    presence: Signal<[groupId: string, actorId: string]>,
  ) {
    this.home = home;
    this.#states = states;
    this.#presence = presence;
  }

  static async open(
    service: TestPushService,
    { root, clock = new ManualClock() }: { root?: string; clock?: ManualClock } = {},
  ): Promise<Setting> {
    const states = new Map<string, Doing>();
    const presence = new Signal<[groupId: string, actorId: string]>();
    const activity = {
      ...NO_PROCESSES.activity().part,
      workingState: (groupId: string, { id }: { id: string }) => states.get(`${groupId} ${id}`) ?? IDLE,
      onPresence: (listener: (groupId: string, actorId: string) => void) => presence.on(listener),
    };
    const home = await TestHome.open({
      clock,
      ...(root === undefined ? {} : { root }),
      push: {
        services: [service.host],
        http: new RealHttpClient({ clock, ca: service.certificate }),
      },
      above: {
        only: ["direct", "notifications"],
        instead: { ...NO_PEERS, activity: () => ({ part: activity }), direct: () => ({ part: NO_DIRECT }) },
      },
    });
    mkdirSync(join(home.root, "secrets"), { recursive: true, mode: 0o700 });
    return new Setting(home, states, presence);
  }

  /** What the caller is shown. */
  list(caller: Caller): NeedsYouItem[] {
    return this.home.services.notifications.needsYou.list(caller);
  }

  /** A Group with an Actor in a terminal. */
  async group(title: string): Promise<string> {
    const { group_id: groupId } = await this.home.call("group_create", { title });
    await this.home.call("actor_add", {
      group_id: groupId,
      actor_id: "ann",
      runtime: "claude",
      runner: "pty",
      command: ["claude"],
    });
    return groupId;
  }

  /** The Actor does that from now on. */
  does(groupId: string, doing: Partial<Doing>): void {
    this.#states.set(`${groupId} ann`, { ...IDLE, ...doing });
    this.#presence.tell(groupId, "ann");
  }

  /** A request to the person; answers its id. */
  async ask(groupId: string, text: string): Promise<string> {
    const { event } = await this.home.send(
      groupId,
      text,
      { to: ["user"], message_mode: "request_reply" },
      this.home.actor(groupId, "ann"),
    );
    return event.id;
  }

  /** Somebody in a browser, with an access token of their own. */
  async person(groups: string[] | null = null): Promise<Caller & { token_id: string }> {
    const made = await this.home.services.access.accessTokens.create({
      name: "Firefox on Android",
      kind: groups === null ? "administrator" : "restricted",
      groups: groups ?? [],
    });
    return groups === null
      ? { kind: "user", by: "user", via: "web", token_id: made.id }
      : { kind: "member", by: "user", token_id: made.id, groups: new Set(groups) };
  }

  async subscribe(
    caller: Caller,
    browser: TestBrowser,
    kinds: NeedsYouItem["kind"][] = ["waiting", "request", "failed", "connection"],
  ): Promise<string> {
    const { endpoint, keys } = browser;
    return (await this.home.call("push_subscribe", { endpoint, keys, kinds }, { as: caller })).id;
  }
}
