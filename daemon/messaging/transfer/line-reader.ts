/** Lines of a large file, one after the other, each of limited length. */
import type { OpenFile } from "../../../platform/files.ts";

const CHUNK_BYTES = 256 * 1024;
const LINE_FEED = 10;

/**
 * Each line of the file's first `bytes` without its line feed. Throws what `broken` returns for a
 * line over `limitOf` bytes, which is called for each line, and for a last line without a line
 * feed.
 */
export async function* fileLines(
  file: OpenFile,
  bytes: number,
  limitOf: () => number,
  broken: () => Error,
): AsyncGenerator<Buffer> {
  let kept: Buffer[] = [];
  let keptBytes = 0;
  let position = 0;
  while (position < bytes) {
    const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, bytes - position));
    const got = file.read(buffer, position);
    if (got === 0) break;
    position += got;
    let start = 0;
    for (;;) {
      const end = buffer.subarray(0, got).indexOf(LINE_FEED, start);
      if (end < 0) break;
      const rest = buffer.subarray(start, end);
      if (keptBytes + rest.length > limitOf()) throw broken();
      yield keptBytes === 0 ? rest : Buffer.concat([...kept, rest]);
      kept = [];
      keptBytes = 0;
      start = end + 1;
    }
    if (start < got) {
      kept.push(buffer.subarray(start, got));
      keptBytes += got - start;
      if (keptBytes > limitOf()) throw broken();
    }
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
  if (keptBytes > 0) throw broken();
}
