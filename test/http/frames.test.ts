/**
 * The framed side of the aggregate Workbench over HTTP. In a browser: test/browser/frame.test.ts.
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WebSocket } from "ws";
import { Frames } from "../../daemon/peers/https/frames.ts";
import { signStatement } from "../../daemon/peers/wire/statements.ts";
import { FramePage } from "../../shared/frame-protocol.ts";
import { LIMITS } from "../../shared/limits.ts";
import { API_PREFIX, FRAME_META } from "../../shared/names.ts";
import type { ConnectFrameProof } from "../../shared/wire/v1/proofs.ts";
import { frameStatement } from "../../shared/wire/v1/signing.ts";
import { verifies } from "../requirements.ts";
import { until } from "../support/until.ts";
import { ada, bob } from "../wire/sample.ts";
import { type Answer, cookieOf, GROUP, openSetting, type Setting } from "./setting.ts";

const ACCOUNT = "https://account.example";
const PARENT = "https://ada.example:8443";
const ADMIN = "admin-token";
const MEMBER = "member-token";
const PAGE = "/ui/connect/";
const FRAME = `${API_PREFIX}/connect/frame`;
const HTML = "<!doctype html><html><head><title>Workbench</title></head><body></body></html>";

describe("frames of other instances' pages", () => {
  let setting: Setting;
  let folder: string;
  /** Whether the account still has Ada's device. */
  let isMember: boolean;
  let attached: number;
  /** How often the account was asked about an instance, and what it does then. */
  let asked: number;
  let answers: () => Promise<void>;

  beforeEach(async () => {
    isMember = true;
    attached = 0;
    asked = 0;
    answers = () => Promise.resolve();
    folder = mkdtempSync(join(tmpdir(), "svc-frames-"));
    writeFileSync(join(folder, "index.html"), HTML);
    const end = ({ instance_id, public_key }: typeof ada, device_id: string) => ({
      instance_id,
      public_key,
      device_id,
      client_version: "0.5.0",
      name: null,
      public_origin: null,
    });
    const grant = {
      authority: "account" as const,
      connection_id: null,
      account_origin: ACCOUNT,
      account_id: "acct_7",
      local: end(bob, "dev_bob"),
      remote: end(ada, "dev_ada"),
      pair: null,
      route: null,
      transport: null as never,
    };
    setting = await openSetting({
      workbench: folder,
      frames: (clock) =>
        new Frames({
          clock,
          instance_id: bob.instance_id,
          grantOf: (proof) =>
            isMember &&
            proof.source_instance_id === ada.instance_id &&
            ["dev_ada", "dev_ada_other"].includes(proof.source_device_id) &&
            ["dev_bob", "dev_bob_other"].includes(proof.target_device_id)
              ? grant
              : null,
          ask: () => {
            asked += 1;
            return answers();
          },
        }),
      terminals: {
        attach: () => {
          attached += 1;
          return { request: () => {}, detach: () => void (attached -= 1) };
        },
      },
    });
    setting.tokens.add(ADMIN, "administrator");
    setting.tokens.add(MEMBER, "restricted", [GROUP]);
  });
  afterEach(async () => {
    await setting.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  const at = (seconds: number) => new Date(setting.clock.now() + seconds * 1000).toISOString();
  const proofWith = (fields: Partial<ConnectFrameProof> = {}, signer = ada) =>
    signStatement(frameStatement, signer, {
      account_origin: ACCOUNT,
      source_instance_id: ada.instance_id,
      source_device_id: "dev_ada",
      target_instance_id: bob.instance_id,
      target_device_id: "dev_bob",
      parent_origin: PARENT,
      frame_id: randomUUID(),
      nonce: randomUUID(),
      issued_at: at(0),
      expires_at: at(120),
      ...fields,
    });
  const encoded = (proof: object) => Buffer.from(JSON.stringify(proof)).toString("base64url");
  const navigating = {
    "sec-fetch-site": "cross-site",
    "sec-fetch-mode": "navigate",
    "sec-fetch-dest": "iframe",
  };
  const post = (proof: object, headers: Record<string, string> = {}) =>
    setting.send("POST", PAGE, {
      headers: {
        ...navigating,
        origin: PARENT,
        "content-type": "application/x-www-form-urlencoded",
        ...headers,
      },
      raw: `proof=${encoded(proof)}`,
    });
  const renew = (proof: object) => setting.send("POST", FRAME, { body: proof });
  const shown = (frameId: string, token = ADMIN) =>
    setting.send("GET", `${FRAME}?frame_id=${frameId}`, { headers: bearer(token) });
  const opened = async (fields: Partial<ConnectFrameProof> = {}): Promise<ConnectFrameProof> => {
    const proof = proofWith(fields);
    const answer = await post(proof);
    assert.equal(answer.status, 200, answer.text);
    return proof;
  };
  const refused = (answer: Answer, code: string) =>
    assert.deepEqual([answer.status, answer.code], [403, code], answer.text);
  const policy = ({ headers }: Answer) => String(headers["content-security-policy"]);

  it("admit a page of exactly one origin by a proof, once", async () => {
    verifies("WB-034", "WB-035", "WB-060");
    const proof = proofWith();
    const answer = await post(proof);
    assert.equal(answer.status, 200, answer.text);
    assert.match(policy(answer), new RegExp(`frame-ancestors ${PARENT.replaceAll(".", "\\.")};`));
    assert.equal(answer.headers["x-frame-options"], undefined);
    assert.equal(answer.headers["cache-control"], "no-store");
    assert.equal(answer.headers["set-cookie"], undefined);
    const content = new RegExp(`<meta name="${FRAME_META}" content="([^"]*)"`).exec(answer.text)![1]!;
    const page = FramePage.parse(JSON.parse(content.replaceAll("&#34;", '"')));
    assert.deepEqual(page, {
      frame_id: proof.frame_id,
      parent_origin: PARENT,
      instance_id: bob.instance_id,
      device_id: "dev_bob",
    });
    refused(await post(proof), "connect_frame_invalid");
    refused(await setting.send("GET", `${PAGE}?proof=${encoded(proof)}`), "connect_frame_invalid");

    const read = proofWith();
    const byGet = await setting.send("GET", `${PAGE}?proof=${encoded(read)}`, { headers: navigating });
    assert.equal(byGet.status, 200);
    assert.match(policy(byGet), /frame-ancestors https:\/\/ada\.example:8443;/);

    for (const path of ["/", "/ui/", "/ui/connect"]) {
      const other = await setting.send("GET", path, { headers: bearer(ADMIN) });
      assert.match(policy(other), /frame-ancestors 'none'/, path);
      assert.equal(other.headers["x-frame-options"], "DENY", path);
    }
    const elsewhere = proofWith();
    const topLevel = { ...navigating, "sec-fetch-dest": "document", accept: "text/html" };
    const refusal = await setting.send("GET", `${PAGE}?proof=${encoded(elsewhere)}`, { headers: topLevel });
    assert.equal(refusal.status, 403);
    assert.match(refusal.text, /may not show this Workbench/);
    assert.match(policy(refusal), /frame-ancestors 'none'/);
    const head = await setting.send("HEAD", `${PAGE}?proof=${encoded(elsewhere)}`);
    assert.equal(head.status, 405);
    assert.equal((await post(elsewhere)).status, 200, "neither of them used the proof");
    const logged = JSON.stringify(setting.log.lines);
    for (const one of [proof, read, elsewhere])
      for (const trace of [one.signature, encoded(one)])
        assert.ok(!logged.includes(trace), "no proof is logged, as it is or as an address has it");
  });

  it("admit nothing else", async () => {
    verifies("WB-048", "WB-061");
    const wrong: object[] = [
      {},
      { ...proofWith(), more: 1 },
      proofWith({}, bob),
      proofWith({ account_origin: "https://other.example" }),
      proofWith({ source_instance_id: bob.instance_id }),
      proofWith({ source_device_id: "dev_else" }),
      proofWith({ target_device_id: "dev_else" }),
      proofWith({ target_instance_id: ada.instance_id }),
      proofWith({ expires_at: at(121) }),
      proofWith({ issued_at: at(31), expires_at: at(60) }),
      proofWith({ issued_at: at(-60), expires_at: at(0) }),
      { ...proofWith(), parent_origin: "https://evil.example" },
      proofWith({ parent_origin: "https://127.0.0.1:1" }),
      // Not a page's: they would say something else in a policy.
      ...["https://*", "https://*.example", "https://a;script-src", "https://a'b", "https://a,b"].map(
        (origin) => ({ ...proofWith(), parent_origin: origin }),
      ),
    ];
    for (const proof of wrong) {
      refused(await post(proof), "connect_frame_invalid");
      refused(await renew(proof), "connect_frame_invalid");
    }
    isMember = false;
    refused(await post(proofWith()), "connect_frame_invalid");
    isMember = true;
    for (const raw of ["", "proof=", "proof=%", `proof=${"A".repeat(4097)}`, "proof=bnVsbA"]) {
      const headers = { "content-type": "application/x-www-form-urlencoded" };
      const answer = await setting.send("POST", PAGE, { headers, raw });
      assert.ok(answer.status === 403 || answer.status === 413, `${raw.slice(0, 20)} ${answer.status}`);
    }
    const twice = `${PAGE}?proof=${encoded(proofWith())}&proof=${encoded(proofWith())}`;
    assert.equal((await setting.send("GET", twice)).status, 400);
    assert.equal((await setting.send("POST", PAGE, { body: proofWith() })).status, 415);
    refused(await setting.send("GET", PAGE, { headers: navigating }), "connect_frame_invalid");
  });

  it("ask the account about a new instance, one question at a time and seldom", async () => {
    isMember = false;
    let answer = (): void => {};
    answers = () => new Promise((resolve) => (answer = resolve));
    const proof = proofWith();
    const first = post(proof);
    await until("the question", () => asked === 1);
    refused(await post(proofWith()), "connect_frame_invalid");
    isMember = true;
    answer();
    assert.equal((await first).status, 200);
    refused(await post(proof), "connect_frame_invalid");
    assert.equal(asked, 1);

    isMember = false;
    refused(await post(proofWith()), "connect_frame_invalid");
    assert.equal(asked, 1, "for all of them together");
    setting.clock.advance(LIMITS.connect.frameAskSeconds * 1000);
    answers = () => Promise.resolve();
    refused(await post(proofWith({ expires_at: at(121) })), "connect_frame_invalid");
    refused(await post(proofWith({ target_instance_id: ada.instance_id })), "connect_frame_invalid");
    assert.equal(asked, 1, "not for what is wrong anyway");
    refused(await post(proofWith()), "connect_frame_invalid");
    refused(await renew(proofWith()), "connect_frame_invalid");
    refused(await post(proofWith()), "connect_frame_invalid");
    assert.equal(asked, 2);
  });

  it("are renewed by newer proofs for the same page alone, never made so", async () => {
    verifies("WB-012", "WB-013", "WB-014", "WB-015", "WB-016");
    const first = await opened();
    const { frame_id } = first;
    refused(await renew(proofWith()), "connect_frame_invalid");
    setting.clock.advance(45_000);
    refused(await renew(proofWith({ frame_id, issued_at: first.issued_at })), "connect_frame_invalid");
    refused(await renew(proofWith({ frame_id, nonce: first.nonce })), "connect_frame_invalid");
    refused(
      await renew(proofWith({ frame_id, parent_origin: "https://ada.example" })),
      "connect_frame_invalid",
    );
    // The account has these devices as well: their proofs open frames, and renew no other's.
    for (const device of [{ source_device_id: "dev_ada_other" }, { target_device_id: "dev_bob_other" }]) {
      await opened(device);
      refused(await renew(proofWith({ frame_id, ...device })), "connect_frame_invalid");
    }
    refused(await renew({ ...proofWith({ frame_id }), signature: first.signature }), "connect_frame_invalid");
    const second = proofWith({ frame_id });
    const answer = await renew(second);
    assert.deepEqual([answer.status, answer.result], [200, { frame_id }]);
    refused(await renew(second), "connect_frame_invalid");
    refused(await post(second), "connect_frame_invalid");
    setting.clock.advance(119_000);
    assert.equal((await shown(frame_id)).status, 200, "as long as the second one says");
    setting.clock.advance(1000);
    refused(await renew(proofWith({ frame_id })), "connect_frame_invalid");
    refused(await shown(frame_id), "connect_frame_expired");
  });

  it("don't come back by a proof that outlived them", async () => {
    const first = await opened();
    setting.clock.advance(1000);
    const short = proofWith({ frame_id: first.frame_id, expires_at: at(5) });
    assert.equal((await renew(short)).status, 200);
    setting.clock.advance(6000);
    refused(await shown(first.frame_id), "connect_frame_expired");
    refused(await post(first), "connect_frame_invalid");
    refused(await renew(first), "connect_frame_invalid");
  });

  it("are at most 128 at a time", async () => {
    verifies("LIM-012");
    const all: ConnectFrameProof[] = [];
    for (let count = 0; count < 128; count += 1) all.push(await opened());
    assert.equal((await post(proofWith())).code, "limit_reached");
    setting.clock.advance(1);
    assert.equal((await renew(proofWith({ frame_id: all[0]!.frame_id }))).status, 200);
    setting.clock.advance(119_999);
    await opened();
    assert.equal((await shown(all[0]!.frame_id)).status, 200);
    refused(await shown(all[1]!.frame_id), "connect_frame_expired");
  });

  it("are shown to an administrator alone, as long as the account has both devices", async () => {
    verifies("WB-017");
    const proof = await opened();
    const answer = await shown(proof.frame_id);
    assert.deepEqual(answer.result, { frame: { frame_id: proof.frame_id, expires_at: proof.expires_at } });
    refused(await shown(proof.frame_id, MEMBER), "permission_denied");
    assert.equal((await setting.send("GET", `${FRAME}?frame_id=${proof.frame_id}`)).status, 401);
    refused(await shown(randomUUID()), "connect_frame_expired");
    refused(await shown("x"), "connect_frame_expired");
    isMember = false;
    refused(await shown(proof.frame_id), "connect_frame_expired");
  });

  it("give nothing that a session doesn't give, and less than one", async () => {
    verifies("WB-018", "WB-019", "WB-055", "WB-067", "WB-072");
    const { frame_id: frame } = await opened();
    const path = (id: string) => `${API_PREFIX}/web-access?connect_frame=${id}`;
    const read = (id: string, headers: Record<string, string>) => setting.send("GET", path(id), { headers });
    assert.equal((await read(frame, {})).status, 401);
    refused(await read(frame, bearer(MEMBER)), "permission_denied");
    refused(await read(randomUUID(), bearer(ADMIN)), "connect_frame_expired");
    refused(await read(`${frame}&connect_frame=${frame}`, bearer(ADMIN)), "connect_frame_expired");
    // This handler isn't there, so that the request arrived says the answer.
    const through = await read(frame, bearer(ADMIN));
    assert.notEqual(through.status, 403, through.text);
    const session = await setting.send("POST", `${API_PREFIX}/web-access/session`, {
      body: { token: ADMIN },
    });
    const cookie = cookieOf(session);
    assert.notEqual((await read(frame, { cookie })).status, 401);
    await setting.tokens.revoke(setting.tokens.verify(ADMIN)!.id);
    assert.equal((await read(frame, { cookie })).status, 401);
  });

  it("end their streams, sockets and terminals with them, and no others", async () => {
    verifies("WB-018", "WB-064", "WB-065", "WB-066", "WB-068", "WB-069", "WB-070", "EVT-009");
    const paths = [`${API_PREFIX}/events/ws`, `${API_PREFIX}/groups/${GROUP}/actors/one/term`];
    const streams = [
      `${API_PREFIX}/events/stream`,
      `${API_PREFIX}/groups/${GROUP}/ledger/stream`,
      `${API_PREFIX}/groups/${GROUP}/runtime-activity/stream`,
    ];
    const pings = new Set<WebSocket>();
    const open = (path: string, frame: string | null, token = ADMIN) => {
      const query = frame === null ? "" : `?connect_frame=${frame}`;
      const socket = new WebSocket(`ws://127.0.0.1:${setting.port}${path}${query}`, {
        headers: bearer(token),
      });
      socket.on("error", () => {});
      socket.on("ping", () => pings.add(socket));
      return socket;
    };
    const listen = (path: string, frame: string | null) => {
      const stream = { closed: false, text: "" };
      const query = frame === null ? "" : `?connect_frame=${frame}`;
      const sent = fetch(`${setting.origin}${path}${query}`, { headers: bearer(ADMIN) });
      void sent.then(async (response) => {
        const reader = response.body!.getReader();
        try {
          for (;;) {
            const { done, value } = await reader.read();
            if (done) break;
            stream.text += Buffer.from(value).toString();
          }
        } catch {
          // Cut off.
        }
        stream.closed = true;
      });
      return stream;
    };
    const everything = async (frame: string | null) => {
      const sockets = paths.map((path) => open(path, frame));
      const read = streams.map((path) => listen(path, frame));
      await until(
        "all are open",
        () =>
          sockets.every(({ readyState }) => readyState === WebSocket.OPEN) &&
          read.every(({ text }) => text !== ""),
      );
      return {
        closed: () => [
          ...sockets.map(({ readyState }) => readyState === WebSocket.CLOSED),
          ...read.map(({ closed }) => closed),
        ],
        /** Has answered the last heartbeat, because what follows on the connection is answered. */
        beat: () =>
          Promise.all(
            sockets.map(async (socket) => {
              await until("the heartbeat", () => pings.has(socket));
              pings.delete(socket);
              const answered = new Promise((resolve) => socket.once("message", resolve));
              socket.send("{}");
              await answered;
            }),
          ),
        end: () => sockets.forEach((socket) => socket.terminate()),
      };
    };
    const none = [false, false, false, false, false];
    const all = none.map(() => true);

    const ordinary = await everything(null);
    // A frame that isn't there, and a restricted token in one that is.
    const { frame_id: lasting } = await opened();
    for (const [frame, token] of [
      [randomUUID(), ADMIN],
      [lasting, MEMBER],
    ] as const) {
      for (const path of paths) {
        const socket = open(path, frame, token);
        await until("it is refused", () => socket.readyState === WebSocket.CLOSED);
      }
      for (const path of streams) {
        const { status } = await setting.send("GET", `${path}?connect_frame=${frame}`, {
          headers: bearer(token),
        });
        assert.ok([401, 403].includes(status), `${path}: ${status}`);
      }
    }

    const expired = await opened({ expires_at: at(LIMITS.stream.heartbeatSeconds - 1) });
    const embedded = await everything(expired.frame_id);
    assert.equal(attached, 2);
    setting.clock.advance(LIMITS.stream.heartbeatSeconds * 1000);
    await until("the frame's have ended", () => embedded.closed().every(Boolean));
    assert.deepEqual(embedded.closed(), all);
    await until("its terminal is left", () => attached === 1);
    await ordinary.beat();
    assert.deepEqual(ordinary.closed(), none);

    const { frame_id: retired } = await opened();
    const orphaned = await everything(retired);
    isMember = false;
    setting.clock.advance(LIMITS.stream.heartbeatSeconds * 1000);
    await until("those of a retired device have ended", () => orphaned.closed().every(Boolean));
    await ordinary.beat();
    assert.deepEqual(ordinary.closed(), none);

    isMember = true;
    const { frame_id: locked } = await opened();
    const signedOut = await everything(locked);
    await setting.tokens.revoke(setting.tokens.verify(ADMIN)!.id);
    await until("those without a token have ended", () => signedOut.closed().every(Boolean));
    for (const one of [ordinary, embedded, orphaned, signedOut]) one.end();
  });
});
