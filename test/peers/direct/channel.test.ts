import assert from "node:assert/strict";
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { FrameReader } from "../../../daemon/peers/direct/frame-reader.ts";
import { encodeFrame as frameOf } from "../../../daemon/peers/direct/frames.ts";
import type { Link } from "../../../daemon/peers/direct/link.ts";
import type { PeerOutcome, PeerRequest, PeerRoute } from "../../../daemon/peers/transport.ts";
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { BlobBytes } from "../../../shared/wire/v1/blob-bytes.ts";
import { DirectFrame, parseInvitationText } from "../../../shared/wire/v1/direct.ts";
import type { ConnectPeerResponse } from "../../../shared/wire/v1/peer.ts";
import { verifies } from "../../requirements.ts";
import { until } from "../../support/until.ts";
import { GROUP, type Instance, LISTENER, responseTo, rest, World } from "./setting.ts";

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

function encodeFrame(value: unknown, limit: number): Buffer {
  const { parts } = frameOf(value, limit);
  const all: Uint8Array[] = [];
  for (let part = parts.next(); part.done !== true; part = parts.next()) all.push(Buffer.from(part.value));
  return Buffer.concat(all);
}

describe("frames", () => {
  it("come whole out of any pieces, and never longer than allowed", () => {
    verifies("LIM-053");
    const values = [{ a: 1 }, "x".repeat(1000), [], null, { text: "ä€😀" }];
    const bytes = Buffer.concat(values.map((value) => encodeFrame(value, 4096)));
    for (const size of [1, 2, 3, 7, 100, bytes.length]) {
      const reader = new FrameReader(4096);
      const found: unknown[] = [];
      for (let at = 0; at < bytes.length; at += size) {
        reader.push(bytes.subarray(at, at + size));
        for (let frame = reader.next(); frame !== undefined; frame = reader.next()) found.push(frame.value());
      }
      assert.deepEqual(found, values);
    }
    const reader = new FrameReader(10);
    reader.push(Buffer.from([0, 0, 0, 11]));
    assert.throws(() => reader.next(), RangeError);
    assert.throws(() => encodeFrame("x".repeat(20), 10), RangeError);
    const broken = new FrameReader(10);
    broken.push(Buffer.from([0, 0, 0, 2, 0x7b, 0x7b]));
    assert.throws(() => broken.next()?.value(), /JSON/u);
  });
});

