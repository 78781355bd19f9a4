/**
 * An Actor's terminal: the process that runs in it now, its screen, and its viewers. It outlives
 * the process, so that viewers stay across a restart and see why it ended.
 */

import { StringDecoder } from "node:string_decoder";
import { type Clock, guardedClock, type Timer } from "../../../platform/clock.ts";
import type { InputReceipt, ProcessExit, TerminalProcess } from "../../../platform/processes.ts";
import { Refusal } from "../../../shared/errors.ts";
import { LIMITS } from "../../../shared/limits.ts";
import { sizeWords } from "../../../shared/size-words.ts";
import type { TerminalMessage, TerminalRequest, WriterState } from "../../../shared/terminal.ts";
import type { Drawing } from "./drawing.ts";
import { Flood } from "./flood.ts";
import type { Screen } from "./screen.ts";
import type { ScreenView } from "./screen-view.ts";
import { TypedInput } from "./typed-input.ts";

/** Where a viewer's messages go. */
export interface ViewerPort {
  output(bytes: Uint8Array): void;
  message(message: TerminalMessage): void;
}

/** What a viewer does. */
export interface AttachedViewer {
  /**
   * Throws permission_denied for what only the writer may, not_running without a process,
   * overloaded when the process has left too much input unread.
   */
  request(request: TerminalRequest): void;
  detach(): void;
}

interface Viewer {
  port: ViewerPort;
  /** Unacknowledged bytes of the last screen and of output after it. */
  screenBytes: number;
  outputBytes: number;
  /** Output that follows a screen being sent; null if none is. */
  queue: Uint8Array[] | null;
  queuedBytes: number;
  /** The size that fits its window; null until it says so. */
  size: { columns: number; rows: number } | null;
  /** It fell behind: nothing is sent until it has caught up and got a fresh screen. */
  behind: boolean;
}

export interface TerminalEvents {
  /** The program reads pastes now, or no longer does. */
  reads(): void;
  /** Output is on the screen. */
  drawn(): void;
  /** Someone is typing. What the keys answer is still on the screen. */
  typed(): void;
  /** Someone interrupted from a keyboard. */
  interrupted(): void;
  /** The process has stopped to read its input, or has read it now. */
  stuck(): void;
  exited(exit: ProcessExit): void;
  /** Something here has thrown. Of this process nothing is shown or written any more. */
  failed(error: unknown): void;
}

const { columns: COLUMNS, rows: ROWS, backlogBytes, windowBytes } = LIMITS.terminal;
/** A window that is being dragged has another size in every frame. */
const RESIZE_MS = 50;

export class ActorTerminal {
  readonly #viewers = new Set<Viewer>();
  readonly #clock: Pick<Clock, "monotonic" | "after">;
  readonly #drawing: Drawing;
  #screen: Screen | null = null;
  #process: TerminalProcess | null = null;
  #flood: Flood | null = null;
  #events: TerminalEvents | null = null;
  #input = new TypedInput();
  #writer: Viewer | null = null;
  /**
   * Whose window the size fits: the writer's, and once the writer has left, that of a remaining
   * viewer. With nobody left it becomes the usual size again.
   */
  #sized: Viewer | null = null;
  #columns: number = COLUMNS;
  #rows: number = ROWS;
  #resizing: Timer | null = null;
  #wanted: { columns: number; rows: number } | null = null;
  #startedAt: string | null = null;
  #reason = "not running";
  #reads = false;
  #backlog = 0;
  #paused = false;
  #lastOutput: number;
  #typedAt = Number.NEGATIVE_INFINITY;
  #hasDraft = false;
  #hasFailed = false;

  constructor(clock: Pick<Clock, "monotonic" | "after">, drawing: Drawing) {
    this.#clock = clock;
    this.#drawing = drawing;
    this.#lastOutput = clock.monotonic();
  }

  get columns(): number {
    return this.#columns;
  }
  get rows(): number {
    return this.#rows;
  }
  /** The program has shown that it reads pastes (bracketed-paste mode is on). */
  get reads(): boolean {
    return this.#reads && this.#process !== null;
  }
  /** Whether a line of its screen fits; false without a process. */
  shows(pattern: RegExp): boolean {
    return this.#process !== null && this.#screen !== null && this.#screen.shows(pattern);
  }
  /** The lines of its screen; none when nothing runs. */
  lines(): string[] {
    return this.#process === null || this.#screen === null ? [] : this.#screen.lines();
  }
  /** Monotonic milliseconds of the last output. */
  get lastOutput(): number {
    return this.#lastOutput;
  }
  /** Monotonic milliseconds of the last key of a person. */
  get typedAt(): number {
    return this.#typedAt;
  }
  /** A person typed since the last Enter: there may be a half-written line. */
  get hasDraft(): boolean {
    return this.#hasDraft;
  }
  /** What the process shows; null without one. */
  get view(): ScreenView | null {
    return this.#process === null ? null : this.#screen;
  }
  get viewers(): number {
    return this.#viewers.size;
  }
  /** Bytes of input that the process left unread; those of an ended one it never read. */
  get unread(): number {
    return this.#process?.unread ?? 0;
  }
  /** The process doesn't read its input. */
  get isStuck(): boolean {
    return this.#process?.isStuck === true;
  }

