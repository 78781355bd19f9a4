/** Node's worker threads. */
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import type { Thread, ThreadEvents, ThreadProgram, Threads } from "./threads.ts";

export class RealThreads implements Threads {
  readonly #fileOf: (program: ThreadProgram) => string | undefined;

  /** `fileOf` gives a program's file, undefined where it isn't built. */
  constructor(fileOf: (program: ThreadProgram) => string | undefined) {
    this.#fileOf = fileOf;
  }

  start(program: ThreadProgram, events: ThreadEvents): Thread | null {
    const file = this.#fileOf(program);
    if (file === undefined || availableParallelism() < 2) return null;
    // Nothing of this process's options and environment is the thread's.
    const worker = new Worker(file, { execArgv: [], env: {} });
    const ended = (): void => {
      worker.removeAllListeners();
      // It may fail while it is being ended.
      worker.on("error", () => {});
      events.ended();
    };
    worker.on("message", (value) => events.message(value));
    worker.on("error", ended);
    worker.on("exit", ended);
    return {
      post: (message) => worker.postMessage(message),
      stop: () => {
        worker.removeAllListeners();
        worker.on("error", () => {});
        void worker.terminate();
      },
    };
  }
}
