/** Files being uploaded to the daemon, with progress and cancellation. */
import { LIMITS } from "../../shared/limits.ts";
import { sizeWords } from "../../shared/size-words.ts";
import { fileName } from "../controls/file-name.ts";
import { Store } from "../controls/store.ts";
import type { Host, Uploaded } from "../hosts/host.ts";

export interface Upload {
  key: number;
  name: string;
  bytes: number;
  sent: number;
  /** Why the upload has stopped; null while it runs. */
  failure: string | null;
}

/** What is left of an upload when its page is loaded again. */
type Kept = Pick<Upload, "name" | "bytes" | "failure">;

const INTERRUPTED = "Interrupted when this page was closed. Add it again.";

function isKept(value: unknown): value is Kept {
  const { name, bytes, failure } = (value ?? {}) as Partial<Record<keyof Kept, unknown>>;
  return (
    typeof name === "string" && typeof bytes === "number" && (failure === null || typeof failure === "string")
  );
}

interface Going {
  key: number;
  file: File;
  abort: AbortController;
}

export class Uploads extends Store {
  readonly #host: Pick<Host, "upload" | "call" | "page">;
  readonly #groupId: string;
  readonly #done: (uploaded: Uploaded) => void;
  readonly #running = new Map<number, { upload: Upload; abort: AbortController }>();
  #next = 1;
  #closed = false;
  /** What the page keeps, as JSON. */
  #kept = "[]";

  /**
   * `done` is called with each file that arrived. A page that went away during an upload has taken
   * the file with it: the next one says so.
   */
  constructor(
    host: Pick<Host, "upload" | "call" | "page">,
    groupId: string,
    done: (uploaded: Uploaded) => void,
  ) {
    super();
    this.#host = host;
    this.#groupId = groupId;
    this.#done = done;
    const found = host.page.get(this.#key);
    const kept = Array.isArray(found) ? found.filter(isKept) : [];
    this.#kept = JSON.stringify(kept);
    for (const one of kept) {
      const upload = { ...one, key: this.#next++, sent: 0, failure: one.failure ?? INTERRUPTED };
      this.#running.set(upload.key, { upload, abort: new AbortController() });
    }
    this.subscribe(() => this.#keep());
  }

  get #key(): string {
    return `uploads/${this.#groupId}`;
  }

  #keep(): void {
    const kept: Kept[] = this.list
      .slice(0, LIMITS.message.attachments)
      .map(({ name, bytes, failure }) => ({ name, bytes, failure }));
    const json = JSON.stringify(kept);
    if (json === this.#kept) return;
    this.#kept = json;
    this.#host.page.set(this.#key, kept.length === 0 ? null : kept);
  }

  get list(): readonly Upload[] {
    return [...this.#running.values()].map(({ upload }) => upload);
  }

  /** True while a file is being uploaded. */
  get busy(): boolean {
    return this.list.some((upload) => upload.failure === null);
  }

  /**
   * Resolves when none is being uploaded any more. False when they won't all arrive after all: one
   * failed, or the Group was closed.
   */
  async settled(): Promise<boolean> {
    if (!this.busy) return true;
    while (this.busy) {
      await new Promise<void>((resolve) => {
        const release = this.subscribe(() => {
          release();
          resolve();
        });
      });
    }
    return !this.#closed && this.list.length === 0;
  }

  /** Starts as many files as a message may have, which is `room`. Says why any are left out. */
  add(files: readonly File[], room: number): void {
    const going: Going[] = [];
    for (const [index, file] of files.entries()) {
      const key = this.#next++;
      const upload: Upload = {
        key,
        name: fileName(file),
        bytes: file.size,
        sent: 0,
        failure: null,
      };
      const abort = new AbortController();
      this.#running.set(key, { upload, abort });
      if (index >= room) this.#fail(key, `A message can have up to ${LIMITS.message.attachments} files.`);
      else if (file.size > LIMITS.attachment.uploadBytes)
        this.#fail(key, `Larger than ${sizeWords(LIMITS.attachment.uploadBytes)}.`);
      else going.push({ key, file, abort });
    }
    this.changed();
    if (going.length > 0) void this.#begin(going);
  }

  remove(key: number): void {
    this.#running.get(key)?.abort.abort();
    this.#running.delete(key);
    this.changed();
  }

  close(): void {
    for (const { abort } of this.#running.values()) abort.abort();
    this.#running.clear();
    this.#closed = true;
    this.changed();
  }

  /** Asks the daemon, before the first byte is sent, whether it would accept these files. */
  async #begin(going: readonly Going[]): Promise<void> {
    try {
      await this.#host.call("message_upload_preflight", {
        group_id: this.#groupId,
        files: going.map(({ file }) => ({ name: fileName(file), bytes: file.size })),
      });
    } catch (error) {
      for (const { key } of going) this.#fail(key, error instanceof Error ? error.message : String(error));
      return;
    }
    await Promise.all(going.filter(({ key }) => this.#running.has(key)).map((one) => this.#run(one)));
  }

  async #run({ key, file, abort }: Going): Promise<void> {
    try {
      const uploaded = await this.#host.upload(this.#groupId, file, {
        signal: abort.signal,
        progress: (sent) => this.#set(key, { sent }),
      });
      if (!this.#running.delete(key)) return;
      this.#done(uploaded);
      this.changed();
    } catch (error) {
      if (!abort.signal.aborted) this.#fail(key, error instanceof Error ? error.message : String(error));
    }
  }

  #fail(key: number, failure: string): void {
    this.#set(key, { failure });
  }

  #set(key: number, change: Partial<Upload>): void {
    const entry = this.#running.get(key);
    if (entry === undefined) return;
    entry.upload = { ...entry.upload, ...change };
    this.changed();
  }
}