  /** A new process, on an empty screen of the present size. */
  start(process: TerminalProcess, ScreenOf: typeof Screen, startedAt: string, events: TerminalEvents): void {
    this.#screen?.dispose();
    const guarded = (work: () => void): void => this.#guarded(process, work);
    const screen = new ScreenOf(
      this.#columns,
      this.#rows,
      {
        answer: (data) => guarded(() => process.answer(data)),
        reads: (reads) => {
          if (this.#screen !== screen) return;
          this.#reads = reads;
          events.reads();
        },
        failed: (error) => this.#failed(process, error),
      },
      this.#drawing,
    );
    this.#screen = screen;
    this.#process = process;
    this.#events = events;
    this.#startedAt = startedAt;
    this.#input = new TypedInput();
    this.#reads = false;
    this.#hasDraft = false;
    this.#hasFailed = false;
    this.#backlog = 0;
    this.#paused = false;
    this.#lastOutput = this.#clock.monotonic();
    const decoder = new StringDecoder("utf8");
    const flood = new Flood(
      {
        monotonic: () => this.#clock.monotonic(),
        ...guardedClock(this.#clock, (error) => this.#failed(process, error)),
      },
      () => LIMITS.terminal.scrollbackLines + 2 * this.#rows,
      (bytes) => this.#output(process, screen, decoder.write(bytes)),
    );
    this.#flood?.stop();
    this.#flood = flood;
    process.onOutput((bytes) =>
      guarded(() => {
        this.#lastOutput = this.#clock.monotonic();
        flood.push(bytes);
      }),
    );
    process.onStuck(() =>
      guarded(() => {
        for (const viewer of this.#viewers) this.#tell(viewer, { type: "input", unread: this.#shownUnread });
        events.stuck();
      }),
    );
    process.onExit((exit) => {
      if (this.#process !== process) return;
      guarded(() => flood.flush());
      this.#process = null;
      this.#reads = false;
      events.exited(exit);
    });
    for (const viewer of this.#viewers) this.#sendScreen(viewer);
  }

  /** In words, after the process has ended; viewers are told. */
  ended(reason: string): void {
    // One that couldn't be started whole may never say that it has ended.
    this.#process = null;
    this.#reads = false;
    this.#reason = reason;
    for (const viewer of this.#viewers) this.#tell(viewer, { type: "ended", reason });
  }

  /** Resolves when all output that came so far is on the screen. */
  async settled(): Promise<void> {
    // What is still in the pipe comes first.
    await new Promise((resolve) => setImmediate(resolve));
    const screen = this.#screen;
    if (screen === null || this.#process === null) return;
    this.#flood?.flush();
    await new Promise<void>((resolve) => screen.settled(resolve));
  }

  /** One write; null without a process, or when it doesn't read its input. */
  write(data: string): InputReceipt | null {
    const process = this.#process;
    if (process === null || this.#hasFailed) return null;
    let receipt: InputReceipt | null = null;
    this.#guarded(process, () => (receipt = process.write(data)));
    return receipt;
  }

  /**
   * Presses a runtime's interrupt key. A process that doesn't read it is interrupted by a signal
   * instead, where the key means one. Throws not_running, or overloaded where it doesn't.
   */
  interrupt(key: string): void {
    const process = this.#process;
    if (process === null || this.#hasFailed) throw new Refusal("not_running");
    const isDone = this.#tried(
      process,
      () => this.#input.interrupts(process, key) || (!process.isStuck && process.write(key) !== null),
    );
    if (isDone) return;
    throw new Refusal("overloaded", {
      specifics: `The program has left ${sizeWords(process.unread)} of its input unread, so it wouldn't read the key either.`,
      remedy: "Try again when it reads, or stop it.",
    });
  }

  /** Throws limit_reached. */
  attach(port: ViewerPort): AttachedViewer {
    if (this.#viewers.size >= LIMITS.terminal.viewers) {
      const limit = LIMITS.terminal.viewers;
      throw new Refusal("limit_reached", {
        specifics: `The terminal is open in ${limit} windows, which is the limit.`,
        remedy: "Close one of them.",
        details: { limit },
      });
    }
    const viewer: Viewer = {
      port,
      screenBytes: 0,
      outputBytes: 0,
      queue: null,
      queuedBytes: 0,
      size: null,
      behind: false,
    };
    this.#viewers.add(viewer);
    this.#sendScreen(viewer);
    return {
      request: (request) => this.#request(viewer, request),
      detach: () => this.#detach(viewer),
    };
  }

  #detach(viewer: Viewer): void {
    this.#viewers.delete(viewer);
    if (this.#writer === viewer) this.#setWriter(null);
    if (this.#sized !== viewer) return;
    const next = [...this.#viewers].findLast(({ size }) => size !== null) ?? null;
    this.#fit(next);
    // A window that is only loaded again is back by then.
    if (next === null)
      this.#clock.after(LIMITS.terminal.keepSizeSeconds * 1000, () => this.#unfit(), { background: true });
  }

  /** The size of a window that has gone would be wrong for what is read from the screen. */
  #unfit(): void {
    if (this.#sized === null) this.#resize(COLUMNS, ROWS);
  }

  #output(process: TerminalProcess, screen: Screen, text: string): void {
    this.#backlog += text.length;
    screen.write(text, () => {
      // What is left of an earlier process counts no more.
      if (this.#screen !== screen) return;
      this.#backlog -= text.length;
      this.#events?.drawn();
      if (this.#paused && this.#backlog < backlogBytes / 2) {
        this.#paused = false;
        process.resume();
      }
    });
    if (!this.#paused && this.#backlog > backlogBytes) {
      this.#paused = true;
      process.pause();
    }
    if (this.#viewers.size === 0) return;
    const bytes = Buffer.from(text);
    for (const viewer of this.#viewers) this.#offer(viewer, bytes);
  }

  /** What goes wrong with one process is told once, and then nothing of it is taken any more. */
  #guarded(process: TerminalProcess, work: () => void): void {
    if (this.#process !== process || this.#hasFailed) return;
    try {
      work();
    } catch (error) {
      this.#failed(process, error);
    }
  }

  /** The same for what somebody waits for. Throws not_running when it goes wrong. */
  #tried<Result>(process: TerminalProcess, work: () => Result): Result {
    try {
      return work();
    } catch (error) {
      this.#failed(process, error);
      throw new Refusal("not_running");
    }
  }

  #failed(process: TerminalProcess, error: unknown): void {
    if (this.#process !== process || this.#hasFailed) return;
    this.#hasFailed = true;
    this.#reads = false;
    this.#flood?.stop();
    this.#events?.failed(error);
  }

  /** What one viewer's connection throws is no matter of the others. */
  #tell(viewer: Viewer, what: TerminalMessage | Uint8Array): void {
    try {
      if (what instanceof Uint8Array) viewer.port.output(what);
      else viewer.port.message(what);
    } catch {
      this.#detach(viewer);
    }
  }

  get #shownUnread(): number {
    return this.isStuck ? this.unread : 0;
  }

  #offer(viewer: Viewer, bytes: Uint8Array): void {
    if (viewer.behind) return;
    if (viewer.queue !== null) {
      viewer.queue.push(bytes);
      viewer.queuedBytes += bytes.length;
      if (viewer.queuedBytes > windowBytes) this.#fallBehind(viewer);
      return;
    }
    if (viewer.outputBytes + bytes.length > windowBytes) {
      this.#fallBehind(viewer);
      return;
    }
    viewer.outputBytes += bytes.length;
    this.#tell(viewer, bytes);
  }

  #fallBehind(viewer: Viewer): void {
    viewer.behind = true;
    if (viewer.queue !== null) viewer.queue.length = 0;
    this.#catchUp(viewer);
  }

  /** A viewer that fell behind gets a fresh screen once it has drawn what it has. */
  #catchUp(viewer: Viewer): void {
    if (viewer.behind && viewer.queue === null && viewer.screenBytes + viewer.outputBytes === 0) {
      this.#sendScreen(viewer);
    }
  }

  /** The screen as it is when all output up to now is drawn, then what came in the meantime. */
  #sendScreen(viewer: Viewer): void {
    const screen = this.#screen;
    viewer.behind = false;
    viewer.screenBytes = 0;
    viewer.outputBytes = 0;
    viewer.queuedBytes = 0;
    if (screen === null) {
      this.#tell(viewer, this.#screenMessage(viewer, ""));
      return;
    }
    const queue: Uint8Array[] = [];
    viewer.queue = queue;
    screen.settled(() => {
      // A later screen, or the end, overtook this one.
      if (viewer.queue !== queue || this.#screen !== screen || !this.#viewers.has(viewer)) return;
      viewer.queue = null;
      viewer.queuedBytes = 0;
      const data = this.#hasFailed ? "" : screen.serialize();
      viewer.screenBytes = Buffer.byteLength(data);
      this.#tell(viewer, this.#screenMessage(viewer, data));
      if (this.isStuck) this.#tell(viewer, { type: "input", unread: this.#shownUnread });
      for (const bytes of queue) this.#offer(viewer, bytes);
    });
  }

  #screenMessage(viewer: Viewer, data: string): TerminalMessage {
    const running = this.#process !== null;
    return {
      type: "screen",
      columns: this.#columns,
      rows: this.#rows,
      data,
      running,
      reason: running ? "" : this.#reason,
      writer: this.#writerFor(viewer),
      started_at: this.#startedAt,
    };
  }

  #request(viewer: Viewer, request: TerminalRequest): void {
    switch (request.type) {
      case "ack":
        this.#acknowledged(viewer, request.bytes);
        return;
      case "take":
        this.#setWriter(viewer);
        this.#fit(viewer);
        return;
      case "release":
        if (this.#writer === viewer) this.#setWriter(null);
        return;
      case "input":
        this.#mustWrite(viewer);
        if (this.#process === null || this.#hasFailed) throw new Refusal("not_running");
        this.#type(this.#process, request.data);
        return;
      case "resize":
        viewer.size = { columns: request.columns, rows: request.rows };
        if (this.#sized === null || this.#sized === viewer) this.#fit(viewer);
    }
  }

  /** From now on the size is that of this viewer's window, as soon as it is known. */
  #fit(viewer: Viewer | null): void {
    this.#sized = viewer;
    if (viewer?.size !== null && viewer?.size !== undefined)
      this.#resize(viewer.size.columns, viewer.size.rows);
  }

  #type(process: TerminalProcess, data: string): void {
    const { isTyped, interrupts, hasDraft, isRefused } = this.#tried(process, () =>
      this.#input.type(process, data),
    );
    if (isTyped) {
      this.#typedAt = this.#clock.monotonic();
      this.#hasDraft = hasDraft;
      this.#events?.typed();
    }
    if (interrupts) this.#events?.interrupted();
    if (isRefused)
      throw new Refusal("overloaded", {
        specifics: `The program has left ${sizeWords(process.unread)} of its input unread. This was not added.`,
        remedy: "Wait until it reads, or interrupt it with Ctrl-C.",
      });
  }

  #acknowledged(viewer: Viewer, bytes: number): void {
    const ofScreen = Math.min(bytes, viewer.screenBytes);
    viewer.screenBytes -= ofScreen;
    viewer.outputBytes = Math.max(0, viewer.outputBytes - (bytes - ofScreen));
    this.#catchUp(viewer);
  }

  /** At once, and then at most every RESIZE_MS. */
  #resize(columns: number, rows: number): void {
    this.#wanted = { columns, rows };
    if (this.#resizing === null) this.#resizeNow();
  }

  #resizeNow(): void {
    const { columns, rows } = this.#wanted!;
    this.#resizing = null;
    if (columns === this.#columns && rows === this.#rows) return;
    this.#resizing = this.#clock.after(RESIZE_MS, () => this.#resizeNow(), { background: true });
    this.#columns = columns;
    this.#rows = rows;
    const process = this.#process;
    if (process === null) this.#screen?.resize(columns, rows);
    else
      this.#guarded(process, () => {
        this.#flood?.flush();
        process.resize(columns, rows);
        this.#screen?.resize(columns, rows);
      });
    for (const viewer of this.#viewers) this.#tell(viewer, { type: "size", columns, rows });
  }

  #mustWrite(viewer: Viewer): void {
    if (this.#writer === viewer) return;
    throw new Refusal("permission_denied", {
      specifics: "Someone else is writing in this terminal. Take it over first.",
    });
  }

  #setWriter(writer: Viewer | null): void {
    if (this.#writer === writer) return;
    this.#writer = writer;
    const process = this.#process;
    if (process !== null) this.#guarded(process, () => this.#input.endPaste(process));
    for (const viewer of this.#viewers) {
      this.#tell(viewer, { type: "writer", writer: this.#writerFor(viewer) });
    }
  }

  #writerFor(viewer: Viewer): WriterState {
    if (this.#writer === null) return "nobody";
    return this.#writer === viewer ? "you" : "another";
  }
}
