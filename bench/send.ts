/**
 * Durable sends over the local socket compared with Redis: the same producers, the same bytes of
 * text, the same disk.
 */
import { makeGroup, startDaemon } from "./daemon.ts";
import { compare, type Figure, interleave, type Measurement } from "./figure.ts";
import { bytesFile, load } from "./native.ts";
import { startRedis, xadd } from "./redis.ts";

const TEXT = "A message of six hundred bytes, as agents write them. ".repeat(12).slice(0, 600);

interface Row {
  producers: number;
  requests: number;
  goal: number;
  floor: number;
}

/**
 * 64 producers had a goal of 0.9 and a floor of 0.6 while sockets were read past their streams,
 * through private members of Node, and a symbol hid the JSON of an answer.
 */
const rows: readonly Row[] = [
  { producers: 1, requests: 2000, goal: 1, floor: 0.7 },
  { producers: 8, requests: 8000, goal: 0.75, floor: 0.5 },
  { producers: 64, requests: 20_000, goal: 0.6, floor: 0.5 },
];

const nameOf = ({ producers }: Row) => `durable send, ${producers} producer${producers === 1 ? "" : "s"}`;

export const send: Measurement = {
  figures: rows.map(nameOf),
  async run({ short, only }): Promise<Figure[]> {
    const daemon = await startDaemon();
    const redis = await startRedis();
    const ours = daemon.operation("send", { group_id: await makeGroup(daemon), text: TEXT, to: ["agent"] });
    const theirs = bytesFile("xadd", xadd(TEXT));
    const figures: Figure[] = [];
    for (const row of rows.filter((row) => nameOf(row).includes(only))) {
      const requests = short ? row.requests / 10 : row.requests;
      const shape = { connections: row.producers, warmup: requests / 10, requests };
      const sides = {
        ours: () => load({ ...shape, socket: daemon.socket, protocol: "http", request: ours }),
        theirs: () => load({ ...shape, socket: redis.socket, protocol: "resp", request: theirs }),
      };
      // Once unmeasured: compiled code is what a daemon runs that has been up for a minute.
      if (!short) await interleave(2, sides);
      const rates = await interleave(short ? 2 : 9, sides);
      figures.push(
        compare({
          name: nameOf(row),
          unit: "sends/s",
          value: rates.ours,
          against: "Redis XADD, appendfsync always",
          against_value: rates.theirs,
          goal: row.goal,
          floor: row.floor,
          better: "higher",
        }),
      );
    }
    await daemon.stop();
    await redis.stop();
    return figures;
  },
};
