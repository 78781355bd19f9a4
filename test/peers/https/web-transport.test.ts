/**
 * Requests to other instances over real sockets, to a target that answers whatever a test wants:
 * nothing leaves before it has proved its identity, and only its signed answer says anything.
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { InstanceIdentity } from "../../../daemon/home/identity.ts";
import type { Grant } from "../../../daemon/peers/authority.ts";
import { WebTransport } from "../../../daemon/peers/https/web-transport.ts";
import { type Answer, PeerSender } from "../../../daemon/peers/requests/peer-sender.ts";
import { requestDigest } from "../../../daemon/peers/wire/digests.ts";
import { signStatement } from "../../../daemon/peers/wire/statements.ts";
import { RealHttpClient } from "../../../platform/http/real-client.ts";
import { RealRandom } from "../../../platform/real-random.ts";
import { ConnectPeerAuthorization } from "../../../shared/wire/v1/peer.ts";
import type { ConnectIdentityProof } from "../../../shared/wire/v1/proofs.ts";
import { identityStatement, responseStatement, type Unsigned } from "../../../shared/wire/v1/signing.ts";
import { MemoryLog } from "../../operations/support.ts";
import { verifies } from "../../requirements.ts";
import { ManualClock } from "../../support/manual-clock.ts";
import { until } from "../../support/until.ts";
import { ACCOUNT, newIdentity, ORIGIN } from "../receiver-setting.ts";

interface Reply {
  status?: number;
  headers?: Record<string, string>;
  body: string;
}

interface Asked {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
}

/** What a request is answered with; null for nothing at all. */
type Replies<Question> = (question: Question) => Reply | null;

/** Another instance, and this one that asks it. */
class Setting {
  readonly clock = new ManualClock();
  readonly asked: Asked[] = [];
  readonly here: InstanceIdentity;
  readonly there: InstanceIdentity;
  readonly sender: PeerSender;
  readonly transport: WebTransport;
  readonly #http: RealHttpClient;
  readonly #server: Server;
  readonly #abort = new AbortController();
  onIdentity: Replies<string> = (nonce) => ({ body: JSON.stringify(this.identityProof(nonce)) });
  onRequest: Replies<ConnectPeerAuthorization> = (proof) => ({ body: this.signedAnswer(proof) });

  private constructor(here: InstanceIdentity, there: InstanceIdentity) {
    this.here = here;
    this.there = there;
    const { clock } = this;
    const random = new RealRandom();
    this.#http = new RealHttpClient({ clock });
    this.transport = new WebTransport({ clock, random, http: this.#http });
    this.sender = new PeerSender({
      clock,
      random,
      log: new MemoryLog(),
      identity: here,
      contacts: { answered: () => {}, denied: () => {} },
    });
    this.#server = createServer((request, response) => {
      const { method = "", url: path = "", headers } = request;
      this.asked.push({ method, path, headers });
      const answer = (reply: Reply | null): void => {
        if (reply !== null) response.writeHead(reply.status ?? 200, reply.headers ?? {}).end(reply.body);
      };
      const { pathname, searchParams } = new URL(path, this.origin);
      if (pathname === "/api/v1/connect/identity") answer(this.onIdentity(searchParams.get("nonce") ?? ""));
      else if (pathname === "/api/v1/connect/peer") {
        const header = Buffer.from(String(headers["svc-connect-proof"]), "base64url").toString();
        const proof = ConnectPeerAuthorization.parse(JSON.parse(header));
        void text(request).then(() => answer(this.onRequest(proof)));
      } else answer({ status: 200, body: "{}" });
    });
  }

