/** A viewer of a terminal over the real WebSocket. */

import { once } from "node:events";
import { WebSocket } from "ws";
import type { TerminalMessage, TerminalRequest } from "../../shared/terminal.ts";
import { until } from "../support/until.ts";

type Screen = Extract<TerminalMessage, { type: "screen" }>;

export class TerminalClient {
  readonly messages: TerminalMessage[] = [];
  /** Output since the last screen. */
  output = "";
  outputBytes = 0;
  /** Acknowledges everything as it comes. */
  acknowledges = true;
  readonly #socket: WebSocket;
  readonly #decoder = new TextDecoder();

  constructor(url: string, headers: Record<string, string>) {
    this.#socket = new WebSocket(url, { headers });
    this.#socket.on("error", () => undefined);
    this.#socket.on("message", (data: Buffer, binary) => {
      if (binary) {
        this.output += this.#decoder.decode(data, { stream: true });
        this.outputBytes += data.length;
        this.#acknowledge(data.length);
        return;
      }
      const message = JSON.parse(data.toString()) as TerminalMessage;
      this.messages.push(message);
      if (message.type !== "screen") return;
      this.output = "";
      this.#acknowledge(Buffer.byteLength(message.data));
    });
  }

  /** Resolves when connected; rejects with the status of a refusal. */
  async opened(): Promise<this> {
    const refused = new Promise<never>((_resolve, reject) => {
      this.#socket.once("unexpected-response", (_request, response) =>
        reject(new Error(`refused with ${response.statusCode}`)),
      );
    });
    await Promise.race([once(this.#socket, "open"), refused]);
    return this;
  }

  get screens(): Screen[] {
    return this.messages.filter((message): message is Screen => message.type === "screen");
  }

  send(request: TerminalRequest): void {
    this.#socket.send(JSON.stringify(request));
  }

  /** Waits for a message of this kind that fits. */
  message<Type extends TerminalMessage["type"]>(
    type: Type,
    fits: (message: Extract<TerminalMessage, { type: Type }>) => boolean = () => true,
  ): Promise<Extract<TerminalMessage, { type: Type }>> {
    return until(`a message ${type}`, () =>
      this.messages.findLast(
        (message): message is Extract<TerminalMessage, { type: Type }> =>
          message.type === type && fits(message as Extract<TerminalMessage, { type: Type }>),
      ),
    );
  }

  /** Waits until the last screen and what followed it hold the text. */
  shows(text: string): Promise<boolean> {
    return until(`the terminal shows ${text}`, () =>
      ((this.screens.at(-1)?.data ?? "") + this.output).includes(text),
    );
  }

  close(): void {
    this.#socket.close();
  }

  #acknowledge(bytes: number): void {
    if (this.acknowledges && bytes > 0) this.send({ type: "ack", bytes });
  }
}
