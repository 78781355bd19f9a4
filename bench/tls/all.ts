/**
 * The TLS of Direct compared with node:tls with Ed25519 certificates, both ends in this process
 * over loopback.
 */
import { compare, interleave, type Measurement } from "../figure.ts";
import { type Ends, nodeTls, ourTls } from "./ends.ts";

const HANDSHAKE = "TLS handshake CPU, both ends";
const BULK = "TLS bulk in 64 KiB writes";
const WRITE_BYTES = 64 * 1024;

/** Milliseconds of processor time for each of `count` handshakes, one after the other. */
async function handshakes(ends: Ends, count: number): Promise<number> {
  const before = process.cpuUsage();
  for (let turn = 0; turn < count; turn += 1) (await ends.connect()).end();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / count;
}

/** MiB per second. */
async function bulk(ends: Ends, writes: number): Promise<number> {
  const connection = await ends.connect();
  const begin = performance.now();
  await connection.carry(Buffer.alloc(WRITE_BYTES, 5), writes);
  const seconds = (performance.now() - begin) / 1000;
  connection.end();
  return (WRITE_BYTES * writes) / 2 ** 20 / seconds;
}

export const tls: Measurement = {
  figures: [HANDSHAKE, BULK],
  async run({ short }) {
    const [ours, theirs] = [await ourTls(), await nodeTls()];
    const count = short ? 20 : 150;
    const writes = short ? 200 : 4000;
    // Compiled code, caches.
    for (const ends of [ours, theirs]) {
      await handshakes(ends, count);
      await bulk(ends, writes / 4);
    }
    const rounds = short ? 2 : 9;
    const cpu = await interleave(rounds, {
      ours: () => handshakes(ours, count),
      theirs: () => handshakes(theirs, count),
    });
    const rate = await interleave(rounds, {
      ours: () => bulk(ours, writes),
      theirs: () => bulk(theirs, writes),
    });
    ours.close();
    theirs.close();
    const against = "node:tls with Ed25519 certificates";
    return [
      compare({
        name: HANDSHAKE,
        unit: "ms",
        value: cpu.ours,
        against,
        against_value: cpu.theirs,
        goal: 1.2,
        floor: 2,
        better: "lower",
      }),
      compare({
        name: BULK,
        unit: "MiB/s",
        value: rate.ours,
        against,
        against_value: rate.theirs,
        goal: 0.55,
        floor: 0.35,
        better: "higher",
      }),
    ];
  },
};
