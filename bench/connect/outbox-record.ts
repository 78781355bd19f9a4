/**
 * A durable record in the outbox, compared with a C program that replaces files of the same size in
 * the same way.
 */
import { join } from "node:path";
import { Outbox } from "../../daemon/peers/outbox/outbox.ts";
import { clientKeyOf } from "../../daemon/peers/requests/source-event.ts";
import { RealFiles } from "../../platform/real-files.ts";
import { RealRandom } from "../../platform/real-random.ts";
import type { MessageEvent } from "../../shared/events.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { OutboxWork } from "../../shared/wire/v1/outbox.ts";
import { compare, interleave, type Measurement } from "../figure.ts";
import { scratchPath } from "../folder.ts";
import { nativeProgram } from "../native.ts";
import { output } from "../processes.ts";
import { TEXT } from "./direct.ts";

const NAME = "outbox record durable";
/** As many as one peer may have. */
const RECORDS = LIMITS.outbox.recordsPerPeer;

const random = new RealRandom();

function work(): { work: OutboxWork; event: MessageEvent } {
  const now = Date.now();
  const at = (seconds: number): string => new Date(now + seconds * 1000).toISOString();
  const actor = { id: "agent", title: "", generation: random.uuid(), enabled: true, role: null };
  const data = {
    connection_id: `direct-${random.uuid()}`,
    delivery_id: random.uuid(),
    source: { instance_id: SOURCE, group_id: "g_0123456789ab", title: "Bench" },
    sender: { id: "user", title: "user", generation: "", enabled: true, role: null },
    source_event_id: random.uuid().replaceAll("-", ""),
    target: { instance_id: TARGET, group_id: "g_ba9876543210", title: "Bench" },
    recipients: [actor],
    text: TEXT,
    format: "plain" as const,
    insight: null,
    message_mode: "send" as const,
    attachments: [],
    reply_to: null,
    created_at: at(0),
    deliver_before: at(LIMITS.connect.deliverSeconds),
    reply_before: at(LIMITS.connect.replySeconds),
  };
  const event: MessageEvent = {
    v: 1,
    id: data.source_event_id,
    ts: data.created_at,
    kind: "chat.message",
    group_id: data.source.group_id,
    scope_key: "s_0123456789ab",
    by: "user",
    data: {
      message_mode: "send",
      to: [],
      to_generations: {},
      sender_title: "user",
      text: TEXT,
      format: "plain",
      attachments: [],
      refs: [],
      connect_message: data,
    },
  };
  return { work: { kind: "message", data }, event };
}

const SOURCE = "12D3KooWBenchSource";
const TARGET = "12D3KooWBenchTarget";

/** Records per second, taken in one after the other. */
async function ours(): Promise<{ rate: number; bytes: number }> {
  const directory = scratchPath("outbox");
  const files = new RealFiles();
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const outbox = await Outbox.open({ files, log, directory }, clientKeyOf);
  const made = Array.from({ length: RECORDS }, work);
  const begin = performance.now();
  for (const { work: one, event } of made) await outbox.accept(one, event);
  const rate = (RECORDS / (performance.now() - begin)) * 1000;
  const first = `${made[0]!.work.data.delivery_id}.json`;
  return { rate, bytes: files.stat(join(directory, TARGET, first))!.bytes };
}

export const outboxRecord: Measurement = {
  figures: [NAME],
  async run({ short }) {
    const program = await nativeProgram("replace");
    const { bytes } = await ours();
    const theirs = async (): Promise<number> =>
      Number(await output(program, [scratchPath("replace"), `${bytes}`, `${RECORDS}`]));
    const rates = await interleave(short ? 2 : 15, { ours: async () => (await ours()).rate, theirs });
    return [
      compare({
        name: NAME,
        unit: "records/s",
        value: rates.ours,
        against: "C write, fsync, rename and directory fsync",
        against_value: rates.theirs,
        goal: 0.9,
        floor: 0.6,
        better: "higher",
      }),
    ];
  },
};