describe("frames with files", () => {
  const blob = (characters: number) => ({
    sha256: "0".repeat(64),
    base64: randomBytes(characters).toString("base64").slice(0, characters),
  });
  const deliver = (text: string, ...blobs: unknown[]) => ({
    kind: "request",
    request: { proof: { request_id: "1" }, operation: { op: "deliver", message: { text }, blobs } },
  });
  /** The value of a frame that arrives in pieces of this size, as JSON has it. */
  const read = (bytes: Uint8Array, size = 50_000): unknown => {
    const reader = new FrameReader(LIMITS.direct.frameBytes);
    let value: unknown;
    for (let at = 0; at < bytes.length; at += size) {
      assert.equal(value, undefined);
      reader.push(bytes.subarray(at, at + size));
      value = reader.next()?.value();
      if (value === undefined && at + size >= 4) assert.equal(reader.held, at + size - 4);
    }
    assert.equal(reader.held, 0);
    return JSON.parse(JSON.stringify(value));
  };
  const asBytes = ({ sha256, base64 }: ReturnType<typeof blob>) => {
    const bytes = Buffer.from(base64, "base64");
    const pieces = [0, 1, 2, 7, 100_001, 100_002].map((from, at, all) => bytes.subarray(from, all[at + 1]));
    return { sha256, base64: new BlobBytes(bytes.length, sha256, () => pieces) };
  };

  it("are the same bytes as JSON, and the same value again, whatever the sizes", () => {
    for (const sizes of [[], [10], [70_000], [65_536, 3, 300_000], [4, 80_000, 8], [1_000_000, 500_000]]) {
      const blobs = sizes.map(blob);
      const value = deliver('A "base64":" in a text', ...blobs);
      const bytes = encodeFrame(value, LIMITS.direct.frameBytes);
      assert.equal(bytes.subarray(4).toString(), JSON.stringify(value));
      const mixed = blobs.map((one) => (one.base64.length % 4 === 0 ? asBytes(one) : one));
      const ofBytes = deliver('A "base64":" in a text', ...mixed);
      assert.ok(encodeFrame(ofBytes, LIMITS.direct.frameBytes).equals(bytes));
      for (const size of [1021, 16_384, 50_000, bytes.length]) assert.deepEqual(read(bytes, size), value);
    }
    const padded = deliver("x", { sha256: "1", base64: Buffer.alloc(70_000, "p").toString("base64") });
    const bytes = encodeFrame(padded, LIMITS.direct.frameBytes);
    for (const size of [1, 7]) assert.deepEqual(read(bytes, size), padded);
  });

  it("have large files as their bytes, with their digest, and other texts as they are", () => {
    const file = randomBytes(100_000);
    const base64 = file.toString("base64");
    const blobsOf = (value: unknown) => {
      const reader = new FrameReader(LIMITS.direct.frameBytes);
      reader.push(encodeFrame(value, LIMITS.direct.frameBytes));
      return (reader.next()!.value() as ReturnType<typeof deliver>).request.operation.blobs as {
        base64: unknown;
      }[];
    };
    const [read] = blobsOf(deliver("x", { sha256: "1", base64 }));
    assert.ok(read?.base64 instanceof BlobBytes);
    assert.ok(Buffer.concat([...read.base64.read()]).equals(file));
    assert.equal(read.base64.sha256, createHash("sha256").update(file).digest("hex"));
    // What isn't canonical: another alphabet, something missing, padding inside, bits behind the last byte.
    for (const other of [
      `${base64.slice(0, 70_000)}-${base64.slice(70_001)}`,
      base64.slice(0, -1),
      `${base64.slice(0, 80_000)}AA==${base64.slice(80_000)}`,
      `${base64.slice(0, 80_000)}AB==`,
      `${base64.slice(0, 80_000)}ä${base64.slice(80_000)}`,
    ]) {
      assert.equal(blobsOf(deliver("x", { sha256: "1", base64: other }))[0]?.base64, other);
    }
  });

  it("are read as JSON is, escapes, spaces and strange places included", () => {
    const frame = (text: string): Buffer => {
      const head = Buffer.alloc(4);
      head.writeUInt32BE(Buffer.byteLength(text));
      return Buffer.concat([head, Buffer.from(text)]);
    };
    const long = "A".repeat(70_000);
    const { base64 } = blob(90_000);
    const value = deliver("x", { sha256: "1", base64 }, { sha256: "2", base64: `${long}//` });
    const escaped = JSON.stringify(value).replaceAll("//", "\\/\\/");
    assert.deepEqual(read(frame(escaped)), value);
    assert.deepEqual(read(frame(JSON.stringify(value, null, 1))), value);
    for (const text of [
      JSON.stringify({ base64: long }),
      JSON.stringify(deliver("x", { base64: long, sha256: "1" })).replace('"1"', `"1","base64":"${long}"`),
      JSON.stringify(deliver("x", { base64: long })).slice(0, -1),
      `"${long}"base64":"${long}"`,
    ]) {
      assert.throws(() => read(frame(text)));
    }
  });
});

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
    world.clock.advance(10 * SECOND);
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
    world.clock.advance(5 * SECOND);
    await until("online again", () => host.relation(id).online && joiner.relation(id).online);
    const [, anew] = world.network.ends.slice(-2);
    const head = Buffer.alloc(4);
    head.writeUInt32BE(14 * 1024 * 1024 + 1);
    anew?.arrive(head);
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

