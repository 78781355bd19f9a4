/** The program of the thread that helps to open a large Group (daemon/ledger/index/scan-thread.ts). */
import { parentPort } from "node:worker_threads";
import { RealFiles } from "../platform/real-files.ts";
import { type ScanJob, scanParts } from "./ledger/index/scan-thread.ts";
import { keyOf } from "./messaging/messages/message-keys.ts";

const port = parentPort!;
port.once("message", (job: ScanJob) => {
  scanParts(new RealFiles(), keyOf, job, (part) => {
    const { columns } = part;
    const { ids, positions, codes, keys, referrers, references } = columns ?? {};
    const arrays = [ids, positions, codes, keys, referrers, references];
    const buffers = arrays.flatMap((array) => (array === undefined ? [] : [array.buffer as ArrayBuffer]));
    port.postMessage(part, buffers);
  });
  port.close();
});
