/**
 * The screen of one terminal: draws what the daemon sends, acknowledges what is drawn, and reports
 * keys and the size that fits. Only this folder knows xterm.js; it is a chunk of its own that is
 * loaded with the first terminal.
 */
import { FitAddon } from "@xterm/addon-fit";
import { SearchAddon } from "@xterm/addon-search";
import { WebLinksAddon } from "@xterm/addon-web-links";
import { Terminal } from "@xterm/xterm";
import { LIMITS } from "../../shared/limits.ts";
import { SCREEN_READER_ATTRIBUTES, servesScreenReader } from "../hosts/screen-reader.ts";
import { terminalColors } from "./colors.ts";
import { strictDocument } from "./strict-document.ts";

/**
 * Input is sent in pieces that the daemon takes (UTF-16 code units), never cut within a character.
 */
const PIECE = LIMITS.terminal.inputBytes / 4;

/** Keys besides characters that someone presses who thinks that they are typing. */
const TYPED: ReadonlySet<string> = new Set(["Enter", "Backspace", "Delete"]);

export interface ScreenEvents {
  /** Keys or a paste, in pieces that fit a message. */
  input(data: string): void;
  /** Bytes that were drawn since the last call. */
  drawn(bytes: number): void;
  /** The size that would fill the element. */
  fits(size: TerminalSize): void;
  /** The person typed or pasted where keys don't go to the program. */
  ignored(): void;
  openLink(url: string): void;
  /** The person wants the search field. */
  search(): void;
}

export interface TerminalSize {
  columns: number;
  rows: number;
}

/** The first place is 1; 0 of 0 where there is none. */
export interface Found {
  at: number;
  of: number;
}

export class TerminalScreen {
  readonly #terminal: Terminal;
  readonly #fit = new FitAddon();
  readonly #search = new SearchAddon();
  readonly #events: ScreenEvents;
  readonly #watcher: ResizeObserver;
  readonly #themes: MutationObserver;
  readonly #element: HTMLElement;
  #mayType = false;
  /** The cursor is kept in view: a viewer may have less room than the writer. */
  #follows = true;
  /** Where the last scroll of our own led to. */
  #followedTo = 0;

