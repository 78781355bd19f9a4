import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { FrameReader } from "../../../daemon/peers/direct/frame-reader.ts";
import type { PeerOutcome, PeerRequest, PeerRoute } from "../../../daemon/peers/transport.ts";
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { DirectFrame } from "../../../shared/wire/v1/direct.ts";
import type { ConnectPeerResponse } from "../../../shared/wire/v1/peer.ts";
import { verifies } from "../../requirements.ts";
import { until } from "../../support/until.ts";
import { encodeFrame, GROUP, type Instance, LISTENER, responseTo, rest, World } from "./setting.ts";

const SECOND = 1000;

function requestFrom(source: Instance, target: Instance, id: string): PeerRequest {
  const now = Date.UTC(2026, 0, 1);
  return {
    proof: {
      connection_id: id,
      source_instance_id: source.identity.instance_id,
      target_instance_id: target.identity.instance_id,
      request_id: randomUUID(),
      issued_at: new Date(now).toISOString(),
      expires_at: new Date(now + 60 * SECOND).toISOString(),
      operation_sha256: "0".repeat(64),
      signature: Buffer.alloc(64).toString("base64"),
    },
    operation: {
      op: "catalog",
      connection_id: id,
      source_group_id: GROUP,
      target_group_id: GROUP,
      after: null,
    },
  };
}

