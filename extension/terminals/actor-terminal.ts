/** An Actor's terminal as a terminal of the editor. Closing it only detaches. */
import * as vscode from "vscode";
import type { WebSocket } from "ws";
import { openTerminal } from "../../client/actor-terminal.ts";
import { TerminalOutput } from "../../client/terminal-output.ts";
import { actorName } from "../../shared/actor-words.ts";
import type { TerminalMessage, TerminalRequest, WriterState } from "../../shared/terminal.ts";
import { inputPieces } from "../../shared/terminal-input.ts";
import type { Parts } from "../parts.ts";
import { plain } from "../plain.ts";

interface Place {
  group_id: string;
  actor_id: string;
}

const OPEN = 1;
/** Resets colours, modes and screen before another screen is drawn. */
const RESET = "\u001bc";

class ActorTerminal implements vscode.Pseudoterminal {
  readonly #parts: Parts;
  readonly #place: Place;
  readonly #written = new vscode.EventEmitter<string>();
  readonly #resized = new vscode.EventEmitter<vscode.TerminalDimensions | undefined>();
  readonly onDidWrite = this.#written.event;
  readonly onDidOverrideDimensions = this.#resized.event;
  /** Characters and sequences may be cut anywhere between messages. */
  #decoder = new TextDecoder();
  #output = new TerminalOutput();
  #socket: WebSocket | null = null;
  /** Since it was connected. Until then, an error is the reason why it isn't shown. */
  #hasScreen = false;
  #writer: WriterState = "nobody";
  #size: vscode.TerminalDimensions | undefined;
  #isClosed = false;
  /** What was said last of keys that weren't taken. */
  #refusal = "";
  readonly #reopen = (): void => {
    if (this.#parts.link.state === "online" && this.#socket === null) void this.#connect();
  };

  constructor(parts: Parts, place: Place) {
    this.#parts = parts;
    this.#place = place;
  }

  open(size: vscode.TerminalDimensions | undefined): void {
    this.#size = size;
    this.#parts.link.on("state", this.#reopen);
    void this.#connect();
  }

  close(): void {
    this.#isClosed = true;
    this.#parts.link.off("state", this.#reopen);
    this.#socket?.close();
  }

  setDimensions(size: vscode.TerminalDimensions): void {
    this.#size = size;
    this.#send({ type: "resize", columns: size.columns, rows: size.rows });
  }

  /** The first key takes the keyboard when nobody else has it. */
  handleInput(data: string): void {
    if (this.#writer === "another") {
      void this.#offerToTake();
      return;
    }
    if (this.#writer === "nobody") {
      this.#writer = "you";
      this.#send({ type: "take" });
      if (this.#size !== undefined)
        this.#send({ type: "resize", columns: this.#size.columns, rows: this.#size.rows });
    }
    this.#refusal = "";
    for (const piece of inputPieces(data)) this.#send({ type: "input", data: piece });
  }

  async #offerToTake(): Promise<void> {
    const take = "Take Over";
    const said = "Someone writes in this terminal from another window.";
    if ((await vscode.window.showInformationMessage(said, take)) === take) this.#send({ type: "take" });
  }

  async #connect(): Promise<void> {
    try {
      const socket = await openTerminal(this.#parts.link.home, this.#place, (data, isOutput) =>
        this.#receive(data, isOutput),
      );
      // A daemon that came and went may have been asked twice.
      if (this.#isClosed || this.#socket !== null) {
        socket.close();
        return;
      }
      this.#socket = socket;
      socket.on("close", () => {
        if (this.#socket !== socket) return;
        this.#socket = null;
        this.#writer = "nobody";
        if (this.#hasScreen && !this.#isClosed)
          this.#note("The connection to svc's daemon is lost. It is made again when the daemon answers.");
        this.#hasScreen = false;
      });
      if (this.#size !== undefined)
        this.#send({ type: "resize", columns: this.#size.columns, rows: this.#size.rows });
    } catch (error) {
      if (!this.#isClosed) this.#note(plain(error instanceof Error ? error.message : String(error)));
    }
  }

  #receive(data: Buffer, isOutput: boolean): void {
    if (isOutput) {
      this.#written.fire(this.#decoder.decode(this.#output.filter(data), { stream: true }));
      this.#send({ type: "ack", bytes: data.length });
      return;
    }
    const message = JSON.parse(data.toString("utf8")) as TerminalMessage;
    switch (message.type) {
      case "screen":
        this.#hasScreen = true;
        this.#decoder = new TextDecoder();
        this.#output = new TerminalOutput();
        this.#fit(message.columns, message.rows);
        this.#writer = message.writer;
        this.#written.fire(RESET + message.data);
        if (message.data !== "") this.#send({ type: "ack", bytes: Buffer.byteLength(message.data) });
        if (!message.running) this.#note(plain(message.reason));
        break;
      case "size":
        this.#fit(message.columns, message.rows);
        break;
      case "writer":
        this.#writer = message.writer;
        break;
      case "input":
        if (message.unread > 0)
          this.#note(
            "The program doesn't read what is typed. It gets it when it reads again; Ctrl-C interrupts it.",
          );
        break;
      case "ended":
        this.#note(plain(message.reason));
        break;
      case "error":
        // A paste of several messages is refused more than once.
        if (message.error.message !== this.#refusal) this.#note(plain(message.error.message));
        this.#refusal = message.error.message;
        break;
    }
  }

  /** The process has one size for all who look at it. */
  #fit(columns: number, rows: number): void {
    const isOwn = this.#size?.columns === columns && this.#size.rows === rows;
    this.#resized.fire(isOwn ? undefined : { columns, rows });
  }

  #note(text: string): void {
    this.#written.fire(`\r\n\u001b[2m[${text}]\u001b[0m\r\n`);
  }

  #send(request: TerminalRequest): void {
    if (this.#socket?.readyState === OPEN) this.#socket.send(JSON.stringify(request));
  }
}

/** Shows the Actor's terminal, the one that is already open if there is one. */
export function openActorTerminal(parts: Parts, place: Place): void {
  const actor = parts.instance.actor(place.group_id, place.actor_id);
  const name = plain(actor === undefined ? place.actor_id : actorName(actor));
  const key = `${place.group_id} ${place.actor_id}`;
  const open = terminals.get(key);
  if (open !== undefined && open.exitStatus === undefined) {
    open.show();
    return;
  }
  const terminal = vscode.window.createTerminal({
    name,
    pty: new ActorTerminal(parts, place),
    iconPath: new vscode.ThemeIcon("comment-discussion"),
    isTransient: true,
  });
  terminals.set(key, terminal);
  terminal.show();
}

/** Of this window, by Group and Actor. */
const terminals = new Map<string, vscode.Terminal>();
