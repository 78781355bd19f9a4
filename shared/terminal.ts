/**
 * What the WebSocket `GET G/actors/{id}/term` carries. Binary messages are output of the process (UTF-8, cut anywhere). Everything else is
 * JSON, one object a message. The first message is a `screen`; what follows it continues it.
 *
 * The client acknowledges output as it draws it. Who falls behind loses nothing but the way there: the next `screen` replaces what it has.
 * The daemon itself answers the terminal's questions (device attributes, cursor position): a client must not.
 */
import * as z from "zod";
import { LIMITS } from "./limits.ts";

export const TerminalRequest = z.discriminatedUnion("type", [
  /** Bytes that were drawn since the last one: of `data` of screens (as UTF-8) and of binary messages. */
  z.strictObject({ type: z.literal("ack"), bytes: z.int().min(1) }),
  /** Keys, for the writer only. */
  z.strictObject({ type: z.literal("input"), data: z.string().min(1).max(LIMITS.terminal.inputBytes) }),
  /** What fits this window. The writer's size is everybody's; when it has left, that of a window that is still there. */
  z.strictObject({
    type: z.literal("resize"),
    columns: z.int().min(2).max(LIMITS.terminal.columnsMax),
    rows: z.int().min(1).max(LIMITS.terminal.rowsMax),
  }),
  /** Becomes the writer; whoever was it is told. */
  z.strictObject({ type: z.literal("take") }),
  z.strictObject({ type: z.literal("release") }),
]);
export type TerminalRequest = z.infer<typeof TerminalRequest>;

/** Who writes, as one viewer sees it. */
export type WriterState = "you" | "another" | "nobody";

export type TerminalMessage =
  /** The whole screen with its scrollback, as text that draws it: reset the terminal, set the size, write it. */
  | {
      type: "screen";
      columns: number;
      rows: number;
      data: string;
      running: boolean;
      /** In words, when it isn't running. */
      reason: string;
      writer: WriterState;
      /** Start of the process, UTC ISO 8601; null when none was started since the daemon's start. */
      started_at: string | null;
    }
  | { type: "size"; columns: number; rows: number }
  | { type: "writer"; writer: WriterState }
  /** The process is gone; a `screen` follows when it is started again. */
  | { type: "ended"; reason: string }
  | {
      type: "error";
      error: { code: string; message: string; details: Record<string, unknown> };
    };
