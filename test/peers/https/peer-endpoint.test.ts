/**
 * The peer endpoint on a real Web listener, with the real directory and receiver behind it: what
 * isn't the peer's is refused before its body is read, and nothing is stored.
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import type { PeerPort } from "../../../daemon/http/api/peers.ts";
import { AccountAuthority } from "../../../daemon/peers/account/account-authority.ts";
import { Authorities } from "../../../daemon/peers/authorities.ts";
import { PeerEndpoint } from "../../../daemon/peers/https/peer-endpoint.ts";
import { WebTransport } from "../../../daemon/peers/https/web-transport.ts";
import { sha256Hex } from "../../../daemon/peers/wire/digests.ts";
import { verifyStatement } from "../../../daemon/peers/wire/statements.ts";
import { VerifyingKey } from "../../../platform/keys.ts";
import { RealRandom } from "../../../platform/real-random.ts";
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { API_PREFIX } from "../../../shared/names.ts";
import { toBase64Url } from "../../../shared/wire/v1/base64.ts";
import {
  ConnectPeerAnswer,
  type ConnectPeerAuthorization,
  type ConnectPeerOperation,
} from "../../../shared/wire/v1/peer.ts";
import { ConnectIdentityProof } from "../../../shared/wire/v1/proofs.ts";
import { identityStatement } from "../../../shared/wire/v1/signing.ts";
import { GROUP, openSetting, type Setting } from "../../http/setting.ts";
import { verifies } from "../../requirements.ts";
import { until } from "../../support/until.ts";
import { DirectorySetting } from "../account/directory-setting.ts";
import { violationsOf } from "../content-violations.ts";
import {
  deliverOperation,
  MINUTE,
  newIdentity,
  type ProofChanges,
  refused,
  Target,
} from "../receiver-setting.ts";

const PATH = `${API_PREFIX}/connect/peer`;
const { connect } = LIMITS;

interface Refused {
  status: number;
  code: string | undefined;
}
const DENIED = { status: 403, code: "connect_peer_denied" };

/** How a request arrived at the endpoint, and what became of it there. */
interface Arrived {
  request: IncomingMessage;
  /** Null until it is answered. */
  code: string | null;
  /** Whether reading its body had begun when it was answered. */
  isRead: boolean;
}

/** A Home whose Web listener takes the requests of one peer that its account lists. */
class Listening {
  readonly arrived: Arrived[] = [];
  readonly target: Target;
  readonly account: DirectorySetting;
  readonly authority: AccountAuthority;
  readonly peers: PeerPort;
  web!: Setting;

  private constructor(target: Target, account: DirectorySetting) {
    this.target = target;
    this.account = account;
    const { identity, home } = target;
    const { clock } = home;
    const { membership, directory } = account;
    const transport = new WebTransport({ clock, random: new RealRandom(), http: account });
    const { instance_id: instanceId } = identity;
    this.authority = new AccountAuthority({
      membership,
      directory,
      transport,
      instance_id: instanceId,
      since: (deviceId) => account.members.since(membership.binding, deviceId),
    });
    const authorities = new Authorities(home.registry);
    authorities.add(this.authority, transport);
    const receiver = target.receiverOf(authorities);
    const registered = () => ({ device_id: "device-here", public_origin: "https://here.example" });
    const checkGroup = () => {
      throw new Refusal("connect_group_denied");
    };
    const endpoint = new PeerEndpoint({ clock, identity, receiver, registered, checkGroup });
    this.peers = {
      groupCheck: (asked) => endpoint.groupCheck(asked),
      identity: (nonce) => endpoint.identity(nonce),
      receive: async (asked) => {
        const arrived: Arrived = { request: asked, code: null, isRead: false };
        this.arrived.push(arrived);
        try {
          const response = await endpoint.receive(asked);
          arrived.code = "ok";
          return response;
        } catch (error) {
          arrived.code = error instanceof Refusal ? error.code : String(error);
          throw error;
        } finally {
          arrived.isRead = asked.readableFlowing !== null;
        }
      },
    };
  }

