import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { FrameReader } from "../../../daemon/peers/direct/frame-reader.ts";
import type { Link } from "../../../daemon/peers/direct/link.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { parseInvitationText } from "../../../shared/wire/v1/direct.ts";
import { verifies } from "../../requirements.ts";
import { until } from "../../support/until.ts";
import { encodeFrame, GROUP, type Instance, LISTENER, rest, World } from "./setting.ts";

const SECOND = 1000;

/** From now on, what an instance's listener sends goes out by `send`. */
function sendBy({ links }: Instance, send: (link: Link, ...sent: Parameters<Link["send"]>) => void): void {
  const listen = links.listen.bind(links);
  links.listen = (at, accept, lost) => {
    const take: typeof accept = (incoming) => {
      const secure = async (): Promise<Link> => {
        const link = await incoming.secure();
        return {
          peer_key: link.peer_key,
          receive: link.receive.bind(link),
          send: (...sent) => send(link, ...sent),
          close: () => link.close(),
        };
      };
      accept({ ...incoming, secure });
    };
    return listen(at, take, lost);
  };
}

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
    assert.match(guest.relation(id).error ?? "", /Nothing is listening/u);
    assert.equal(guest.direct.status(undefined).runtime?.error, null);
    world.network.unbindable.clear();
    world.clock.advance(5 * SECOND);
    await until("it is bound", () => world.network.isBound(LISTENER.bind));
    assert.equal(host.direct.status(undefined).runtime?.bind, LISTENER.bind);
  });

  it("ends the channels that it received when it is turned off after the system took it away", async () => {
    verifies("DRC-050");
    await world.close();
    world = new World();
    const failures: ((error: Error) => void)[] = [];
    host = await world.instance("host");
    const listen = host.links.listen.bind(host.links);
    host.links.listen = (at, accept, failed) => {
      failures.push(failed);
      return listen(at, accept, failed);
    };
    const { id } = await world.connected(host);
    failures.at(-1)!(Object.assign(new Error("too many open files"), { code: "EMFILE" }));
    assert.equal(host.direct.status(undefined).runtime?.bind, null);
    assert.equal(host.relation(id).online, true);
    await host.direct.configure(null, undefined, undefined);
    assert.equal(host.relation(id).online, false);
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
    sendBy(inviting, (link, bytes, sent) => link.send(bytes, () => taken.push(sent)));
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
    sendBy(inviting, (link, bytes, sent) => link.send(said(bytes), sent));
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
    world.clock.advance(10 * SECOND - 1);
    await rest();
    assert.equal(all().filter(Boolean).length, 2);
    world.clock.advance(1);
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
