/** Messages that wait for unreachable peers, and what happens when the peers are back. */
import type { DirectListener } from "../../shared/operations/direct.ts";
import { type Instance, online, type Receipts, send } from "./direct.ts";

/** No peer is reachable any longer. Then this many messages for each are accepted. */
export async function queued(center: Instance, around: readonly Instance[], each: number): Promise<void> {
  await center.daemon.client.result("connect_direct_configure", { listener: null });
  await online(center, 0);
  await sendEach(center, around, each);
}

/** This many messages to each, one after the other for each. */
export async function sendEach(center: Instance, around: readonly Instance[], each: number): Promise<void> {
  await Promise.all(
    around.map(async (peer) => {
      for (let made = 0; made < each; made += 1) await send(center, peer);
    }),
  );
}

/**
 * All peers may connect again. Seconds from the first receipt to the last one. When peers redial is
 * another matter.
 */
export async function drained(
  center: Instance,
  receipts: Receipts,
  listener: DirectListener,
  count: number,
): Promise<number> {
  const first = receipts.more(1).then(() => performance.now());
  const last = receipts.more(count);
  await center.daemon.client.result("connect_direct_configure", { listener });
  await last;
  const end = performance.now();
  return (end - (await first)) / 1000;
}
