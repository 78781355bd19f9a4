/**
 * Strangers on the network before a real daemon: connections that prove nothing, held open or
 * renewed, and hellos that mean nothing.
 */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { networkOf, PendingConnections } from "../../../daemon/peers/direct/pending-connections.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { until } from "../../support/until.ts";

import { HostilePeer } from "./hostile-peer.ts";
import { Side } from "./two-homes.ts";

const { unadmitted, unadmittedPerAddress } = LIMITS.direct;

describe("networks", () => {
  it("are an IPv4 address, and 64 bits of an IPv6 address however it is written", () => {
    assert.equal(networkOf("192.0.2.1"), "192.0.2.1");
    for (const [address, network] of [
      ["2001:db8::1", "2001:db8:0:0"],
      ["2001:0db8:0:0:ffff::2", "2001:db8:0:0"],
      ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
      ["fe80::1%eth0", "fe80:0:0:0"],
      ["::1", "0:0:0:0"],
    ] as const) {
      assert.equal(networkOf(address), network);
    }
  });
});

describe("places at the listener", () => {
  let chance: number;
  let places: PendingConnections;
  let ended: string[];
  const none = (): never => {
    throw new Error("nothing is sent");
  };
  const admit = (name: string, address = `192.0.2.${ended.length}.${name}`) =>
    places.admit({ address, secure: none, destroy: none, whenClosed: () => {} }, () => ended.push(name));
  const strangers = (count: number): void => {
    for (let at = 0; at < count; at += 1) admit(`stranger ${at}`);
  };
  beforeEach(() => {
    chance = 0;
    ended = [];
    const bytes = (): Uint8Array => Uint8Array.of(0, 0, 0, chance);
    places = new PendingConnections({ bytes });
  });

  it("are a stranger's by chance, not by age", () => {
    chance = 5;
    strangers(unadmitted);
    assert.deepEqual(ended, []);
    admit("newcomer");
    assert.deepEqual(ended, ["stranger 5"]);
  });

  it("are given up first by those that were answered", () => {
    strangers(unadmitted - 1);
    admit("answered").isAnswered = true;
    admit("newcomer");
    assert.deepEqual(ended, ["answered"]);
  });

  it("aren't taken from one that has proven a relation's key, of which a few have places of their own", () => {
    const known = Array.from({ length: LIMITS.direct.unadmittedPerKey }, (_, at) => admit(`known ${at}`));
    for (const one of known) places.recognize(one, "its key");
    strangers(unadmitted + 50);
    assert.deepEqual(
      ended.filter((name) => name.startsWith("known")),
      [],
    );
    places.recognize(admit("known again"), "its key");
    assert.ok(ended.includes("known 0"));
  });

  it("are kept for networks that a channel came from", () => {
    places.leave(admit("approved", "198.51.100.7"));
    strangers(unadmitted);
    admit("again", "198.51.100.7");
    admit("newcomer");
    assert.deepEqual(ended, ["stranger 0"]);
  });
});

describe("a daemon and strangers", function () {
  this.timeout(180_000);
  let here: Side;
  let peer: HostilePeer;
  const held = new Set<Socket>();

  beforeEach(async () => {
    here = await Side.started("Here");
    peer = await HostilePeer.approved(here);
  });
  afterEach(async () => {
    for (const socket of held) socket.destroy();
    held.clear();
    peer?.dispose();
    await here?.dispose();
  });

  /** Descriptors of the daemon; null where the system doesn't say. */
  function descriptors(): number | null {
    const folder = `/proc/${here.daemon.pid}/fd`;
    return existsSync(folder) ? readdirSync(folder).length : null;
  }

  it("count until their socket is closed, whatever they were told", async function () {
    const before = descriptors();
    if (before === null) this.skip();
    for (let count = 0; count < 40; count += 1) {
      const line = await peer.dial({}, true);
      assert.equal(await peer.hello(line, { id: `direct-${randomUUID()}` }), "revoked");
      held.add(line.socket);
      const more = (descriptors() ?? 0) - before;
      assert.ok(more <= unadmittedPerAddress + 1, `${more} more descriptors`);
    }
  });

  it("are turned away when they change keys all the time", async () => {
    const line = await peer.dial({ recordsPerKey: 0 });
    const { length } = peer.helloFrame();
    let sent = 0;
    for (; sent < length && !line.isEnded; sent += 1) {
      await line.send(peer.helloFrame().subarray(sent, sent + 1));
    }
    await until("it is turned away", async () => line.isEnded);
    assert.ok(sent < length, `${sent} of ${length} bytes`);
    // Changing them now and then is everybody's right.
    const other = await peer.dial({ recordsPerKey: 0 });
    assert.equal(await peer.hello(other), "active");
  });

  it("keep no approved peer out, though they hold every place and take each anew that they lose", async function () {
    // Only there can one machine have many addresses of loopback.
    if (process.platform !== "linux") this.skip();
    const [host, port] = peer.invitation.address.split(":") as [string, string];
    let isOver = false;
    let taken = 0;
    const hold = (index: number): void => {
      const socket = connect({ host, port: Number(port), localAddress: `127.0.0.${10 + index}` });
      held.add(socket);
      socket.on("connect", () => (taken += 1));
      socket.on("error", () => undefined);
      socket.on("close", () => {
        held.delete(socket);
        if (!isOver) hold(index);
      });
    };
    for (let index = 0; index < unadmitted; index += 1) hold(index);
    await until("every place is taken", async () => taken >= unadmitted);
    const online = async (): Promise<boolean> => {
      try {
        const line = await peer.online();
        await here.sees("online", peer.id, (relation) => relation.online);
        line.end();
        await here.sees("offline", peer.id, (relation) => !relation.online);
        return true;
      } catch {
        return false;
      }
    };
    await until("it comes in", online);
    // Now its network is known, and it comes in at once.
    for (let count = 0; count < 5; count += 1) assert.ok(await online());
    isOver = true;
  });
});