  static async open(): Promise<Listening> {
    const target = await Target.open("account");
    const { clock } = target.home;
    const account = await DirectorySetting.open({ clock, identity: target.identity, device: "device-here" });
    account.others = [account.entry("device-there", target.peer)];
    const listening = new Listening(target, account);
    await account.directory.refresh();
    listening.web = await openSetting({ peers: listening.peers });
    return listening;
  }

  async close(): Promise<void> {
    await this.web.close();
    await this.account.directory.close();
    await this.target.home.remove();
  }

  /** Begins a request; its body is the caller's to write. */
  begin(headers: Record<string, string | string[]>): ClientRequest {
    const { port } = this.web;
    return request({ host: "127.0.0.1", port, method: "POST", path: PATH, agent: false, headers });
  }

  /**
   * Sends a head that announces a body of a mebibyte, and nothing of the body: only an endpoint
   * that doesn't wait for it answers.
   */
  async refused(headers: Record<string, string | string[]>): Promise<Refused> {
    const sent = this.begin({
      "content-type": "application/json",
      "content-length": String(1024 * 1024),
      ...headers,
    });
    sent.flushHeaders();
    const answer = await answered(sent);
    sent.destroy();
    assert.equal(this.arrived.at(-1)?.isRead ?? false, false, "its body was read");
    return answer;
  }

  /** The whole request; gives the answer. */
  async post(proof: ConnectPeerAuthorization, body: string | Buffer): Promise<Refused & { text: string }> {
    const sent = this.begin({
      "content-type": "application/json",
      "content-length": String(Buffer.byteLength(body)),
      ...headerOf(proof),
    });
    sent.end(body);
    return answered(sent);
  }

  get operation(): ConnectPeerOperation {
    return deliverOperation(this.target.message());
  }

  header(changes: ProofChanges = {}): Record<string, string> {
    return headerOf(this.target.proof(this.operation, changes));
  }

  nothingStored(): void {
    assert.equal(this.target.messages().length, 0);
  }
}

function headerOf(proof: object): Record<string, string> {
  return { "svc-connect-proof": encoded(JSON.stringify(proof)) };
}

function encoded(text: string): string {
  return toBase64Url(Buffer.from(text));
}

async function answered(sent: ClientRequest): Promise<Refused & { text: string }> {
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  // The connection may end under a body that nobody reads.
  sent.on("error", () => {});
  let text = "";
  for await (const piece of response.setEncoding("utf8")) text += piece as string;
  const { error } = JSON.parse(text) as { error?: { code: string } };
  return { status: response.statusCode!, code: error?.code, text };
}

function codeOf({ status, code }: Refused): Refused {
  return { status, code };
}

