/** Server-sent events as text. JSON has no line breaks, so one `data` line is enough. */
import type { Placed } from "../../ledger/types.ts";
import type { Batch } from "./ledger-subscription.ts";

export const HEARTBEAT = Buffer.from(":\n\n");

export function ledgerText(id: string, json: string): string {
  return `id: ${id}\nevent: ledger\ndata: ${json}\n\n`;
}

export function eventText(name: string, data: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

/**
 * An empty id makes a browser forget the one that isn't known here, so that it doesn't ask for it
 * again and again.
 */
export const RELOAD = "id:\nevent: reload\ndata: {}\n\n";

/** Encodes on first use, once for all clients. */
export function batchOf(placed: readonly Placed[]): Batch {
  let all: string[] | undefined;
  let sse: Buffer | undefined;
  const texts = (): string[] => (all ??= placed.map(({ event, json }) => json ?? JSON.stringify(event)));
  return {
    first: placed[0]!.ordinal,
    last: placed.at(-1)!.ordinal,
    placed,
    json: texts,
    sse: () =>
      (sse ??= Buffer.from(
        texts()
          .map((text, index) => ledgerText(placed[index]!.event.id, text))
          .join(""),
      )),
  };
}
