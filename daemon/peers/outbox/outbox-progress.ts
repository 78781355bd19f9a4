/**
 * How a record's progress is stored on disk. Before every request its record must say that the
 * request may have escaped. Two flags of the record are therefore changed in place: that takes one
 * sync of the file's data, while replacing a file takes two of the journal. Both values of a flag
 * are equally long. If a crash leaves a mix of the two, it counts as yes: what may have happened is
 * assumed to have happened.
 */

import { errorCode, syncFile } from "../../../platform/durable.ts";
import type { Files, OpenFile } from "../../../platform/files.ts";
import type { OutboxProgress, OutboxRecord } from "../../../shared/wire/v1/outbox.ts";

const YES = "true ";
const NO = "false";
const PROGRESS = ',"progress":{"source_projected":';
const FLAGS = /(?<="(?:source_projected|needs_receipt)":)[a-z ]{5}(?=,)/gu;

/**
 * A record as it is written, with the JSON of its message or cancellation. Its end depends only on
 * its progress.
 */
export function recordText(
  { work, source_event: sourceEvent, progress }: OutboxRecord,
  json: string,
): string {
  return `{"work":{"kind":"${work.kind}","data":${json}},"source_event":${JSON.stringify(sourceEvent)}${ending(progress)}`;
}

/** A record's text, with any half-written flag read as yes. */
export function whole(text: string): string {
  const at = text.lastIndexOf(PROGRESS);
  if (at === -1) return text;
  return text.slice(0, at) + text.slice(at).replace(FLAGS, (flag) => (flag === NO ? NO : YES));
}

/**
 * Changes the flags of a record in place. Durable when resolved with true. False when anything else
 * changes, or when the file isn't as expected: then it must be replaced. Throws Node's errors, and
 * then the flags may have either value.
 */
export async function noteInPlace(
  files: Files,
  path: string,
  before: OutboxProgress,
  after: OutboxProgress,
): Promise<boolean> {
  const { source_projected: sourceProjected, needs_receipt: needsReceipt } = before;
  if (ending({ ...after, source_projected: sourceProjected, needs_receipt: needsReceipt }) !== ending(before))
    return false;
  const file = openThere(files, path);
  if (file === null) return false;
  try {
    const expected = Buffer.from(ending(before));
    const there = Buffer.alloc(expected.length);
    const position = file.size() - there.length;
    if (position < 0 || file.read(there, position) < there.length || !there.equals(expected)) return false;
    file.write(Buffer.from(ending(after)), position);
    await syncFile(file);
    return true;
  } finally {
    file.close();
  }
}

function openThere(files: Files, path: string): OpenFile | null {
  try {
    return files.open(path, "write");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  }
}

function ending(progress: OutboxProgress): string {
  const {
    source_projected: sourceProjected,
    attempts,
    needs_receipt: needsReceipt,
    next_attempt_at: nextAttemptAt,
    last_error: lastError,
  } = progress;
  const flag = (is: boolean): string => (is ? YES : NO);
  return (
    `${PROGRESS}${flag(sourceProjected)},"attempts":${attempts},"needs_receipt":${flag(needsReceipt)},` +
    `"next_attempt_at":${JSON.stringify(nextAttemptAt)},"last_error":${JSON.stringify(lastError)}}}`
  );
}
