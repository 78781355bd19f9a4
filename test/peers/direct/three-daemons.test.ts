/** Three real daemons in a row: what a connection of two Groups reaches, and what it doesn't. */
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { connect as dial } from "node:net";
import { dirname, join } from "node:path";
import { homePaths } from "../../../client/paths.ts";
import { InstanceIdentity } from "../../../daemon/home/identity.ts";
import { secureConnect } from "../../../daemon/peers/direct/secure-socket.ts";
import { RealClock } from "../../../platform/real-clock.ts";
import { RealFiles } from "../../../platform/real-files.ts";
import { RealRandom } from "../../../platform/real-random.ts";
import { instanceIdOf } from "../../../shared/wire/v1/fields.ts";
import { verifies } from "../../requirements.ts";
import { SimulatedFiles } from "../../simulation/files.ts";
import { connect, Side } from "./two-homes.ts";

describe("three daemons in a row, connected two by two", function () {
  this.timeout(300_000);
  let first: Side;
  let middle: Side;
  let last: Side;
  const all = (): Side[] => [first, middle, last];

  before(async () => {
    [first, middle, last] = await Promise.all([
      Side.started("First"),
      Side.started("Middle"),
      Side.started("Last"),
    ]);
    await connect(middle, first);
    await connect(middle, last);
  });
  after(async () => {
    await Promise.all(all().map((side) => side?.dispose()));
  });

  it("reach their neighbours, and nobody through them", async () => {
    verifies("DRC-082", "DRC-083", "DRC-001");
    const directory = async (side: Side) => {
      const found = await side.client.result("connect_catalog", { group_id: side.group_id });
      assert.ok("external_groups" in found);
      return found.external_groups.map(({ instance }) => instance.instance_id).sort();
    };
    assert.deepEqual(await directory(first), [middle.instance_id]);
    assert.deepEqual(await directory(last), [middle.instance_id]);
    assert.deepEqual(await directory(middle), [first.instance_id, last.instance_id].sort());
    const seen = await first.client.result("connect_catalog", {
      group_id: first.group_id,
      instance_id: middle.instance_id,
      target_group_id: middle.group_id,
    });
    assert.ok("catalog" in seen);
    assert.ok(
      !JSON.stringify(seen).includes(last.instance_id) && !JSON.stringify(seen).includes(last.group_id),
    );
    // Neither by the far instance's name nor by the far Group's at the near instance.
    await assert.rejects(first.send(last, "far", "over there"), /connect/u);
    const through = first.client.result("connect_send", {
      group_id: first.group_id,
      instance_id: middle.instance_id,
      target_group_id: last.group_id,
      client_id: "through",
      text: "over there",
      to: ["user"],
    });
    await assert.rejects(through);
    const [there, back] = await Promise.all([
      first.send(middle, "one", "from the first"),
      last.send(middle, "one", "from the last"),
    ]);
    assert.equal((await first.delivered(there.source_event.id)).state, "sent");
    assert.equal((await last.delivered(back.source_event.id)).state, "sent");
    assert.deepEqual(
      (await last.messages()).map(({ data }) => data["text"]),
      ["from the last"],
    );
  });

  it("prove the key that their Home keeps", async () => {
    verifies("DRC-088");
    const { listener } = await middle.client.result("connect_direct_status", {});
    assert.ok(listener);
    const [host, port] = listener.bind.split(":") as [string, string];
    const socket = dial({ host, port: Number(port), noDelay: true });
    const mine = await InstanceIdentity.obtain(new SimulatedFiles(), new RealRandom(), "/identity");
    const secure = await secureConnect({
      socket,
      role: "client",
      identity: { publicKey: Buffer.from(mine.public_key, "base64"), sign: (bytes) => mine.sign(bytes) },
      pin: () => true,
      clock: new RealClock(),
      random: new RealRandom(),
      handshakeSeconds: 60,
      writeSeconds: 60,
    });
    const kept = InstanceIdentity.read(new RealFiles(), homePaths(middle.daemon.home).identity);
    assert.equal(Buffer.from(secure.peerPublicKey).toString("base64"), kept?.public_key);
    assert.equal(instanceIdOf(secure.peerPublicKey), middle.instance_id);
    secure.destroy();
  });

  it("are asked for their status without anything being made, opened or started by that", async function () {
    if (process.platform !== "linux") this.skip();
    verifies("DRC-066", "DRC-068");
    const fresh = await Side.started("Fresh");
    try {
      const { home, pid } = fresh.daemon;
      const paths = homePaths(home);
      // A status would have to make what is gone.
      rmSync(paths.identity);
      const things = () => ({
        files: readdirSync(home, { recursive: true, encoding: "utf8" }).sort(),
        listening: socketsOf(pid, "tcp").filter(({ state }) => state === LISTENS).length,
        children: childrenOf(pid),
      });
      const before = things();
      const status = await fresh.client.result("connect_direct_status", { group_id: fresh.group_id });
      assert.deepEqual([status.listener, status.runtime, status.relations], [null, null, []]);
      assert.deepEqual(things(), before);
      assert.ok(!before.files.includes("direct_connections.json"));
    } finally {
      await fresh.dispose();
    }
  });

  it("speak TCP with each other and nothing else: no datagrams, no other programs, no other hosts", async function () {
    if (process.platform !== "linux") this.skip();
    verifies("DRC-076", "DRC-077");
    for (const { daemon } of all()) {
      assert.deepEqual(socketsOf(daemon.pid, "udp"), []);
      assert.deepEqual(childrenOf(daemon.pid), []);
      for (const { local, remote } of socketsOf(daemon.pid, "tcp")) {
        assert.ok(LOOPBACK.has(local) && LOOPBACK.has(remote), `${local} to ${remote}`);
      }
    }
  });

  it("exchange messages although no Web listener could start", async () => {
    verifies("DRC-005");
    const taken = new URL((await last.client.result("daemon_status", {})).web_origin ?? "").port;
    const quiet = [
      await Side.started("Without one", { SVC_WEB_PORT: taken }),
      await Side.started("Without the other", { SVC_WEB_PORT: taken }),
    ] as const;
    try {
      const [host, joiner] = quiet;
      for (const side of quiet) {
        assert.equal((await side.client.result("daemon_status", {})).web_origin, null);
      }
      await connect(host, joiner);
      const { source_event: sourceEvent } = await joiner.send(host, "one", "without a Web");
      assert.equal((await joiner.delivered(sourceEvent.id)).state, "sent");
    } finally {
      for (const side of quiet) await side.dispose();
    }
  });

  it("say in the doctor's words what is wrong with their listener, records and relations", async () => {
    const broken = await Side.started("Broken");
    try {
      const check = async (code: string) => {
        const { checks } = await broken.client.result("health", {});
        return checks.find((one) => one.code === code);
      };
      assert.equal((await check("direct"))?.text, "No listener.");
      const { listener } = await middle.client.result("connect_direct_status", {});
      await broken.client.result("connect_direct_configure", { listener });
      const inUse = await check("direct");
      assert.equal(inUse?.severity, "warning");
      assert.match(inUse.text, /Another program uses/u);
      assert.deepEqual([(await check("outbox"))?.severity, (await check("outbox"))?.text], ["ok", "0 wait."]);
      await broken.daemon.stop();
      const paths = homePaths(broken.daemon.home);
      const torn = join(paths.connect.outbox, last.instance_id, "torn.json");
      mkdirSync(dirname(torn), { mode: 0o700, recursive: true });
      writeFileSync(torn, "{", { mode: 0o600 });
      writeFileSync(paths.directConnections, "{", { mode: 0o600 });
      await broken.daemon.start();
      for (const [code, named] of [
        ["direct", "direct_connections.json"],
        ["outbox", "torn.json"],
      ] as const) {
        const found = await check(code);
        assert.equal(found?.severity, "error");
        assert.ok(`${found.text} ${found.remedy}`.includes(named), found.text);
      }
      assert.equal(readFileSync(torn, "utf8"), "{");
    } finally {
      await broken.dispose();
    }
  });
});

