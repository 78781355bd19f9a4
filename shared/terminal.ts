/**
 * What the WebSocket `GET G/actors/{id}/term` carries. Binary messages are output of the process
 * (UTF-8, cut anywhere). Everything else is JSON, one object per message. The first message is a
 * `screen`; later ones continue it.
 *
 * The client acknowledges output as it draws it. A slow client loses only intermediate output: the
 * next `screen` replaces what it has. The daemon itself answers the terminal's questions (device
 * attributes, cursor position). A client must not.
 */
import * as z from "zod";
import { LIMITS } from "./limits.ts";

export const TerminalRequest = z.discriminatedUnion("type", [
  /**
   * Bytes drawn since the last acknowledgement: of the `data` of screens (as UTF-8) and of binary
   * messages.
   */
  z.strictObject({ type: z.literal("ack"), bytes: z.int().min(1) }),
  /** Keys; only from the writer. */
  z.strictObject({ type: z.literal("input"), data: z.string().min(1).max(LIMITS.terminal.inputBytes) }),
  /**
   * The size that fits this window. The writer's size applies to everyone. Once the writer has
   * left, the size of a remaining window applies.
   */
  z.strictObject({
    type: z.literal("resize"),
    columns: z.int().min(2).max(LIMITS.terminal.columnsMax),
    rows: z.int().min(1).max(LIMITS.terminal.rowsMax),
  }),
  /** Becomes the writer. The previous writer is told. */
  z.strictObject({ type: z.literal("take") }),
  z.strictObject({ type: z.literal("release") }),
]);
export type TerminalRequest = z.infer<typeof TerminalRequest>;

/** Who writes, as one viewer sees it. */
export type WriterState = "you" | "another" | "nobody";

export type TerminalMessage =
  /**
   * The whole screen with its scrollback, as text that draws it. Reset the terminal, set the size,
   * write it.
   */
  | {
      type: "screen";
      columns: number;
      rows: number;
      data: string;
      running: boolean;
      /** In words, when it isn't running. */
      reason: string;
      writer: WriterState;
      /** Start of the process, UTC ISO 8601; null if none was started since the daemon's start. */
      started_at: string | null;
    }
  | { type: "size"; columns: number; rows: number }
  | { type: "writer"; writer: WriterState }
  /**
   * The program has left so many bytes of its input unread for a while, 0 when it has read them.
   * Then it reads again.
   */
  | { type: "input"; unread: number }
  /** The process is gone. A `screen` follows when it is started again. */
  | { type: "ended"; reason: string }
  | {
      type: "error";
      error: { code: string; message: string; details: Record<string, unknown> };
    };
