/** An operation that doesn't touch the disk, compared with the minimum for node:http. */
import { join } from "node:path";
import { startDaemon } from "./daemon.ts";
import { compare, interleave, type Measurement } from "./figure.ts";
import { scratchPath } from "./folder.ts";
import { bytesFile, httpRequest, load } from "./native.ts";
import { listening, start, stop } from "./processes.ts";

const NAME = "operation without disk";
const CONNECTIONS = 8;

export const roundTrip: Measurement = {
  figures: [NAME],
  async run({ short }) {
    const daemon = await startDaemon();
    const socket = scratchPath("bare.sock");
    const bare = start(process.execPath, [join(import.meta.dirname, "bare", "endpoint.mjs"), socket]);
    await listening(bare, socket);
    const ours = daemon.operation("whoami", {});
    const headers = { ...daemon.headers, "content-type": "application/json" };
    const theirs = bytesFile("bare", httpRequest("POST", "/op/whoami", headers, "{}"));
    const shape = { connections: CONNECTIONS, warmup: short ? 500 : 2000, requests: short ? 2000 : 40_000 };
    const sides = {
      ours: () => load({ ...shape, socket: daemon.socket, protocol: "http", request: ours }),
      theirs: () => load({ ...shape, socket, protocol: "http", request: theirs }),
    };
    if (!short) await interleave(2, sides);
    const rates = await interleave(short ? 2 : 9, sides);
    await daemon.stop();
    await stop(bare);
    return [
      compare({
        name: NAME,
        unit: "calls/s",
        value: rates.ours,
        against: "a bare node:http endpoint",
        against_value: rates.theirs,
        goal: 0.6,
        floor: 0.3,
        better: "higher",
      }),
    ];
  },
};
