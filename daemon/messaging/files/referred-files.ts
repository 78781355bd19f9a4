/** The files that events refer to, and what is wrong with them. */
import * as z from "zod";
import { isEventKind, type LedgerEvent } from "../../../shared/events.ts";
import { safeName } from "../../../shared/file-name.ts";
import type { Ledger } from "../../ledger/ledger.ts";
import type { CheckedFiles, FileProblem } from "./checked-files.ts";

export type Referring = Pick<Ledger, "count" | "readMany">;

/** A file that isn't as it was attached, and a message that has it. */
export interface FileFinding {
  problem: FileProblem;
  sha256: string;
  event_id: string;
  /** A sentence. */
  text: string;
}

const EVENTS_PER_READ = 256;
const OtherAttachments = z.object({
  attachments: z.array(z.object({ sha256: z.string(), name: z.string().optional() })),
});

/**
 * Every file that is missing or damaged, for each event that refers to it, in the ledger's order.
 * Reads all files, or with `again: false` those that may have changed since they were read.
 */
export async function fileFindings(
  ledger: Referring,
  files: Pick<CheckedFiles, "look">,
  { again }: { again: boolean },
): Promise<FileFinding[]> {
  const problems = new Map<string, FileProblem>();
  for (const sha256 of await referredFrom(ledger, 0)) {
    const problem = await files.look(sha256, again);
    if (problem !== null) problems.set(sha256, problem);
  }
  const findings: FileFinding[] = [];
  if (problems.size === 0) return findings;
  for await (const event of eventsFrom(ledger, 0)) {
    for (const { sha256, name } of attachmentsOf(event)) {
      const problem = problems.get(sha256);
      if (problem === undefined) continue;
      const file = name === undefined ? sha256 : `${safeName(name)} (${sha256})`;
      const what = problem === "missing" ? "is missing" : "is damaged: its bytes aren't those of its SHA-256";
      findings.push({
        problem,
        sha256,
        event_id: event.id,
        text: `The file ${file} of event ${event.id} ${what}.`,
      });
    }
  }
  return findings;
}

/** Digests that messages from this ordinal on refer to. */
export async function referredFrom(ledger: Referring, from: number): Promise<Set<string>> {
  const referred = new Set<string>();
  for await (const event of eventsFrom(ledger, from))
    for (const { sha256 } of attachmentsOf(event)) referred.add(sha256);
  return referred;
}

/** Yields to the event loop. */
async function* eventsFrom(ledger: Referring, from: number): AsyncGenerator<LedgerEvent> {
  for (let first = from; first < ledger.count; first += EVENTS_PER_READ) {
    const length = Math.min(EVENTS_PER_READ, ledger.count - first);
    yield* ledger.readMany(Array.from({ length }, (_, at) => first + at));
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}

/** Those of an event whose kind only a newer version knows count too. */
function attachmentsOf({
  kind,
  data,
}: LedgerEvent): readonly { sha256: string; name?: string | undefined }[] {
  if (kind === "chat.message" || kind === "presentation.publish") return data.attachments;
  return isEventKind(kind) ? [] : (OtherAttachments.safeParse(data).data?.attachments ?? []);
}
