/**
 * One append to a thousand stream clients, until the last has it, compared with a C program that
 * only writes the same bytes to as many sockets.
 */
import { readFileSync } from "node:fs";
import { API_PREFIX } from "../shared/names.ts";
import { makeGroup, startDaemon } from "./daemon.ts";
import { compare, interleave, type Measurement } from "./figure.ts";
import { scratchPath } from "./folder.ts";
import { bytesFile, httpRequest, nativeProgram } from "./native.ts";
import { listening, output, start, stop } from "./processes.ts";

const NAME = "one append to 1,000 stream clients";
const CLIENTS = 1000;
/**
 * They were 1.3 and 2 while a socket's descriptor was written to past its stream, which Node
 * doesn't document.
 */
const GOAL = 2.5;
const FLOOR = 3;
/** Events before those that count. */
const WARM_UP = 500;
const TEXT = "Everybody gets this. ".repeat(15);

async function listen(socket: string, rounds: number, files: string[]): Promise<number> {
  const program = await nativeProgram("listeners");
  const text = await output(program, [socket, `${CLIENTS}`, `${rounds}`, ...files]);
  return (JSON.parse(text) as { median_us: number }).median_us / 1000;
}

export const fanout: Measurement = {
  figures: [NAME],
  async run({ short }) {
    const daemon = await startDaemon();
    const group = await makeGroup(daemon);
    const trigger = daemon.operation("send", { group_id: group, text: TEXT, to: ["agent"] });
    const stream = `${API_PREFIX}/groups/${group}/ledger/stream`;
    const subscribe = bytesFile(
      "subscribe",
      httpRequest("GET", stream, { ...daemon.headers, accept: "text/event-stream" }),
    );
    // What one client gets, so that the other side writes the same; and compiled code, which is
    // what a daemon runs that has been up for a minute.
    const captured = scratchPath("event");
    await listen(daemon.socket, short ? 2 : WARM_UP, [subscribe, trigger, captured]);
    readFileSync(captured);

    const socket = scratchPath("fanout.sock");
    const program = start(await nativeProgram("fanout"), [socket, captured]);
    await listening(program, socket);
    const events = short ? 3 : 60;
    const times = await interleave(short ? 2 : 5, {
      ours: () => listen(daemon.socket, events, [subscribe, trigger]),
      theirs: () => listen(socket, events, [subscribe, trigger]),
    });
    await stop(program);
    await daemon.stop();
    return [
      compare({
        name: NAME,
        unit: "ms",
        value: times.ours,
        against: "a C program writing the same bytes",
        against_value: times.theirs,
        goal: GOAL,
        floor: FLOOR,
        better: "lower",
      }),
    ];
  },
};
