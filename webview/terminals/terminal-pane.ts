/**
 * `<svc-terminal>`: one Actor's terminal: who writes, taking over, search, copy. The code that
 * draws it is loaded with the first one.
 */
import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { createRef, ref } from "lit/directives/ref.js";
import { actorName } from "../../shared/actor-words.ts";
import type { ActorWithPresence } from "../../shared/operations/actors.ts";
import type { TerminalLink } from "../../shared/stream-client/listeners.ts";
import type { TerminalMessage, WriterState } from "../../shared/terminal.ts";
import type { ActorOperation } from "../actors/actors-panel.ts";
import { failure, iconButton } from "../controls/controls.ts";
import { copy } from "../controls/copy.ts";
import { icon } from "../controls/icons.ts";
import { button } from "../controls/toolkit.ts";
import { View } from "../controls/view.ts";
import type { Host } from "../hosts/host.ts";
import type { Terminals } from "../state/open-terminals.ts";
import { keyData, TERMINAL_KEYS, withControl } from "./keys.ts";
import type { Found, TerminalScreen, TerminalSize } from "./screen.ts";

class TerminalPaneElement extends View {
  static override readonly properties = {
    host: { attribute: false },
    groupId: { attribute: false },
    actor: { attribute: false },
    terminals: { attribute: false },
    administrator: { type: Boolean },
    tool: { attribute: false },
    writer: { state: true },
    running: { state: true },
    stuck: { state: true },
    reason: { state: true },
    connected: { state: true },
    searching: { state: true },
    found: { state: true },
    ignored: { state: true },
    control: { state: true },
    problem: { state: true },
  };
  declare host: Host;
  declare groupId: string;
  declare actor: ActorWithPresence;
  declare terminals: Terminals;
  declare administrator: boolean;
  /** What its header has besides its own buttons. */
  declare tool: TemplateResult | typeof nothing;
  declare writer: WriterState;
  declare running: boolean;
  /** The program has left input unread for a while. */
  declare stuck: boolean;
  declare reason: string;
  declare connected: boolean;
  declare searching: boolean;
  /** What the search found; null before it. */
  declare found: Found | null;
  /** The person typed, but keys don't reach the program. */
  declare ignored: boolean;
  /** Ctrl counts for the next key. */
  declare control: boolean;
  declare problem: string | null;
  #screen: TerminalScreen | null = null;
  #link: TerminalLink | null = null;
  #fits: TerminalSize | null = null;
  readonly #place = createRef<HTMLElement>();
  readonly #search = createRef<HTMLInputElement>();

  constructor() {
    super();
    this.tool = nothing;
    this.writer = "nobody";
    this.running = false;
    this.stuck = false;
    this.reason = "";
    this.connected = false;
    this.searching = false;
    this.found = null;
    this.ignored = false;
    this.control = false;
    this.problem = null;
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#link?.close();
    this.#screen?.dispose();
    this.#link = null;
    this.#screen = null;
  }

  protected override firstUpdated(changed: PropertyValues): void {
    super.firstUpdated(changed);
    void this.#start();
  }