describe("a Direct listener", () => {
  let world: World;
  let host: Instance;
  beforeEach(async () => {
    world = new World();
    host = await world.instance("host");
  });
  afterEach(() => world.close());

  /** A connection as somebody without manners makes one. */
  async function knock(from = "192.0.2.99"): Promise<Link> {
    const guest = await world.instance("guest", { from });
    return guest.links.connect(
      { host: "192.0.2.10", port: 8847 },
      host.identity.public_key,
      new AbortController().signal,
    );
  }

  function isEnded(link: Link): () => boolean {
    let ended = false;
    link.receive({
      data: () => {},
      ended: () => {
        ended = true;
      },
    });
    return () => ended;
  }

  it("is off until it is set, and says why it isn't bound apart from what is wrong with connections", async () => {
    verifies("DRC-067", "DRC-070");
    assert.equal(host.direct.status(undefined).runtime, null);
    assert.ok(!world.network.isBound(LISTENER.bind));
    await host.direct.configure(LISTENER, undefined, undefined);
    const invitation = await host.direct.invite(GROUP, undefined);
    await host.direct.configure(null, undefined, undefined);
    world.network.unbindable.set(LISTENER.bind, "EADDRINUSE");
    await host.direct.configure(LISTENER, undefined, undefined);
    const guest = await world.instance("guest");
    const id = await guest.direct.join(GROUP, invitation);
    await until("the attempt failed", () => guest.relation(id).error !== null);
    assert.match(host.direct.status(undefined).runtime?.error ?? "", /Another program uses/u);
    assert.equal(host.relation(id).error, null);
    assert.match(guest.relation(id).error ?? "", /Nobody listens/u);
    assert.equal(guest.direct.status(undefined).runtime?.error, null);
    world.network.unbindable.clear();
    world.clock.advance(5 * SECOND);
    await until("it is bound", () => world.network.isBound(LISTENER.bind));
    assert.equal(host.direct.status(undefined).runtime?.bind, LISTENER.bind);
  });

  it("isn't overwritten by a form that knows an older setting", async () => {
    await host.direct.configure(LISTENER, undefined, null);
    const other = { ...LISTENER, address: "other.example:1" };
    await assert.rejects(host.direct.configure(other, undefined, null), { code: "conflict" });
    await assert.rejects(host.direct.invite(GROUP, other), { code: "conflict" });
    await host.direct.configure(other, undefined, LISTENER);
  });

  it("begins no channel for a connection that was revoked while its answer was on the way", async () => {
    verifies("DRC-060");
    await world.close();
    world = new World();
    const { host: inviting, joiner, id } = await world.joined();
    await inviting.direct.configure(null, undefined, undefined);
    const taken: (() => void)[] = [];
    const listen = inviting.links.listen.bind(inviting.links);
    inviting.links.listen = (at, accept, lost) =>
      listen(
        at,
        (incoming) => {
          const secure = async (): Promise<Link> => {
            const link = await incoming.secure();
            const send: Link["send"] = (bytes, sent) => link.send(bytes, () => taken.push(sent));
            return {
              peer_key: link.peer_key,
              receive: link.receive.bind(link),
              send,
              close: () => link.close(),
            };
          };
          accept({ ...incoming, secure });
        },
        lost,
      );
    await inviting.direct.configure(LISTENER, undefined, undefined);
    await inviting.direct.approve(GROUP, id);
    world.clock.advance(5000);
    await until("the host says that it is approved", () => taken.length === 1);
    await inviting.direct.revoke(GROUP, id);
    for (const sent of taken.splice(0)) sent();
    await rest();
    assert.equal(inviting.relation(id).online, false);
    world.clock.advance(5000);
    await until("the joiner is told", () => {
      for (const sent of taken.splice(0)) sent();
      return joiner.relation(id).state === "revoked";
    });
  });

  /** A host that sends `said` instead of its answers; gives the joiner, which has been approved. */
  async function strangely(
    said: (answer: Uint8Array) => Uint8Array,
  ): Promise<{ joiner: Instance; id: string }> {
    await world.close();
    world = new World();
    const { host: inviting, joiner, id } = await world.joined();
    await inviting.direct.configure(null, undefined, undefined);
    const listen = inviting.links.listen.bind(inviting.links);
    inviting.links.listen = (at, accept, lost) =>
      listen(
        at,
        (incoming) => {
          const secure = async (): Promise<Link> => {
            const link = await incoming.secure();
            const send: Link["send"] = (bytes, sent) => link.send(said(bytes), sent);
            return {
              peer_key: link.peer_key,
              receive: link.receive.bind(link),
              send,
              close: () => link.close(),
            };
          };
          accept({ ...incoming, secure });
        },
        lost,
      );
    await inviting.direct.configure(LISTENER, undefined, undefined);
    await inviting.direct.approve(GROUP, id);
    world.clock.advance(5000);
    return { joiner, id };
  }

  it("leaves the other side's error to be seen when the channel fails as soon as it is active", async () => {
    const bad = encodeFrame({ kind: "nonsense" }, 4096);
    const { joiner, id } = await strangely((answer) => Buffer.concat([answer, bad]));
    const told = (): string => joiner.relation(id).error ?? "";
    await until("it says what came", () => /a frame that this version doesn't know/u.test(told()));
    await rest();
    assert.match(told(), /a frame that this version doesn't know/u);
    assert.equal(joiner.relation(id).online, false);
  });

  it("isn't said to have ended the connection when the joiner refuses what it answers", async () => {
    const { joiner, id } = await strangely(() => Buffer.alloc(8, 0xff));
    const told = (): string => joiner.relation(id).error ?? "";
    await until("it says what came", () => told().startsWith("The peer sent a frame that is over a limit"));
  });

  it("holds sixteen connections that haven't said an approved hello, four of an address, for ten seconds", async () => {
    verifies("LIM-056");
    await host.direct.configure(LISTENER, undefined, undefined);
    const sameAddress: (() => boolean)[] = [];
    for (let count = 0; count < 5; count += 1) sameAddress.push(isEnded(await knock("192.0.2.50")));
    await until("the fifth has another's place", () => sameAddress.some((ended) => ended()));
    assert.equal(sameAddress.filter((ended) => ended()).length, 1);
    assert.ok(!sameAddress[4]!());
    const others: (() => boolean)[] = [];
    for (let count = 0; count < 13; count += 1) others.push(isEnded(await knock(`192.0.2.${100 + count}`)));
    const all = (): boolean[] => [...sameAddress, ...others].map((ended) => ended());
    await until("the seventeenth has another's place", () => all().filter(Boolean).length === 2);
    assert.ok(!others[12]!());
    world.clock.advance(10 * SECOND);
    await until("the rest is gone", () => [...sameAddress, ...others].every((ended) => ended()));
    const late = isEnded(await knock());
    await rest();
    assert.ok(!late());
  });

  it("closes without an answer on a wrong secret, another's key, and anything else", async () => {
    verifies("DRC-091", "DRC-092");
    await host.direct.configure(LISTENER, undefined, undefined);
    const invitation = parseInvitationText(await host.direct.invite(GROUP, undefined));
    assert.ok(invitation);
    const other = await world.instance("other");
    const endpoint = { ...invitation.host, ...keysOf(other) };
    const { id, secret } = invitation;
    const hellos: unknown[] = [
      { id, secret: "0".repeat(64), endpoint },
      { id, secret, endpoint: { ...endpoint, ...keysOf(host) } },
      { id, secret, endpoint, more: "x" },
      { id, secret },
      "hello",
    ];
    for (const hello of hellos) {
      const link = await other.links.connect(
        { host: "192.0.2.10", port: 8847 },
        host.identity.public_key,
        new AbortController().signal,
      );
      const arrived: Uint8Array[] = [];
      let ended = false;
      link.receive({
        data: (bytes) => arrived.push(bytes),
        ended: () => {
          ended = true;
        },
      });
      link.send(encodeFrame(hello, 65_536), () => {});
      await until("it is turned away", () => ended);
      assert.deepEqual(arrived, []);
    }
    assert.equal(host.relation(id).remote, null);
    const unknown = { id: `direct-${randomUUID()}`, secret, endpoint };
    const link = await other.links.connect(
      { host: "192.0.2.10", port: 8847 },
      host.identity.public_key,
      new AbortController().signal,
    );
    const reader = new FrameReader(100);
    link.receive({ data: (bytes) => reader.push(bytes), ended: () => {} });
    link.send(encodeFrame(unknown, 65_536), () => {});
    await until("an unknown id is answered", () => reader.held > 0);
    assert.equal(reader.next()?.value(), "revoked");
  });

  it("takes a hello of 8 KiB, and none that is a byte longer", async () => {
    verifies("LIM-055");
    await host.direct.configure(LISTENER, undefined, undefined);
    const other = await world.instance("other");
    const answerTo = async (bytes: number): Promise<unknown> => {
      const invitation = parseInvitationText(await host.direct.invite(GROUP, undefined));
      assert.ok(invitation);
      const { id, secret } = invitation;
      const endpoint = {
        ...invitation.host,
        ...keysOf(other),
        group_id: `g_${String(bytes).padStart(12, "0")}`,
      };
      // White space is JSON's, so that nothing else is wrong with it.
      const hello = Buffer.from(JSON.stringify({ id, secret, endpoint }).padEnd(bytes, " "));
      const head = Buffer.alloc(4);
      head.writeUInt32BE(hello.length);
      const link = await other.links.connect(
        { host: "192.0.2.10", port: 8847 },
        host.identity.public_key,
        new AbortController().signal,
      );
      const reader = new FrameReader(100);
      let ended = false;
      link.receive({ data: (part) => reader.push(part), ended: () => (ended = true) });
      link.send(Buffer.concat([head, hello]), () => {});
      await until("it is answered or turned away", () => reader.held > 0 || ended);
      const answer = reader.next()?.value();
      assert.equal(host.relation(id).remote === null, answer === undefined);
      return answer;
    };
    assert.equal(LIMITS.direct.helloBytes, 8192);
    assert.equal(await answerTo(8192), "pending");
    assert.equal(await answerTo(8193), undefined);
  });
});

function keysOf({ identity }: Instance): { instance_id: string; public_key: string } {
  return { instance_id: identity.instance_id, public_key: identity.public_key };
}
