/** The rows of messages between instances. */
import type { Measurement } from "../figure.ts";
import { attachment } from "./attachment.ts";
import { backlog } from "./backlog.ts";
import { https } from "./https.ts";
import { idleChannels } from "./idle-channels.ts";
import { idlePeers } from "./idle-peers.ts";
import { messages } from "./messages.ts";
import { outboxRecord } from "./outbox-record.ts";

export const connectMeasurements: readonly Measurement[] = [
  messages,
  https,
  attachment,
  backlog,
  outboxRecord,
  idleChannels,
  idlePeers,
];