const LISTENS = "0A";
/**
 * Addresses of /proc/net/tcp: nowhere and 127.0.0.1, as little-endian hex, and IPv6's nowhere and
 * ::1.
 */
const LOOPBACK = new Set([
  "00000000",
  "0100007F",
  "0".repeat(32),
  `${"0".repeat(24)}01000000`,
  `${"0".repeat(16)}FFFF00000100007F`,
]);

interface Socket {
  local: string;
  remote: string;
  state: string;
}

/** The sockets of a kind that a process holds (Linux). */
function socketsOf(pid: number, kind: "tcp" | "udp"): Socket[] {
  const inodes = new Set<string>();
  for (const name of readdirSync(`/proc/${pid}/fd`)) {
    const inode = /^socket:\[(\d+)\]$/u.exec(linkOf(`/proc/${pid}/fd/${name}`))?.[1];
    if (inode !== undefined) inodes.add(inode);
  }
  return ["", "6"].flatMap((version) =>
    readFileSync(join("/proc", String(pid), "net", kind + version), "utf8")
      .trim()
      .split("\n")
      .slice(1)
      .map((line) => line.trim().split(/\s+/u))
      .filter((fields) => inodes.has(fields[9] ?? ""))
      .map((fields) => ({
        local: fields[1]?.split(":")[0] ?? "",
        remote: fields[2]?.split(":")[0] ?? "",
        state: fields[3] ?? "",
      })),
  );
}

/** It may be closed meanwhile. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}

/** Processes that another one started and that live. */
function childrenOf(pid: number): string[] {
  return readdirSync("/proc").filter((name) => {
    if (!/^\d+$/u.test(name)) return false;
    try {
      const fields = readFileSync(`/proc/${name}/stat`, "utf8").split(") ").at(-1)!.split(" ");
      return fields[1] === String(pid);
    } catch {
      return false;
    }
  });
}