  static async open(): Promise<Setting> {
    const setting = new Setting(await newIdentity(), await newIdentity());
    setting.#server.listen(0, "127.0.0.1");
    await once(setting.#server, "listening");
    return setting;
  }

  async close(): Promise<void> {
    this.#abort.abort();
    this.#http.close();
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get route() {
    const { instance_id: instanceId, public_key: publicKey } = this.there;
    return {
      via: "web" as const,
      origin: this.origin,
      instance_id: instanceId,
      device_id: "device-there",
      public_key: publicKey,
    };
  }

  identityProof(
    nonce: string,
    changes: Partial<Unsigned<ConnectIdentityProof>> = {},
    signer = this.there,
  ): ConnectIdentityProof {
    return signStatement(identityStatement, signer, {
      instance_id: this.there.instance_id,
      device_id: "device-there",
      public_origin: this.origin,
      client_version: "0.5.0",
      nonce,
      expires_at: new Date(this.clock.now() + 30_000).toISOString(),
      ...changes,
    });
  }

  signedAnswer(proof: ConnectPeerAuthorization, signer = this.there): string {
    const response = signStatement(responseStatement, signer, {
      request_id: proof.request_id,
      request_sha256: requestDigest(proof),
      result: { ok: true, result: { groups: [], next: null } },
    });
    return JSON.stringify({ ok: true, result: { response } });
  }

  /** Asks for the catalog. */
  ask(): Promise<Answer> {
    const end = ({ instance_id: instanceId, public_key: publicKey }: InstanceIdentity, deviceId: string) => ({
      instance_id: instanceId,
      device_id: deviceId,
      public_key: publicKey,
      client_version: "0.5.0",
      name: "An instance",
      public_origin: null,
    });
    const grant: Grant = {
      authority: "account",
      connection_id: null,
      account_origin: ORIGIN,
      account_id: ACCOUNT,
      local: end(this.here, "device-here"),
      remote: end(this.there, "device-there"),
      pair: null,
      route: this.route,
      transport: this.transport,
    };
    const operation = { op: "catalog" as const, source_group_id: "", target_group_id: null, after: null };
    return this.sender.ask(grant, operation, this.#abort.signal, { isStillGranted: () => true });
  }

  challenge(milliseconds: number) {
    const deadline = this.clock.monotonic() + milliseconds;
    return this.transport.challenge(this.route, deadline, this.#abort.signal);
  }

  get methods(): string[] {
    return this.asked.map(({ method }) => method);
  }

  /** Waits for so many requests, then lets 5 s pass: it settles at their last millisecond. */
  async after5Seconds(requests: number, isSettled: () => boolean): Promise<void> {
    await until("the request", () => this.asked.length === requests);
    this.clock.advance(4999);
    await new Promise((resolve) => setImmediate(resolve));
    assert.ok(!isSettled());
    this.clock.advance(1);
  }
}

describe("requests over HTTPS", () => {
  let setting: Setting;

  beforeEach(async () => {
    setting = await Setting.open();
  });
  afterEach(() => setting.close());

  it("follow a proof of identity that is asked for at the advertised origin, without credentials", async () => {
    verifies("PEER-046", "PEER-053", "PEER-054", "PROOF-016");
    assert.equal((await setting.ask()).kind, "result");
    const [identity, request] = setting.asked;
    assert.deepEqual(setting.methods, ["GET", "POST"]);
    assert.equal(`http://${identity?.headers.host}`, setting.origin);
    assert.match(identity?.path ?? "", /^\/api\/v1\/connect\/identity\?nonce=[0-9a-f-]{36}$/u);
    for (const name of ["authorization", "cookie", "svc-connect-proof"]) {
      assert.equal(identity?.headers[name], undefined, name);
    }
    assert.match(String(request?.headers["svc-connect-proof"]), /^[\w-]+$/u);
    assert.equal(request?.headers.authorization, undefined);
    assert.equal(request?.headers.cookie, undefined);
  });

  it("don't leave when the directory has a key for the other instance that no one can sign with", async () => {
    const { signal } = new AbortController();
    const deadline = setting.clock.monotonic() + 5000;
    for (const key of [Buffer.alloc(32), Buffer.alloc(32, 255), Buffer.alloc(31)]) {
      const route = { ...setting.route, public_key: key.toString("base64") };
      const { stranger } = await setting.transport.challenge(route, deadline, signal);
      assert.match(stranger ?? "", /isn't signed with the instance's key/u);
    }
  });

  it("don't leave when any field of the identity is wrong, or it is too old", async () => {
    verifies("PEER-046", "PROOF-003");
    const stranger = await newIdentity();
    const at = (milliseconds: number) => new Date(setting.clock.now() + milliseconds).toISOString();
    const wrong: Partial<Unsigned<ConnectIdentityProof>>[] = [
      { instance_id: stranger.instance_id },
      { device_id: "device-before" },
      { public_origin: "https://elsewhere.example" },
      { public_origin: null },
      { nonce: randomUUID() },
      { expires_at: at(0) },
      { expires_at: at(60_001) },
    ];
    const replies: Replies<string>[] = [
      ...wrong.map(
        (changes): Replies<string> =>
          (nonce) => ({
            body: JSON.stringify(setting.identityProof(nonce, changes)),
          }),
      ),
      // Changed after it was signed.
      (nonce) => ({ body: JSON.stringify({ ...setting.identityProof(nonce), client_version: "9.9.9" }) }),
      (nonce) => ({ body: JSON.stringify({ ...setting.identityProof(nonce), expires_at: at(29_000) }) }),
      (nonce) => ({ body: JSON.stringify(setting.identityProof(nonce, {}, stranger)) }),
      (nonce) => ({ body: JSON.stringify({ ...setting.identityProof(nonce), colour: "blue" }) }),
      (nonce) => ({ status: 201, body: JSON.stringify(setting.identityProof(nonce)) }),
      () => ({ body: "<html>Welcome</html>" }),
      () => ({ body: "" }),
    ];
    for (const reply of replies) {
      setting.onIdentity = reply;
      assert.equal((await setting.ask()).kind, "not_sent", reply(randomUUID())?.body);
    }
    assert.deepEqual(new Set(setting.methods), new Set(["GET"]));
  });

  it("follow no redirect", async () => {
    verifies("PEER-045", "PEER-055");
    const elsewhere = { location: `${setting.origin}/elsewhere` };
    setting.onRequest = () => ({ status: 307, headers: elsewhere, body: "" });
    assert.equal((await setting.ask()).kind, "unknown");
    setting.onIdentity = () => ({ status: 302, headers: elsewhere, body: "" });
    assert.equal((await setting.ask()).kind, "not_sent");
    assert.deepEqual(setting.methods, ["GET", "POST", "GET"]);
    assert.ok(setting.asked.every(({ path }) => !path.startsWith("/elsewhere")));
  });

  it("take an identity of at most 4 KiB within 5 seconds", async () => {
    verifies("LIM-010", "LIM-011");
    const padded = (bytes: number): Replies<string> => {
      return (nonce) => ({ body: JSON.stringify(setting.identityProof(nonce)).padEnd(bytes, " ") });
    };
    setting.onIdentity = padded(4096);
    assert.equal((await setting.challenge(60_000)).stranger, null);
    setting.onIdentity = padded(4097);
    assert.notEqual((await setting.challenge(60_000)).stranger, null);
    setting.onIdentity = () => null;
    let stranger: string | null = null;
    const done = setting.challenge(60_000).then((said) => {
      ({ stranger } = said);
    });
    await setting.after5Seconds(3, () => stranger !== null);
    await done;
    assert.match(stranger ?? "", /within 5 seconds/u);
  });

  it("wait 5 seconds for their answer", async () => {
    verifies("LIM-015");
    setting.onRequest = () => null;
    let answer: Answer | null = null;
    const done = setting.ask().then((got) => {
      answer = got;
    });
    await setting.after5Seconds(2, () => answer !== null);
    await done;
    assert.deepEqual(setting.methods, ["GET", "POST"]);
    assert.equal((answer as Answer | null)?.kind, "unknown");
  });

  it("have no result without the target's own signature, whatever the status says", async () => {
    verifies("PEER-024", "PEER-021", "PEER-022");
    const replies: Replies<ConnectPeerAuthorization>[] = [
      () => ({ body: "{}" }),
      () => ({ body: "" }),
      () => ({ body: "OK" }),
      () => ({ body: JSON.stringify({ ok: true, result: {} }) }),
      () => ({ status: 204, body: "" }),
      (proof) => ({ body: setting.signedAnswer(proof, setting.here) }),
      (proof) => ({ body: setting.signedAnswer({ ...proof, request_id: randomUUID() }) }),
      (proof) => ({ body: setting.signedAnswer({ ...proof, operation_sha256: "0".repeat(64) }) }),
      (proof) => ({ body: setting.signedAnswer(proof).replace('"groups":[]', '"groups":[1]') }),
      () => ({ status: 403, body: JSON.stringify({ ok: false, error: { code: "x", message: "No." } }) }),
    ];
    for (const reply of replies) {
      setting.onRequest = reply;
      assert.equal((await setting.ask()).kind, "unknown");
    }
    assert.equal(setting.methods.filter((method) => method === "POST").length, replies.length);
  });
});