  constructor(element: HTMLElement, label: string, events: ScreenEvents) {
    this.#events = events;
    this.#element = element;
    const style = getComputedStyle(document.body);
    this.#terminal = new Terminal({
      allowProposedApi: true,
      cursorBlink: false,
      disableStdin: true,
      documentOverride: strictDocument,
      // Such a link may show another address than the one it leads to. The real one is shown on
      // hover.
      linkHandler: {
        activate: (_event, url) => events.openLink(url),
        hover: (_event, url) => (element.title = url),
        leave: () => element.removeAttribute("title"),
      },
      fontFamily: style.getPropertyValue("--vscode-editor-font-family"),
      fontSize: Number.parseInt(style.getPropertyValue("--vscode-editor-font-size"), 10) || 12,
      minimumContrastRatio: 4.5,
      rightClickSelectsWord: false,
      scrollback: LIMITS.terminal.scrollbackLines,
      screenReaderMode: servesScreenReader(),
      theme: terminalColors(),
    });
    this.#terminal.loadAddon(this.#fit);
    this.#terminal.loadAddon(this.#search);
    this.#terminal.loadAddon(new WebLinksAddon((_event, url) => events.openLink(url)));
    this.#terminal.open(element);
    this.#terminal.textarea?.setAttribute("aria-label", `Terminal of ${label}`);
    this.#terminal.onData((data) => this.#input(data));
    this.#terminal.attachCustomKeyEventHandler((event) => this.#key(event));
    // The daemon answers what programs ask of a terminal: a second answer would be typed into them.
    for (const final of ["c", "n"]) {
      for (const prefix of final === "c" ? ["", ">", "="] : ["", "?"])
        this.#terminal.parser.registerCsiHandler({ ...(prefix === "" ? {} : { prefix }), final }, () => true);
    }
    this.#terminal.parser.registerCsiHandler({ prefix: "?", intermediates: "$", final: "p" }, () => true);
    this.#terminal.parser.registerCsiHandler({ intermediates: "$", final: "p" }, () => true);
    this.#terminal.parser.registerDcsHandler({ intermediates: "$", final: "q" }, () => true);
    for (const code of [4, 10, 11, 12])
      this.#terminal.parser.registerOscHandler(code, (data) => data.includes("?"));
    this.#watcher = new ResizeObserver(() => {
      this.#measure();
      this.#follow();
    });
    this.#watcher.observe(element);
    element.addEventListener("paste", () => this.#ignore(), { capture: true });
    this.#terminal.onRender(() => this.#follow());
    element.addEventListener("scroll", () => {
      // Our own, which is told late: the next lines may be there already.
      if (this.#follows && element.scrollTop === this.#followedTo) return;
      this.#follows = this.#hidden() === 0;
    });
    this.#themes = new MutationObserver(() => {
      this.#terminal.options.theme = terminalColors();
      this.#serve();
    });
    this.#themes.observe(document.body, { attributes: true, attributeFilter: SCREEN_READER_ATTRIBUTES });
    this.#serve();
  }

  /** Replaces everything with a screen from the daemon. */
  restore(data: string, size: TerminalSize): void {
    this.#terminal.reset();
    this.#follows = true;
    this.resize(size);
    this.#terminal.write(data, () => this.#drawn(new TextEncoder().encode(data).length));
  }

  output(bytes: Uint8Array): void {
    this.#terminal.write(bytes, () => this.#drawn(bytes.length));
  }

  resize({ columns, rows }: TerminalSize): void {
    if (columns !== this.#terminal.cols || rows !== this.#terminal.rows) this.#terminal.resize(columns, rows);
  }

  /** Whether keys go to the program. */
  set mayType(may: boolean) {
    this.#mayType = may;
    this.#terminal.options.disableStdin = !may;
    this.#terminal.options.cursorBlink = false;
    if (may) this.#measure();
  }

  /** Finds the next or the previous place, and counts; null where nothing was searched for. */
  find(text: string, direction: "next" | "previous"): Found | null {
    if (text === "") {
      this.#search.clearDecorations();
      return null;
    }
    const found = direction === "next" ? this.#search.findNext(text) : this.#search.findPrevious(text);
    return found ? this.#count(text.toLowerCase()) : { at: 0, of: 0 };
  }

  /** Which place of how many is selected. A line that was wrapped counts as one. */
  #count(wanted: string): Found {
    const { active } = this.#terminal.buffer;
    const start = this.#terminal.getSelectionPosition()?.start;
    const found = { at: 0, of: 0 };
    let line = "";
    let selected = start === undefined ? -1 : Number.POSITIVE_INFINITY;
    for (let row = 0; row < active.length; row += 1) {
      const cells = active.getLine(row)!;
      const isLast = active.getLine(row + 1)?.isWrapped !== true;
      if (row === start?.y) selected = line.length + cells.translateToString(false, 0, start.x).length;
      line += cells.translateToString(isLast);
      if (!isLast) continue;
      const text = line.toLowerCase();
      for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + wanted.length)) {
        found.of += 1;
        if (at <= selected) found.at = found.of;
      }
      if (start !== undefined && row >= start.y) selected = -1;
      line = "";
    }
    return found;
  }

  /** The selection, else the current screen. */
  text(): string {
    const selected = this.#terminal.getSelection();
    if (selected !== "") return selected;
    const { active } = this.#terminal.buffer;
    const lines = Array.from(
      { length: this.#terminal.rows },
      (_, row) => active.getLine(active.viewportY + row)?.translateToString(true) ?? "",
    );
    return lines.join("\n").trimEnd();
  }

  /** The program wants arrow keys as application keys. */
  get hasApplicationKeys(): boolean {
    return this.#terminal.modes.applicationCursorKeysMode;
  }

  focus(): void {
    this.#terminal.focus();
  }

  dispose(): void {
    this.#watcher.disconnect();
    this.#themes.disconnect();
    this.#terminal.dispose();
  }

  #drawn(bytes: number): void {
    if (bytes > 0) this.#events.drawn(bytes);
  }

  /** Pixels by which the line of the cursor is below the view, or, less than 0, above it. */
  #hidden(): number {
    const rows = this.#element.querySelector(".xterm-screen")?.clientHeight ?? 0;
    const height = rows / this.#terminal.rows;
    const top = this.#terminal.buffer.active.cursorY * height - this.#element.scrollTop;
    return Math.max(0, Math.ceil(top + height - this.#element.clientHeight)) || Math.min(0, Math.floor(top));
  }

  #follow(): void {
    const by = this.#follows ? this.#hidden() : 0;
    if (by === 0) return;
    this.#element.scrollTop += by;
    this.#followedTo = this.#element.scrollTop;
  }

  #measure(): void {
    const proposed = this.#fit.proposeDimensions();
    if (proposed === undefined || Number.isNaN(proposed.cols) || Number.isNaN(proposed.rows)) return;
    this.#events.fits({
      columns: Math.min(LIMITS.terminal.columnsMax, Math.max(2, proposed.cols)),
      rows: Math.min(LIMITS.terminal.rowsMax, Math.max(1, proposed.rows)),
    });
  }

  #input(data: string): void {
    for (let from = 0; from < data.length; ) {
      const half = data.codePointAt(from + PIECE - 1)! > 0xffff;
      const to = from + PIECE - (half ? 1 : 0);
      this.#events.input(data.slice(from, to));
      from = to;
    }
  }

  /** False keeps a key from the program. */
  #key(event: KeyboardEvent): boolean {
    if (event.type !== "keydown") return true;
    const command = event.ctrlKey || event.metaKey;
    const key = event.key.toLowerCase();
    if (command && event.shiftKey && key === "f") {
      event.preventDefault();
      this.#events.search();
      return false;
    }
    if (command && key === "c" && (event.shiftKey || event.metaKey) && this.#terminal.hasSelection()) {
      event.preventDefault();
      void navigator.clipboard?.writeText(this.#terminal.getSelection());
      return false;
    }
    // A terminal in view mode leaves the page's keys to the page. The key to leave it always works.
    if (event.key === "Tab" && (!this.#mayType || (event.ctrlKey && event.shiftKey))) return false;
    if (!command && !event.altKey && (event.key.length === 1 || TYPED.has(event.key))) this.#ignore();
    return this.#mayType;
  }

  #serve(): void {
    const serves = servesScreenReader();
    if (this.#terminal.options.screenReaderMode !== serves) this.#terminal.options.screenReaderMode = serves;
    const hint = serves ? "" : "Turn on Screen reader support in Settings to have the output read aloud.";
    this.#terminal.textarea?.setAttribute("aria-description", hint);
  }

  #ignore(): void {
    if (!this.#mayType) this.#events.ignored();
  }
}
