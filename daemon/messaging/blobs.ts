/** Attached files of a Group: content-addressed, streamed to disk and back (core-model.md, "Messages"). */

/** A piece of a file; `start` and `end` (exclusive) are byte positions in the whole of `bytes`. */
export interface BlobReading {
  bytes: number;
  start: number;
  end: number;
  /** Chunks of at most 256 KiB; the file is closed when the iteration ends or is left. */
  chunks: AsyncIterable<Uint8Array>;
}