describe("a Direct channel", () => {
  let world: World;
  let host: Instance;
  let joiner: Instance;
  let id: string;
  const never = new AbortController().signal;

  beforeEach(async () => {
    world = new World();
    ({ host, joiner, id } = await world.connected());
  });
  afterEach(() => world.close());

  const route = (to: Instance): PeerRoute => ({
    via: "direct",
    connection_id: id,
    instance_id: to.identity.instance_id,
  });
  const ask = (from: Instance, to: Instance, patience = 60 * SECOND, signal = never): Promise<PeerOutcome> =>
    from.direct.transport.request(
      route(to),
      requestFrom(from, to, id),
      world.clock.monotonic() + patience,
      signal,
    );

  it("carries requests and their answers both ways over the joiner's one connection", async () => {
    verifies("DRC-048", "DRC-049");
    const dials = world.network.dials;
    assert.equal((await ask(host, joiner)).kind, "answered");
    assert.equal((await ask(joiner, host)).kind, "answered");
    assert.equal(joiner.received[0]?.proof.source_instance_id, host.identity.instance_id);
    assert.equal(world.network.dials, dials);
  });

  it("ignores an answer that nobody asked for", async () => {
    verifies("DRC-059");
    joiner.answer = async (request) => responseTo(request);
    const [, dialler] = world.network.ends.slice(-2);
    assert.ok(dialler);
    const foreign = {
      kind: "response",
      id: randomUUID(),
      response: { ok: true, result: { response: responseTo(requestFrom(joiner, host, id)) } },
    };
    dialler.other?.arrive(encodeFrame(foreign, 4096));
    dialler.arrive(encodeFrame(foreign, 4096));
    await rest();
    assert.ok(host.relation(id).online && joiner.relation(id).online);
    assert.equal((await ask(host, joiner)).kind, "answered");
  });

  it("builds no answer that is larger than one to this request can be, and goes on", async () => {
    verifies("LIM-018");
    const { answerBytes, catalogAnswerBytes } = LIMITS.connect;
    const receipt = (): PeerRequest => {
      const { proof } = requestFrom(host, joiner, id);
      const operation = {
        op: "receipt" as const,
        connection_id: id,
        source_group_id: GROUP,
        target_group_id: GROUP,
        delivery_id: randomUUID(),
        message_sha256: "0".repeat(64),
      };
      return { proof, operation };
    };
    for (const [request, bytes] of [
      [receipt(), answerBytes],
      [requestFrom(host, joiner, id), catalogAnswerBytes],
    ] as const) {
      joiner.answer = async (asked) => ({
        ...responseTo(asked),
        result: { ok: true, result: { receipt: null, more: "x".repeat(bytes) } },
      });
      const deadline = world.clock.monotonic() + 60 * SECOND;
      const outcome = await host.direct.transport.request(route(joiner), request, deadline, never);
      assert.deepEqual(outcome, { kind: "uncertain", reason: "The answer is too large." });
      joiner.answer = async (asked) => responseTo(asked);
      assert.equal((await ask(host, joiner)).kind, "answered");
    }
  });

  it("says whose clock is behind when only the peer's refusals show it, until it takes a request again", async () => {
    const now = new Date(world.clock.now() - 40 * SECOND).toISOString();
    joiner.answer = async () => {
      throw new Refusal("connect_clock_differs", { details: { now } });
    };
    const words = /^The other side's clock is about 40 seconds behind this machine's\./u;
    const outcome = await ask(host, joiner);
    assert.equal(outcome.kind, "uncertain");
    assert.match("reason" in outcome ? outcome.reason : "", words);
    assert.match(host.relation(id).error ?? "", words);
    assert.equal(joiner.relation(id).error, null);
    joiner.answer = async (request) => responseTo(request);
    assert.equal((await ask(host, joiner)).kind, "answered");
    assert.equal(host.relation(id).error, null);
  });

  it("has four requests under way, and one that timed out keeps its place until it is answered", async () => {
    verifies("LIM-062");
    const open: (() => void)[] = [];
    joiner.answer = (request) =>
      new Promise<ConnectPeerResponse>((resolve) => open.push(() => resolve(responseTo(request))));
    const asked = Array.from({ length: 4 }, () => ask(host, joiner, 5 * SECOND));
    await until("four are there", () => joiner.received.length === 4);
    const { kind } = await ask(host, joiner);
    assert.equal(kind, "refused");
    world.clock.advance(5 * SECOND);
    assert.deepEqual(
      new Set((await Promise.all(asked)).map((outcome) => outcome.kind)),
      new Set(["timed_out"]),
    );
    assert.equal((await ask(host, joiner)).kind, "refused");
    assert.equal(joiner.received.length, 4);
    open[0]?.();
    await rest();
    joiner.answer = async (request) => responseTo(request);
    assert.equal((await ask(host, joiner)).kind, "answered");
  });

  it("tells a request that may have left from one that can't have", async () => {
    joiner.answer = () => new Promise(() => {});
    const asked = ask(host, joiner);
    await until("it is there", () => joiner.received.length === 1);
    world.network.breakAll();
    assert.equal((await asked).kind, "uncertain");
    assert.equal((await ask(host, joiner)).kind, "refused");
    const stopped = new AbortController();
    stopped.abort();
    assert.equal((await ask(joiner, host, SECOND, stopped.signal)).kind, "refused");
  });

  it("pings when nothing was said for ten seconds, and ends when nothing came for 45", async () => {
    verifies("DRC-071", "LIM-058");
    const ends = world.network.ends.slice(-2);
    const said = ends.map((end) => end.sent);
    const pass = async (seconds: number): Promise<void> => {
      for (let passed = 0; passed < seconds; passed += 1) {
        world.clock.advance(SECOND);
        await rest(5);
      }
    };
    await pass(120);
    for (const [index, end] of ends.entries()) {
      const pings = (end.sent - said[index]!) / encodeFrame({ kind: "ping" }, 100).length;
      assert.ok(pings >= 10 && pings <= 12, `${pings} pings in two minutes`);
    }
    assert.ok(host.relation(id).online, host.relation(id).error ?? "");
    world.network.cut = true;
    for (const end of ends) end.lost = true;
    await pass(34);
    assert.ok(host.relation(id).online, host.relation(id).error ?? "");
    await pass(12);
    await until("both have noticed", () => !host.relation(id).online && !joiner.relation(id).online);
    assert.match(host.relation(id).error ?? "", /45 seconds/u);
  });

  it("ends when a frame doesn't go out within ten seconds, and says that the link is too slow", async () => {
    verifies("LIM-057");
    for (const end of world.network.ends.slice(-2)) end.stalled = true;
    const asked = ask(host, joiner);
    await rest();
    world.clock.advance(10 * SECOND - 1);
    await rest();
    assert.ok(host.relation(id).online);
    world.clock.advance(1);
    assert.equal((await asked).kind, "uncertain");
    assert.match(host.relation(id).error ?? "", /too slow/u);
  });

  it("tells the peer without a signature what isn't authentic, and goes on", async () => {
    verifies("DRC-092");
    joiner.answer = () => Promise.reject(new Refusal("connect_peer_denied", { cause: "a secret reason" }));
    const outcome = await ask(host, joiner);
    assert.deepEqual(outcome, {
      kind: "denied",
      code: "connect_peer_denied",
      message: new Refusal("connect_peer_denied").message,
      details: {},
    });
    assert.ok(host.relation(id).online && joiner.relation(id).online);
    joiner.answer = async (request) => responseTo(request);
    assert.equal((await ask(host, joiner)).kind, "answered");
  });

  it("ends when a request can't be answered at all, and doesn't tell the peer why", async () => {
    joiner.answer = () => Promise.reject(new Error("A fault of the program."));
    assert.equal((await ask(host, joiner)).kind, "uncertain");
    await until("offline", () => !joiner.relation(id).online && !host.relation(id).online);
    assert.match(joiner.relation(id).error ?? "", /A fault of the program/u);
    assert.doesNotMatch(host.relation(id).error ?? "", /fault/u);
  });

  it("refuses more requests at a time than four, and ends when the peer goes on", async () => {
    verifies("LIM-062");
    const open: (() => void)[] = [];
    host.answer = (request) =>
      new Promise<ConnectPeerResponse>((resolve) => open.push(() => resolve(responseTo(request))));
    const [there, here] = world.network.ends.slice(-2);
    assert.ok(there && here);
    const heard: DirectFrame[] = [];
    const reader = new FrameReader(LIMITS.direct.frameBytes);
    const listen = there.arrive.bind(there);
    const frameOf = (request: PeerRequest) => encodeFrame({ kind: "request", request }, 4096);
    const flood = (count: number): void => {
      for (let sent = 0; sent < count; sent += 1) here.arrive(frameOf(requestFrom(joiner, host, id)));
    };
    there.arrive = (bytes) => {
      reader.push(bytes);
      for (let frame = reader.next(); frame !== undefined; frame = reader.next())
        heard.push(DirectFrame.parse(frame.value()));
      listen(bytes);
    };
    flood(4);
    assert.equal(host.received.length, 4);
    flood(1);
    await until("the fifth is refused", () => heard.length === 1);
    const [refusal] = heard;
    assert.ok(refusal?.kind === "response" && !refusal.response.ok);
    assert.equal(refusal.response.error.code, "overloaded");
    assert.equal(host.received.length, 4);
    assert.ok(host.relation(id).online);
    open.shift()?.();
    await until("one is answered", () => heard.length === 2);
    flood(1);
    assert.equal(host.received.length, 5);
    // Whoever doesn't take the refusals off the line gets no more of them.
    here.stalled = true;
    flood(LIMITS.direct.requests);
    assert.ok(host.relation(id).online);
    flood(1);
    await until("it is over", () => !host.relation(id).online);
    assert.match(host.relation(id).error ?? "", /more simultaneous requests/u);
    assert.equal(host.received.length, 5);
  });

  it("ends with a frame that isn't one of the three", async () => {
    verifies("DRC-078", "DRC-079", "DRC-080", "LIM-054");
    const [, there] = world.network.ends.slice(-2);
    const operation = { op: "terminal_open", group_id: GROUP };
    const { proof } = requestFrom(joiner, host, id);
    there?.arrive(encodeFrame({ kind: "request", request: { proof, operation } }, 4096));
    await until("offline", () => !host.relation(id).online);
    assert.equal(host.received.length, 0);
    /** The length of a frame arrives on a new channel. */
    const announce = async (bytes: number): Promise<void> => {
      world.clock.advance(5 * SECOND);
      await until("online again", () => host.relation(id).online && joiner.relation(id).online);
      const [, anew] = world.network.ends.slice(-2);
      const head = Buffer.alloc(4);
      head.writeUInt32BE(bytes);
      anew?.arrive(head);
      await rest();
    };
    await announce(14 * 1024 * 1024);
    assert.ok(host.relation(id).online);
    world.network.breakAll();
    await until("offline", () => !host.relation(id).online && !joiner.relation(id).online);
    await announce(14 * 1024 * 1024 + 1);
    await until("offline for a frame that is too long", () => !host.relation(id).online);
  });

  it("is no authority: it ends with the grant", async () => {
    verifies("DRC-060");
    joiner.answer = () => new Promise(() => {});
    const asked = ask(host, joiner);
    await until("it is there", () => joiner.received.length === 1);
    await host.direct.revoke(GROUP, id);
    assert.equal((await asked).kind, "uncertain");
    assert.equal((await ask(host, joiner)).kind, "refused");
  });

  it("gives way to a newer one of the same connection", async () => {
    const [, first] = world.network.ends.slice(-2);
    // Half-open: the joiner has lost it, the host doesn't know.
    first?.other?.arriveEnd("The connection was reset.");
    await until("the joiner noticed", () => !joiner.relation(id).online);
    assert.ok(host.relation(id).online);
    world.clock.advance(5 * SECOND);
    await until("online again", () => joiner.relation(id).online);
    assert.equal((await ask(host, joiner)).kind, "answered");
  });

  it("ends with the listener that received it; dialling out goes on", async () => {
    verifies("DRC-045", "DRC-050", "DRC-051", "DRC-052");
    await joiner.direct.configure(
      { bind: "192.0.2.11:8847", address: "192.0.2.11:8847" },
      undefined,
      undefined,
    );
    await joiner.direct.configure(null, undefined, undefined);
    assert.ok(!world.network.isBound("192.0.2.11:8847"));
    assert.ok(joiner.relation(id).online);
    await host.direct.configure(null, undefined, undefined);
    await until("offline", () => !joiner.relation(id).online);
    assert.ok(!host.relation(id).online);
    assert.ok(!world.network.isBound(LISTENER.bind));
  });
});