  async #start(): Promise<void> {
    try {
      const { TerminalScreen } = await import("./screen.ts");
      if (!this.isConnected || this.#place.value === undefined) return;
      this.#screen = new TerminalScreen(this.#place.value, actorName(this.actor), {
        input: (data) => this.#type(this.control ? withControl(data) : data),
        drawn: (bytes) => this.#link?.send({ type: "ack", bytes }),
        fits: (size) => this.#onFits(size),
        ignored: () => (this.ignored = true),
        openLink: (url) => this.host.openLink(url),
        search: () => void this.#find(),
      });
    } catch {
      this.problem = "The terminal couldn’t be loaded. Reload the page.";
      return;
    }
    this.#link = this.host.terminal(this.groupId, this.actor.id, {
      output: (bytes) => this.#screen?.output(bytes),
      message: (message) => this.#onMessage(message),
      lost: () => {
        this.connected = false;
        this.#setWriter("nobody");
      },
    });
  }

  #onMessage(message: TerminalMessage): void {
    switch (message.type) {
      case "screen":
        this.problem = null;
        this.#screen?.restore(message.data, message);
        this.running = message.running;
        this.stuck = false;
        this.reason = message.reason;
        if (!this.connected) this.#connected(message.writer);
        this.connected = true;
        this.#setWriter(message.writer);
        return;
      case "size":
        this.#screen?.resize(message);
        return;
      case "writer":
        this.#setWriter(message.writer);
        this.terminals.writes(this.actor.id, message.writer === "you");
        return;
      case "input":
        this.stuck = message.unread > 0;
        if (!this.stuck) this.problem = null;
        return;
      case "ended":
        this.running = false;
        this.stuck = false;
        this.ignored = false;
        this.#setWriter(this.writer);
        this.reason = message.reason;
        return;
      case "error":
        this.problem = message.error.message;
    }
  }

  /**
   * A person who wrote here before a break, or before the terminal was hidden, continues writing
   * unless someone else does.
   */
  #connected(writer: WriterState): void {
    if (this.#fits !== null) this.#link?.send({ type: "resize", ...this.#fits });
    if (writer === "another") this.terminals.writes(this.actor.id, false);
    else if (this.terminals.wrote(this.actor.id)) this.#link?.send({ type: "take" });
  }

  #setWriter(writer: WriterState): void {
    const began = writer === "you" && this.writer !== "you";
    this.writer = writer;
    if (this.#screen === null) return;
    this.#screen.mayType = writer === "you" && this.running;
    if (writer !== "you") this.control = false;
    if (!began) return;
    this.ignored = false;
    this.#screen.focus();
  }

  #onFits(size: TerminalSize): void {
    const { columns, rows } = size;
    const same = this.#fits?.columns === columns && this.#fits.rows === rows;
    this.#fits = { columns, rows };
    if (!same) this.#link?.send({ type: "resize", columns, rows });
  }

  protected override render() {
    const name = actorName(this.actor);
    return html`<section class="terminal" aria-label="Terminal of ${name}">
      <header class="terminal-head">
        <h2><bdi>${name}</bdi></h2>
        <span class="terminal-state ${this.connected && this.running && !this.stuck && this.writer !== "another" ? "ordinary" : ""}">${this.#state()}</span>
        <span class="head-actions">
          ${this.#take()}
          ${iconButton({ icon: "search", label: `Search the terminal of ${name}`, pressed: this.searching, onClick: () => void this.#find() })}
          ${iconButton({ icon: "copy", label: `Copy from the terminal of ${name}`, onClick: () => void copy(this.#screen?.text() ?? "") })}
          ${this.tool}
          ${iconButton({ icon: "close", label: `Close the terminal of ${name}`, onClick: () => this.tell("close-terminal", this.actor.id) })}
        </span>
      </header>
      ${this.searching ? this.#searchField(name) : nothing}
      ${failure(this.problem)} ${this.ignored && (this.writer !== "you" || !this.running) ? this.#notWritten() : nothing}
      <div class="terminal-place ${this.writer === "you" && this.running ? "writing" : ""}" @click=${this.#onClick} ${ref(this.#place)}></div>
      ${this.writer === "you" && this.running ? this.#keys(name) : nothing}
    </section>`;
  }

  /** For fingers and narrow windows; the style sheet hides them elsewhere. */
  #keys(name: string) {
    const [escape, tab, ...arrows] = TERMINAL_KEYS.map(
      (key) =>
        html`<button type="button" class="terminal-key" aria-label=${key.name} title=${key.name} @click=${() => this.#press(key)}>
          ${key.label}
        </button>`,
    );
    const hold = (): void => {
      this.control = !this.control;
    };
    // The terminal keeps the focus, and a phone its keyboard.
    return html`<div class="terminal-keys" role="group" aria-label="Keys for the terminal of ${name}" @pointerdown=${(event: Event) => event.preventDefault()}>
      ${escape} ${tab}
      <button type="button" class="terminal-key" aria-pressed=${this.control} aria-label="Ctrl, for the next key" title="Ctrl, for the next key" @click=${hold}>Ctrl</button>
      ${arrows}
    </div>`;
  }

  #press(key: (typeof TERMINAL_KEYS)[number]): void {
    this.#type(
      keyData(key, { application: this.#screen?.hasApplicationKeys === true, control: this.control }),
    );
  }

  #type(data: string): void {
    this.control = false;
    this.#link?.send({ type: "input", data });
  }

  /** Also below the last row. */
  readonly #onClick = (event: Event): void => {
    if (event.target === event.currentTarget) this.#screen?.focus();
  };

  #state(): string {
    if (!this.connected) return "connecting…";
    if (!this.running) return this.reason;
    if (this.stuck) return "doesn’t read its input";
    if (this.writer === "you") return "writing here";
    return this.writer === "another" ? "writing in another window" : "view only";
  }

  /** If keys reach no program, the person is told. */
  #notWritten() {
    const why = !this.running
      ? "What you type goes nowhere: the program isn’t running."
      : this.writer === "another"
        ? "What you type goes nowhere: another window is writing."
        : "What you type goes nowhere: you are only viewing.";
    return html`<p class="terminal-note" role="status">
      ${icon("warning")}<span>${why}</span>
      ${
        this.running && this.administrator
          ? html`<button type="button" class="link" @click=${() => this.#takeOver()}>
              ${this.writer === "another" ? "Take over" : "Write here"}
            </button>`
          : nothing
      }
    </p>`;
  }

  #takeOver(): void {
    this.#link?.send({ type: "take" });
  }

  #take() {
    if (!this.administrator || !this.connected) return nothing;
    if (!this.running) {
      const started = { actor: this.actor, operation: "actor_start" } satisfies ActorOperation;
      return button({ label: "Start", icon: "play", onClick: () => this.tell("actor-operation", started) });
    }
    if (this.writer === "you") {
      return iconButton({
        icon: "unlock",
        label: "Stop writing here",
        onClick: () => this.#link?.send({ type: "release" }),
      });
    }
    return button({
      label: this.writer === "another" ? "Take over" : "Write here",
      onClick: () => this.#takeOver(),
    });
  }

  #searchField(name: string) {
    return html`<div class="terminal-search">
      <input
        ${ref(this.#search)}
        type="search"
        class="input"
        aria-label="Search in the terminal of ${name}"
        aria-invalid=${this.found?.of === 0 ? "true" : nothing}
        @input=${() => this.#look("next")}
        @keydown=${this.#onSearchKey}
      />
      ${iconButton({ icon: "arrow-up", label: "Previous", keys: "Shift+Enter", onClick: () => this.#look("previous") })}
      ${iconButton({ icon: "arrow-down", label: "Next", keys: "Enter", onClick: () => this.#look("next") })}
      ${this.found === null ? nothing : html`<span role="status">${this.found.of === 0 ? "not found" : `${this.found.at} of ${this.found.of}`}</span>`}
    </div>`;
  }

  async #find(): Promise<void> {
    this.searching = !this.searching;
    await this.updateComplete;
    if (this.searching) this.#search.value?.focus();
    else {
      this.#screen?.find("", "next");
      this.found = null;
      this.#screen?.focus();
    }
  }

  #look(direction: "next" | "previous"): void {
    this.found = this.#screen?.find(this.#search.value?.value ?? "", direction) ?? null;
  }

  readonly #onSearchKey = (event: KeyboardEvent): void => {
    if (event.key === "Enter") this.#look(event.shiftKey ? "previous" : "next");
    else if (event.key === "Escape") void this.#find();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
}

customElements.define("svc-terminal", TerminalPaneElement);