describe("the peer endpoint", () => {
  let here: Listening;

  beforeEach(async () => {
    here = await Listening.open();
  });
  afterEach(() => here.close());

  it("answers a listed peer, signed; the same request again isn't read", async () => {
    verifies("PEER-026");
    const { target, operation } = here;
    const { proof } = target.request(operation);
    const { text } = await here.post(proof, JSON.stringify(operation));
    const answer = ConnectPeerAnswer.parse(JSON.parse(text));
    assert.ok(answer.ok);
    assert.ok(target.checked({ proof, operation }, answer.result.response).ok);
    assert.equal(target.messages().length, 1);
    assert.equal((await here.refused(headerOf(proof))).code, "connect_replayed");
    assert.equal(target.messages().length, 1);
  });

  it("reads nothing of a request whose proof has any field wrong", async () => {
    verifies("PEER-048", "PEER-056", "PEER-031");
    const { target } = here;
    const stranger = await newIdentity();
    const proof = target.proof(here.operation);
    const wrong: Record<keyof ConnectPeerAuthorization, string> = {
      connection_id: randomUUID(),
      account_origin: "https://elsewhere.example",
      account_id: "account-2",
      source_instance_id: stranger.instance_id,
      source_device_id: "device-before",
      target_instance_id: stranger.instance_id,
      target_device_id: "device-before",
      request_id: randomUUID(),
      issued_at: new Date(target.home.clock.now() - 1).toISOString(),
      expires_at: new Date(target.home.clock.now() + MINUTE - 1).toISOString(),
      operation_sha256: "0".repeat(64),
      signature: Buffer.alloc(64, 1).toString("base64"),
    };
    for (const [field, value] of Object.entries(wrong)) {
      // Changed after it was signed, of another type, left out.
      const changed = { ...proof, [field]: value };
      const { [field as keyof typeof proof]: _left, ...without } = proof;
      const bent = [changed, { ...proof, [field]: 7 }, ...(field in proof ? [without] : [])];
      for (const one of bent) assert.deepEqual(codeOf(await here.refused(headerOf(one))), DENIED, field);
    }
    const ends = [
      "account_origin",
      "account_id",
      "source_instance_id",
      "source_device_id",
      "target_instance_id",
      "target_device_id",
      "connection_id",
    ] as const;
    for (const field of ends) {
      const header = here.header({ change: (fields) => ({ ...fields, [field]: wrong[field] }) });
      assert.deepEqual(codeOf(await here.refused(header)), DENIED, `signed with another ${field}`);
    }
    assert.deepEqual(codeOf(await here.refused(headerOf({ ...proof, colour: "blue" }))), DENIED);
    here.nothingStored();
  });

  it("reads nothing of a request whose proof is too old, too new, or valid for too long", async () => {
    verifies("PROOF-018", "PROOF-019");
    const now = here.target.home.clock.now();
    const cases: [ProofChanges, string][] = [
      [{ issued: now - MINUTE }, "connect_clock_differs"],
      [{ issued: now + 31_000 }, "connect_clock_differs"],
      [{ lifetime: MINUTE + 1 }, "connect_peer_denied"],
      [{ lifetime: 0 }, "connect_peer_denied"],
    ];
    for (const [changes, code] of cases) assert.equal((await here.refused(here.header(changes))).code, code);
    here.nothingStored();
  });

  it("takes one header of at most 4 KiB in base64url, and no person's token", async () => {
    verifies("PROOF-016", "PROOF-017", "PEER-049", "PEER-051");
    const { target, operation, web } = here;
    web.tokens.add("person", "administrator");
    const bearer = { authorization: "Bearer person" };
    const proof = JSON.stringify(target.proof(operation));
    const padded = (bytes: number): string => proof.padEnd(bytes, " ");
    const odd = padded(proof.length + ((4 - (proof.length % 3)) % 3));
    assert.equal(odd.length % 3, 1);
    const names = { "svc-connect-proof": encoded(proof) };
    const wrong: Record<string, string | string[]>[] = [
      {},
      bearer,
      { "svc-connect-proof": "" },
      { "svc-connect-proof": [encoded(proof), encoded(proof)] },
      { "svc-connect-proof": Buffer.from(odd).toString("base64") },
      { "svc-connect-proof": proof },
      { "svc-connect-proof": encoded("null") },
      { "svc-connect-proof": encoded(proof.replace("{", '{"account_id":"account-2",')) },
      { "svc-connect-proof": encoded(padded(3073)) },
    ];
    for (const headers of wrong) assert.deepEqual(codeOf(await here.refused(headers)), DENIED);
    const type = await here.refused({ ...names, "content-type": "text/plain" });
    assert.equal(type.code, "unsupported_media_type");
    here.nothingStored();
    const largest = encoded(padded(3072));
    assert.equal(largest.length, connect.proofBytes);
    const sent = here.begin({ "content-type": "application/json", "svc-connect-proof": largest });
    sent.end(JSON.stringify(operation));
    assert.equal((await answered(sent)).status, 200);
  });

  it("stops an upload without a proof at its first pieces", async () => {
    verifies("PEER-049");
    const sent = here.begin({ "content-type": "application/json", "transfer-encoding": "chunked" });
    // The answer may be lost when the connection ends under an upload.
    sent.on("error", () => {});
    const piece = Buffer.alloc(64 * 1024, " ");
    let written = 0;
    const push = (): void => {
      for (let goes = true; goes && written < connect.bodyBytes; written += piece.length)
        goes = sent.write(piece);
    };
    sent.on("drain", push);
    push();
    const arrived = await until("its arrival", () => here.arrived[0]);
    const { socket } = arrived.request;
    await until("the end of the connection", () => socket.destroyed);
    assert.equal(arrived.code, "connect_peer_denied");
    assert.ok(!arrived.isRead);
    assert.ok(socket.bytesRead <= 512 * 1024, `${socket.bytesRead} bytes were taken`);
    sent.destroy();
    here.nothingStored();
  });

  it("refuses whom the account doesn't list, or doesn't list any longer", async () => {
    verifies("PEER-047", "PEER-043");
    const { target, account, authority } = here;
    const stranger = await newIdentity();
    const unlisted = here.header({
      signer: stranger,
      change: (fields) => ({ ...fields, source_instance_id: stranger.instance_id }),
    });
    const asked = account.asked.length;
    assert.deepEqual(codeOf(await here.refused(unlisted)), DENIED);
    assert.equal(account.asked.length, asked, "a stranger made it ask the account service");
    const listed = { ...account.others[0] };
    // Linked again: its former device no longer speaks for it.
    account.others = [{ ...listed, device_id: "device-after" }];
    await account.directory.refresh();
    assert.deepEqual(codeOf(await here.refused(here.header())), DENIED);
    account.others = [];
    await account.directory.refresh();
    assert.deepEqual(codeOf(await here.refused(here.header())), DENIED);

    account.others = [listed];
    await account.directory.refresh();
    const query = {
      remote_instance_id: target.peer.instance_id,
      local_group_id: target.group_id,
      local_generation: target.group.record.generation,
      remote_group_id: "g_there",
    };
    assert.equal(authority.forPair(query)?.state, "granted");
    account.answer = () => "down";
    target.home.clock.advance(120_000);
    assert.equal(authority.forPair(query)?.state, "unavailable");
    assert.deepEqual(codeOf(await here.refused(here.header())), DENIED);
    here.nothingStored();
  });

  it("stores nothing of a peer that is retired while its body arrives", async () => {
    verifies("PEER-031");
    const { account, operation, target } = here;
    const body = JSON.stringify(operation);
    const sent = here.begin({ "content-type": "application/json", ...headerOf(target.proof(operation)) });
    sent.write(body.slice(0, 100));
    await until("the body is read", () => here.arrived[0]?.request.readableDidRead);
    account.others = [];
    await account.directory.refresh();
    sent.end(body.slice(100));
    assert.deepEqual(codeOf(await answered(sent)), DENIED);
    here.nothingStored();
  });

  it("refuses a body that is another one than was signed, or no operation", async () => {
    verifies("PROOF-020", "PEER-004", "PEER-005", "PEER-052");
    const { target, operation } = here;
    const other = JSON.stringify(deliverOperation(target.message({ text: "another" })));
    assert.deepEqual(codeOf(await here.post(target.proof(operation), other)), DENIED);
    const bodies = [
      "",
      "{",
      JSON.stringify({ op: "exec" }),
      JSON.stringify({ op: "message_send", group_id: target.group_id, text: "hello" }),
      JSON.stringify({ ...operation, by: "user" }),
    ];
    for (const body of bodies) {
      const { code } = await here.post(target.proof(operation), body);
      assert.equal(code, "invalid_request", body);
    }
    here.nothingStored();
  });

  it("refuses what breaks a rule of contents for good, signed, and records nothing", async () => {
    verifies("PEER-058");
    const { target } = here;
    for (const { name, operation } of violationsOf(target.message())) {
      const body = JSON.stringify(operation);
      const { operation: right } = here;
      const proof = target.proof(right, { operation_sha256: sha256Hex(body) });
      const answer = ConnectPeerAnswer.parse(JSON.parse((await here.post(proof, body)).text));
      assert.ok(answer.ok, `${name}: ${JSON.stringify(answer)}`);
      const result = target.checked({ proof, operation: right }, answer.result.response);
      assert.equal(refused(result), "connect_message_invalid", name);
      assert.equal((await here.post(target.proof(right), body)).code, "invalid_request", name);
    }
    here.nothingStored();
  });

  it("takes 14 MiB and not a byte more, and no body that takes too long", async () => {
    verifies("LIM-016");
    const { target, operation } = here;
    const bodyBytes = 14 * 1024 * 1024;
    const announced = { ...here.header(), "content-length": String(bodyBytes + 1) };
    assert.deepEqual(codeOf(await here.refused(announced)), { status: 413, code: "too_large" });
    const body = Buffer.alloc(bodyBytes, " ");
    body.write(JSON.stringify(operation));
    // It is read to its end. As an operation it has too much besides files.
    assert.equal((await here.post(target.proof(operation), body)).code, "invalid_request");
    assert.ok(here.arrived.at(-1)!.request.socket.bytesRead > bodyBytes);

    const chunked = here.begin({
      "content-type": "application/json",
      "transfer-encoding": "chunked",
      ...here.header(),
    });
    chunked.on("error", () => {});
    chunked.write(body);
    chunked.write(" ");
    await until("the refusal", () => here.arrived.at(-1)?.code === "too_large");
    chunked.destroy();

    const slow = here.begin({ "content-type": "application/json", ...here.header() });
    slow.write("{");
    const late = answered(slow);
    await until("the body is read", () => {
      const last = here.arrived.at(-1);
      return last?.code === null && last.request.readableDidRead;
    });
    target.home.clock.advance(LIMITS.http.requestSeconds * 1000);
    assert.equal((await late).code, "request_timeout");
    slow.destroy();
    here.nothingStored();
  });

  it("isn't on the exhibit's listener", async () => {
    verifies("PEER-050");
    const exhibit = await openSetting({ peers: here.peers, exhibit: [GROUP] });
    try {
      const { target, operation } = here;
      const headers = { "content-type": "application/json", ...headerOf(target.proof(operation)) };
      const answer = await exhibit.send("POST", PATH, { headers, raw: JSON.stringify(operation) });
      assert.ok(answer.status === 404 || answer.status === 405, String(answer.status));
      assert.equal(here.arrived.length, 0);
      here.nothingStored();
    } finally {
      await exhibit.close();
    }
  });

  it("proves its identity to anyone for 30 seconds, and only for a nonce", async () => {
    verifies("PROOF-003", "WEB-010", "WEB-011");
    const { target, web } = here;
    const ask = (query: string) => web.send("GET", `${API_PREFIX}/connect/identity${query}`);
    const nonce = randomUUID();
    const proof = ConnectIdentityProof.parse(JSON.parse((await ask(`?nonce=${nonce}`)).text));
    assert.equal(proof.nonce, nonce);
    assert.equal(Date.parse(proof.expires_at) - target.home.clock.now(), 30_000);
    assert.ok(verifyStatement(identityStatement, VerifyingKey.admit(target.identity.public_key), proof));
    for (const query of [
      "",
      "?nonce=",
      "?nonce=1",
      `?nonce=${nonce}&nonce=${nonce}`,
      `?nonce=${nonce}&x=1`,
    ]) {
      const { status, code } = await ask(query);
      assert.deepEqual([status, code], [400, "invalid_args"], query);
    }
  });
});
